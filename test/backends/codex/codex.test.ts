import { chmodSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { ToolError } from "../../../src/contract/tool.ts"
import { defineTool } from "../../../src/tools/kernel/define-tool.ts"
import { programs } from "../programs.ts"
import { functionCall, message, outputsIn, patchCall, serveResponses } from "./responses-server.ts"
import { call, createScene, once, recordsOf, sceneAt, shell } from "./scene.ts"

const tide = defineTool({
  name: "tide",
  description: "The next high water of a place.",
  inputSchema: { type: "object", properties: { place: { type: "string" } } },
  effect: "none",
  run: (args) => `High water in ${JSON.stringify(args)} is at 04:17.`,
})

test("codex: a run without tools returns the model's text, turns and usage", async () => {
  const scene = await createScene(() => "Hello from the model.")
  const result = await scene.runtime().run({ task: "Say hello." })
  expect(result, JSON.stringify(result.error)).toMatchObject({
    status: "done",
    text: "Hello from the model.",
    turns: 1,
  })
  expect(result.usage.outputTokens).toBeGreaterThan(0)
  expect(scene.requests).toHaveLength(1)
})

test("codex: an own command and one of the runtime's tools run once each, and the model gets both results", async () => {
  const scene = await createScene(once(shell("expr 40 + 2; echo x >> ran.txt"), call("tide", { place: "Brest" })))
  const runtime = scene.runtime({ tools: [tide] })
  const result = await runtime.run({ task: "Go." })
  expect(result).toMatchObject({ status: "done", turns: 2 })
  expect(result.text).toContain("42")
  expect(result.text).toContain('High water in {"place":"Brest"} is at 04:17.')
  expect(scene.lines("ran.txt")).toEqual(["x"])
  const calls = result.toolCalls.toSorted((left, right) => left.name.localeCompare(right.name))
  expect(calls).toMatchObject([
    { name: "Bash", args: { command: "expr 40 + 2; echo x >> ran.txt" }, status: "ok", result: "42\n" },
    { name: "tide", status: "ok" },
  ])
  const records = await recordsOf(runtime, result.runId)
  expect(records.filter(({ type }) => type === "tool-intent")).toHaveLength(1)
})

test("codex: a command that the policy denies does not run, and the model gets the reason", async () => {
  const scene = await createScene(once(shell("echo x >> ran.txt")))
  const rules = [{ deny: { tool: "Bash", command: "echo **" }, reason: "Echo is not allowed." }]
  const result = await scene.runtime({ policy: { rules } }).run({ task: "Go." })
  expect(result).toMatchObject({ status: "done", toolCalls: [{ name: "Bash", status: "denied" }] })
  expect(result.text).toContain("Echo is not allowed.")
  expect(scene.lines("ran.txt")).toEqual([])
})

test("codex: a command that the policy rewrites runs as rewritten", async () => {
  const scene = await createScene(once(shell("echo original >> ran.txt")))
  const rules = [{ allow: { tool: "Bash", command: "echo **" }, set: { "/command": "printf changed >> ran.txt" } }]
  const result = await scene.runtime({ policy: { rules } }).run({ task: "Go." })
  expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "ok" }] })
  expect(scene.lines("ran.txt")).toEqual(["changed"])
})

test("codex: a failing command and a failing tool of the runtime are errors, and the run goes on", async () => {
  const broken = defineTool({
    name: "broken",
    description: "It always fails.",
    inputSchema: { type: "object" },
    effect: "none",
    run: () => {
      throw new ToolError("io", "The disk is on fire.")
    },
  })
  const scene = await createScene(once(shell("echo half; exit 3"), call("broken", {})))
  const result = await scene.runtime({ tools: [broken] }).run({ task: "Go." })
  expect(result.text).toContain("The disk is on fire.")
  expect(result.text).toContain("Process exited with code 3")
  const statuses = Object.fromEntries(result.toolCalls.map(({ name, status }) => [name, status]))
  expect(statuses).toEqual({ Bash: "error", broken: "error" })
})

test("codex: a patch is decided by the paths in it, through the tool and through the shell", async () => {
  const patch = (path: string) => `*** Begin Patch\n*** Add File: ${path}\n+hello\n*** End Patch\n`
  const inShell = (path: string) => ({ cmd: `apply_patch <<'EOF'\n${patch(path)}EOF\n` })
  const server = await serveResponses((_, index) =>
    index > 0
      ? [message("done")]
      : [
          patchCall("a", patch("allowed.txt")),
          patchCall("b", patch("secrets/b.txt")),
          functionCall("c", "exec_command", inShell("also.txt")),
          functionCall("d", "exec_command", inShell("secrets/d.txt")),
        ],
  )
  const scene = sceneAt(server)
  const rules = [{ deny: { tool: "ApplyPatch", path: "secrets/**" } }]
  const result = await scene.runtime({ policy: { rules } }).run({ task: "Go." })
  const statuses = result.toolCalls.map(({ name, args, status }) => [
    name,
    /File: (.*)/.exec(JSON.stringify(args))?.[1]?.slice(0, 7),
    status,
  ])
  expect(statuses.toSorted()).toEqual([
    ["ApplyPatch", "allowed", "ok"],
    ["ApplyPatch", "also.tx", "ok"],
    ["ApplyPatch", "secrets", "denied"],
    ["ApplyPatch", "secrets", "denied"],
  ])
  expect([scene.lines("allowed.txt"), scene.lines("also.txt")]).toEqual([["hello"], ["hello"]])
  expect([scene.lines("secrets/b.txt"), scene.lines("secrets/d.txt")]).toEqual([[], []])
})

test("codex: an output schema is enforced by the vendor, and its JSON is the result", async () => {
  const scene = await createScene(() => '{"answer":42}')
  const outputSchema = { type: "object", properties: { answer: { type: "number" } }, required: ["answer"] } as const
  const result = await scene.runtime().run({ task: "Go.", outputSchema })
  expect(result).toMatchObject({ status: "done", data: { answer: 42 } })
  expect(scene.requests[0]?.outputSchema).toMatchObject({ required: ["answer"], additionalProperties: false })
})

test("codex: an answer that does not match the schema is sent back once, within the same thread", async () => {
  const scene = await createScene((_, index) => (index === 0 ? '{"answer":"x"}' : '{"answer":1}'))
  const outputSchema = { type: "object", properties: { answer: { type: "number" } }, required: ["answer"] } as const
  const result = await scene.runtime().run({ task: "Go.", outputSchema })
  expect(result).toMatchObject({ status: "done", data: { answer: 1 } })
  expect(scene.requests[1]?.messages.map(({ text }) => text)).toContain('{"answer":"x"}')
})

test("codex: a server of the caller is called under the policy, and a denied tool of it is not", async () => {
  const source = `
    import { appendFileSync } from "node:fs"
    import { createInterface } from "node:readline"
    const tool = (name) => ({ name, description: name, inputSchema: { type: "object" } })
    createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method, params } = JSON.parse(line)
      if (id === undefined) return
      const serverInfo = { name: "lab", version: "1" }
      if (method === "tools/call") appendFileSync("called.txt", params.name + "\\n")
      const result =
        method === "initialize" ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo }
        : method === "tools/list" ? { tools: [tool("add"), tool("drop")] }
        : { content: [{ type: "text", text: "did " + params?.name }] }
      console.log(JSON.stringify({ jsonrpc: "2.0", id, result }))
    })`
  const server = await serveResponses((_, index) =>
    index > 0
      ? [message("done")]
      : [
          functionCall("a", "add", { n: 1 }, { namespace: "mcp__lab" }),
          functionCall("b", "drop", {}, { namespace: "mcp__lab" }),
        ],
  )
  const scene = sceneAt(server)
  const runtime = scene.runtime({ policy: { rules: [{ deny: { tool: "mcp:lab/drop" } }] } })
  const mcpServers = { lab: { command: process.execPath, args: ["--input-type=module", "-e", source] } }
  const result = await runtime.run({ task: "Go.", mcpServers })
  expect(result.toolCalls).toMatchObject([
    { name: "mcp:lab/add", args: { n: 1 }, status: "ok", result: "did add" },
    { name: "mcp:lab/drop", status: "denied" },
  ])
  expect(scene.lines("called.txt")).toEqual(["add"])
  expect(outputsIn(server.requests[1]?.input ?? []).map(([id]) => id)).toEqual(["a", "b"])
})

test("codex: the brand's client name is sent to Codex, which passes it on", { tags: ["HOST-12"] }, async () => {
  const scene = await createScene(() => "Hello.")
  await scene.runtime({ brand: { clientInfoName: "acme-agents" } }).run({ task: "Go." })
  expect(scene.requests[0]?.headers).toMatchObject({ originator: "acme-agents" })
  expect(scene.requests[0]?.headers["user-agent"]).toMatch(/^acme-agents\//)
})

test("codex: the program and its arguments can be replaced", { tags: ["BK-10"] }, async () => {
  const scene = await createScene(() => "Hello.")
  const command = join(scene.folder, "other-codex")
  writeFileSync(command, `#!/bin/sh\nprintf '%s ' "$1" "$2" >> arguments.txt\nexec ${programs.codex} "$@"\n`)
  chmodSync(command, 0o755)
  const runtime = scene.runtime({}, { command, args: ["app-server", "--stdio"] })
  expect(await runtime.run({ task: "Go." })).toMatchObject({ status: "done", text: "Hello." })
  expect(scene.lines("arguments.txt")[0]).toMatch(/^app-server --stdio /)
})

test("codex: an image of the task and the instructions of the run reach the model", async () => {
  const scene = await createScene(() => "Seen.")
  const data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
  const content = [
    { type: "text", text: "What is it?" },
    { type: "image", mediaType: "image/png", data },
  ] as const
  const result = await scene.runtime().run({ messages: [{ role: "user", content }], system: "Answer like a pirate." })
  expect(result).toMatchObject({ status: "done" })
  expect(scene.requests[0]?.messages.at(-1)?.attachments).toMatchObject([{ mediaType: "image/png" }])
  expect(scene.requests[0]?.system).toContain("Answer like a pirate.")
})

test("codex: neither the command lines nor the journal contain a key", async () => {
  const key = "sk-lab-4711-secret"
  const scene = await createScene(once(shell("env; cat /proc/$PPID/cmdline 2>/dev/null; true")))
  const runtime = scene.runtime({}, { env: { LAB_KEY: key } })
  const result = await runtime.run({ task: "Go.", runId: "r" })
  expect(scene.requests[0]?.headers.authorization).toBe(`Bearer ${key}`)
  expect(result.text).toContain("PATH=")
  expect(JSON.stringify(await recordsOf(runtime, "r"))).not.toContain(key)
})
