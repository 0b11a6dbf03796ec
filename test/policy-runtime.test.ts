import { once } from "node:events"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import type { LonghaulError } from "../src/contract/error.ts"
import type { Json } from "../src/contract/json.ts"
import type { Policy, PolicyRule } from "../src/contract/policy.ts"
import type { RuntimeConfig } from "../src/contract/run.ts"
import { createAgentTools, createRuntime, nodeFetch, nodeFiles, nodePolicyHost } from "../src/hosts/node/index.ts"
import { createRuntime as portableRuntime } from "../src/index.ts"
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
    inputSchema: { type: "object" },
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

test("an output is checked although the process has dropped the secrets of its call meanwhile", async () => {
  // Undeclared tokens are kept for a thousand calls of all runs.
  const tokens = Array.from({ length: 1001 }, (_, index) => `ghp_${String(index).padStart(36, "a1B2")}`)
  const parts = tokens.map((token) => ({ toolCall: { name: "quick", args: { token } } }))
  const others = scriptedModel([{ parts }, "end"])
  const inputSchema = { type: "object" } as const
  const tools = [
    defineTool({
      name: "quick",
      description: "Is quick.",
      inputSchema,
      effect: "none",
      concurrent: true,
      run: () => "ok",
    }),
    defineTool({
      ...{ name: "slow", description: "Is slow.", inputSchema },
      async run() {
        expect(await runtime.run({ task: "others", model: others })).toMatchObject({ toolCallCount: tokens.length })
        return "number 123-45-6789"
      },
    }),
  ]
  const policy = { output: [{ block: { tool: "slow", pattern: "\\d{3}-\\d{2}-\\d{4}" }, reason: "A number." }] }
  const model = scriptedModel([call("slow", { token: `ghp_${"z9Y8".repeat(9)}` }), "end"])
  const runtime = createRuntime({ workspace: root, store: memoryStore(), model, tools, policy })
  const { toolCalls } = await runtime.run({ task: "go" })
  expect(toolCalls).toMatchObject([{ status: "error", result: "slow ran, but its output was withheld: A number." }])
  await runtime.close()
})

test("an output that a rule blocks reaches neither the model nor the journal, also from a tool that fails", async () => {
  const speak = (name: string, run: () => string) =>
    defineTool({ name, description: name, inputSchema: { type: "object" }, effect: "none", run })
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

test("an invalid policy is refused by createRuntime, with every problem", () => {
  const create = (policy: Policy) => createRuntime({ store: memoryStore(), model: scriptedModel([]), policy })
  const rules: PolicyRule[] = [{ deny: { tool: "Raed" } }, { allow: { tool: "Read", command: "x" } }]
  const refusal = (pattern: RegExp) =>
    expect.objectContaining({ code: "config_invalid", message: expect.stringMatching(pattern) })
  expect(() => create({ rules })).toThrow(refusal(/rules\[0\].*Raed.*\n.*rules\[1\]/))
  expect(() => create({ documents: [{ document: { rules }, source: "team rules" }] })).toThrow(refusal(/team rules/))
  expect(() => create({ tiers: { Bsah: "high" } })).toThrow(refusal(/tiers\["Bsah"\] names an unknown tool/))
  const output = [{ block: { tool: ["Read", "WebFtch"], pattern: "x" } }]
  expect(() => create({ output })).toThrow(refusal(/output\[0\]\.block\.tool\[1\] names an unknown tool/))
  // Safe: the attack is to ignore the types.
  expect(() => create({ rules: [{ deny: { tol: "Read" } }] } as unknown as Policy)).toThrow(refusal(/unknown key/))
})

test.each([
  ["(", "is not valid in RE2 syntax: missing closing )"],
  ["a(?=b)", "uses lookahead, which is not supported"],
  ["(a)\\1", "uses a backreference, which is not supported"],
  ["(?>a)", "is not valid in RE2 syntax: invalid or unsupported Perl syntax"],
  ["a*+", "is not valid in RE2 syntax: invalid nested repetition operator"],
  ["[b-a]", "is not valid in RE2 syntax: invalid character class range"],
  ["\\Qa", "has a \\Q without a matching \\E"],
  ["a".repeat(1001), "is longer than 1000 characters"],
])("the pattern %s in a rule is refused by createRuntime, with its place", (pattern, reason) => {
  const refusal = (place: string) =>
    expect.objectContaining({
      code: "config_invalid",
      message: expect.stringContaining(`the policy: ${place} ${reason}`),
    })
  const byArgument: PolicyRule[] = [{ deny: { tool: "Read", args: { "/path": pattern } } }]
  expect(() => portableRuntime({ policy: { rules: byArgument } })).toThrow(refusal('rules[0].deny.args["/path"]'))
  const output = [{ block: { tool: "*", pattern } }]
  expect(() => portableRuntime({ policy: { output } })).toThrow(refusal("output[0].block.pattern"))
})

test("a pattern that only the engine can reject fails the run before anything is recorded", async () => {
  for (const pattern of ["\\p{Klingon}", "\\w{0,900}!"]) {
    const policy: Policy = { rules: [{ deny: { tool: "Read", args: { "/path": pattern } } }] }
    const runtime = createRuntime({ workspace: root, store: memoryStore(), model: scriptedModel([]), policy })
    const { status, error } = await runtime.run({ task: "go" })
    expect([status, error?.code]).toEqual(["failed", "config_invalid"])
    expect(error?.message).toContain("rules[0]")
    expect(await runtime.runs()).toEqual([])
  }
})

test.each([
  ["missing.yaml", undefined, "Policy file not found"],
  ["folder.yaml", "/", "is not a file"],
  ["policy.txt", "version: 1", "is not a policy file"],
  ["bytes.yaml", Buffer.from([0xff]), "Could not read the policy file"],
  ["broken.json", '{ "version": 1', "broken.json"],
  ["misspelt.json", '{ "rules": [{ "deny": { "tool": "Raed" } }] }', "rules[0].deny.tool names an unknown tool"],
  ["broken.yaml", "rules: [", "broken.yaml"],
  ["misspelt.yaml", "rules: [{ deny: { tool: Raed } }]", "rules[0].deny.tool names an unknown tool"],
  ["pattern.yaml", "output: [{ block: { tool: '*', pattern: '(' } }]", "output[0].block.pattern is not valid"],
  ["missing.js", undefined, "Policy file not found"],
])("createRuntime refuses policy.file %s at once, in the words that a run would use", async (name, content, reason) => {
  const file = join(root, name)
  if (content === "/") mkdirSync(file)
  else if (content !== undefined) writeFileSync(file, content)
  const create = () => createRuntime({ store: memoryStore(), model: scriptedModel([]), policy: { file } })
  const message = expect.stringContaining(reason)
  expect(create).toThrow(expect.objectContaining({ code: "config_invalid", message, fix: expect.stringMatching(/./) }))
  const late = await nodePolicyHost.readFile?.(file).catch((error: unknown) => error)
  expect(create).toThrow(expect.objectContaining({ message: (late as LonghaulError).message }))
})

test("a policy file is read once: all runs of a runtime have its rules or fail with the same error", async () => {
  const file = join(root, "late.policy.yaml")
  const base = join(root, "longhaul.policy.base.yaml")
  writeFileSync(base, "rules: [{ deny: { tool: Raed } }]")
  writeFileSync(file, "extends: ./longhaul.policy.base.yaml")
  const runtime = createRuntime({ store: memoryStore(), model: scriptedModel(["end", "end"]), policy: { file } })
  const own = { policy: { rules: [{ deny: { tool: "Bash" } }] } }
  const first = await runtime.run({ task: "go", ...own })
  expect(first).toMatchObject({ status: "failed", error: { code: "config_invalid" } })
  writeFileSync(base, "rules: []")
  for (const more of [{}, own]) {
    const later = await runtime.run({ task: "go", ...more })
    expect(later.error).toEqual(first.error)
  }
  const other = createRuntime({ store: memoryStore(), model: scriptedModel(["end"]), policy: { file } })
  expect(await other.run({ task: "go" })).toMatchObject({ status: "done" })
})

test("createAgentTools refuses a policy file that is missing, and any factory one that is no path", () => {
  const refusal = (message: RegExp) =>
    expect.objectContaining({ code: "config_invalid", message: expect.stringMatching(message) })
  const tools = (policy: Policy) => createAgentTools({ root, policy })
  expect(() => tools({ file: join(root, "missing.yaml") })).toThrow(refusal(/Policy file not found/))
  // Safe: the mistake is to ignore the types.
  const wrong = { file: 5 } as unknown as Policy
  for (const create of [
    () => tools(wrong),
    () => createRuntime({ policy: wrong }),
    () => portableRuntime({ policy: wrong }),
  ])
    expect(create).toThrow(refusal(/policy.file is a number, not a text/))
})

test("policy.file is refused at once where there is no file system", () => {
  expect(() => portableRuntime({ policy: { file: "longhaul.policy.yaml" } })).toThrow(
    expect.objectContaining({ code: "config_invalid", message: "policy.file needs a file system." }),
  )
})

test("a tool that changes a file does not quote it in an error if the file may not be read", async () => {
  const update = (path: string) => `*** Begin Patch\n*** Update File: ${path}\n@@\n-SENTINE\n+x\n*** End Patch`
  const edits = ["secrets/key.txt", "innocent/key.txt"].flatMap((path) => [
    ["Edit", { path, oldText: "SENTINE1", newText: "x" }] as const,
    ["MultiEdit", { path, edits: [{ oldText: "SENTINE1", newText: "x" }] }] as const,
    ["ApplyPatch", { patch: update(path) }] as const,
    [
      "ApplyPatch",
      { patch: `*** Begin Patch\n*** Update File: ${path}\n*** Move to: out.txt\n*** End Patch` },
    ] as const,
  ])
  const byName: PolicyRule[] = [{ deny: { tool: ["Read", "Write"], path: "secrets/**" } }]
  const byWord: PolicyRule[] = [{ deny: { read: "secrets/**" } }]
  for (const rules of [byName, byWord]) {
    const { results } = await outcomes([...edits, ["Read", { path: "out.txt" }]], {
      policy: { default: "allow", rules },
    })
    expect(results.join("\n")).not.toContain("SENTINEL")
    expect(results.slice(0, -1).every((result) => /denied|hidden by the policy/.test(result))).toBe(true)
  }
})
