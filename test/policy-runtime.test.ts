import { once } from "node:events"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import type { Json } from "../src/contract/json.ts"
import type { PolicyRule } from "../src/contract/policy.ts"
import type { RuntimeConfig } from "../src/contract/run.ts"
import { createRuntime, nodeFetch, nodeFiles } from "../src/hosts/node/index.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../src/testing/index.ts"
import { fileTools, webFetchTool } from "../src/tools/index.ts"
import { defineTool } from "../src/tools/kernel/define-tool.ts"

const root = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-policy-")))
mkdirSync(join(root, "secrets"))
writeFileSync(join(root, "secrets/key.txt"), "SENTINEL")
symlinkSync("secrets", join(root, "innocent"))
afterAll(() => rmSync(root, { recursive: true }))

const call = (name: string, args: Json): ScriptedStep => ({ parts: [{ toolCall: { name, args } }] })

/** Makes the calls one after another, and returns the status and the text of each. */
async function outcomes(calls: readonly (readonly [string, Json])[], config: RuntimeConfig) {
  const model = scriptedModel([...calls.map(([name, args]) => call(name, args)), "end"])
  const runtime = createRuntime({ workspace: root, store: memoryStore(), model, ...config })
  const { toolCalls, runId } = await runtime.run({ task: "go" })
  const decisions: object[] = []
  for await (const record of runtime.events(runId)) if (record.type === "policy-decision") decisions.push(record)
  await runtime.close()
  return { results: toolCalls.map(({ status, result }) => `${status}: ${result}`), decisions }
}

test("a denied path is not read, listed or found by any tool of a run, also through a link", async () => {
  const rules: PolicyRule[] = [{ deny: { tool: "Read", path: "secrets/**" }, reason: "Keys stay here." }]
  const { results, decisions } = await outcomes(
    [
      ["Read", { path: "secrets/key.txt" }],
      ["Read", { path: "innocent/key.txt" }],
      ["Grep", { pattern: "SENTINEL" }],
      ["Glob", { pattern: "**/*.txt" }],
      ["List", { path: "innocent" }],
    ],
    { policy: { rules } },
  )
  expect(results.slice(0, 2)).toEqual([
    "denied: Read was denied: Keys stay here.",
    "denied: Read was denied: Keys stay here.",
  ])
  expect(results.slice(2).join("\n")).not.toContain("SENTINEL")
  expect(results.slice(2).join("\n")).not.toContain("key.txt")
  expect(decisions[0]).toMatchObject({ verdict: "deny", reasons: [{ stage: "rule", rule: "rules[0] of the policy" }] })
})

test("a redirect is decided like the first address", async () => {
  const target = createServer((_, response) => response.end("SENTINEL")).listen(0, "127.0.0.1")
  const source = createServer((_, response) =>
    response.writeHead(302, { location: `http://127.0.0.1:${targetPort}/` }).end(),
  ).listen(0, "127.0.0.1")
  await Promise.all([once(target, "listening"), once(source, "listening")])
  const targetPort = (target.address() as AddressInfo).port
  const port = (source.address() as AddressInfo).port
  const env = { files: nodeFiles({ roots: [root] }), fetch: nodeFetch({ allow: ["127.0.0.1"] }) }
  const fetching = [["WebFetch", { url: `http://127.0.0.1:${port}/` }]] as const
  const policy = (url: string[]) => ({ default: "deny", rules: [{ allow: { tool: "WebFetch", url } }] }) as const
  const tools = [webFetchTool()]
  const narrow = await outcomes(fetching, { env, tools, policy: policy([`http://127.0.0.1:${port}/**`]) })
  const wide = await outcomes(fetching, {
    env,
    tools,
    policy: policy([`http://127.0.0.1:${port}/**`, `http://127.0.0.1:${targetPort}/**`]),
  })
  expect(narrow.results[0]).toContain("The policy does not allow the redirect")
  expect(wide.results[0]).toContain("SENTINEL")
  target.close()
  source.close()
})

test("rewritten arguments are the ones that run, and are decided again", async () => {
  const ran: Json[] = []
  const act = defineTool({
    name: "act",
    description: "acts",
    input: { type: "object" },
    run: (args: { readonly [key: string]: Json }) => {
      ran.push(args)
      return "acted"
    },
  })
  const rules: PolicyRule[] = [
    { allow: { tool: "act" }, set: { "/limit": 10 } },
    { deny: { tool: "act", args: { "/who": "eve" } } },
  ]
  const { results, decisions } = await outcomes(
    [
      ["act", { who: "ann", limit: 1000 }],
      ["act", { who: "eve" }],
    ],
    { tools: [act], policy: { rules } },
  )
  expect(ran).toEqual([{ who: "ann", limit: 10 }])
  expect(results[0]).toContain('arguments that the policy or a reviewer changed: {"who":"ann","limit":10}')
  expect(results[1]).toContain("act was denied")
  expect(decisions[0]).toMatchObject({ verdict: "allow", args: { who: "ann", limit: 10 } })
})

test("an output that a rule blocks reaches neither the model nor the journal, also from a tool that fails", async () => {
  const speak = (name: string, run: () => string) =>
    defineTool({ name, description: name, input: { type: "object" }, effect: "none", run })
  const tools = [
    speak("tell", () => "number 123-45-6789"),
    speak("quiet", () => "nothing"),
    speak("fail", () => {
      throw Object.assign(new Error("bad"), { name: "ToolError", code: "io", message: "for 123-45-6789" })
    }),
  ]
  const policy = { output: [{ block: { tool: "*", pattern: "\\b\\d{3}-\\d{2}-\\d{4}\\b" }, reason: "A number." }] }
  const model = scriptedModel([{ parts: tools.map(({ name }) => ({ toolCall: { name, args: {} } })) }, "end"])
  const runtime = createRuntime({ workspace: root, store: memoryStore(), model, tools, policy })
  const { runId } = await runtime.run({ task: "go" })
  const told = JSON.stringify(model.calls)
  const journal: string[] = []
  for await (const record of runtime.events(runId)) journal.push(JSON.stringify(record))
  expect(told + journal.join("")).not.toContain("123-45")
  expect(told).toContain("tell ran, but its output was withheld: A number.")
  expect(told).toContain("nothing")
  await runtime.close()
})

test("a policy that allows a tool at once leaves early starts and flushes as they are", async () => {
  const policy = { rules: [{ allow: { tool: "Read" } }, { deny: { tool: "Write", path: ".git/**" } }] } as const
  const { decisions, results } = await outcomes([["Read", { path: "innocent/key.txt" }]], {
    policy,
    tools: fileTools(),
  })
  expect([decisions, results[0]?.startsWith("ok")]).toEqual([[], true])
})

test("an invalid policy fails the run with every problem, before anything is recorded", async () => {
  const runtime = createRuntime({
    workspace: root,
    store: memoryStore(),
    model: scriptedModel([]),
    policy: { rules: [{ deny: { tool: "Raed" } }, { allow: { tool: "Read", command: "x" } }] },
  })
  const { status, error } = await runtime.run({ task: "go" })
  expect([status, error?.code]).toEqual(["failed", "config_invalid"])
  expect(error?.message).toContain("rules[0]")
  expect(error?.message).toContain("rules[1]")
  expect(await runtime.runs()).toEqual([])
})
