import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import { afterAll, expect, test } from "vitest"
import type { JsonObject } from "../../../contract/json.ts"
import type { RunResult } from "../../../contract/result.ts"
import { memoryStore } from "../../../stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../../../testing/index.ts"
import { fileTools, grepTool, readTool, writeTool } from "../../../tools/index.ts"
import { createAgentTools, createRuntime, defineTool, fsStore, type NodeRuntimeConfig } from "../index.ts"

const base = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-artifacts-")))
afterAll(() => rmSync(base, { recursive: true, force: true }))

const LONG = `${Array.from({ length: 30_000 }, (_, index) => `line ${index}`).join("\n")}\n`
const long = defineTool({
  name: "long",
  description: "Says much.",
  inputSchema: { type: "object" },
  effect: "none",
  run: () => LONG,
})
const tools = [...fileTools(), long]
const call = (name: string, args: JsonObject = {}) => ({ parts: [{ toolCall: { name, args } }] })
const placeIn = (text: string | null | undefined) => /the complete output is at ([^\]]+)\]/.exec(text ?? "")?.[1] ?? ""

function scene(config: NodeRuntimeConfig = {}) {
  const workspace = mkdtempSync(join(base, "ws-"))
  const store = fsStore(join(base, "state"))
  return (steps: readonly ScriptedStep[], runId: string, more: NodeRuntimeConfig = {}): Promise<RunResult> =>
    createRuntime({ workspace, store, tools, model: scriptedModel(steps), ...config, ...more }).run({
      task: "Go.",
      runId,
    })
}

/** The path of a result in the last message. */
const lastPlace: (messages: Parameters<Extract<ScriptedStep, (...all: never) => unknown>>[0]) => string = (messages) =>
  placeIn(JSON.stringify(messages.at(-1)))

test("by default a full result is stored next to its run, for its owner only, readable by the run's tools", {
  tags: ["RUN-13"],
}, async () => {
  const run = scene()
  const result = await run(
    [
      call("long"),
      (messages) => call("Read", { path: lastPlace(messages), offset: 15_000, limit: 1 }),
      (messages) => call("Grep", { pattern: "line 14998$", path: dirname(placeIn(JSON.stringify(messages))) }),
      (messages) => call("Write", { path: placeIn(JSON.stringify(messages)), content: "forged" }),
      "Done.",
    ],
    "beside",
  )
  const [cut, read, grep, write] = result.toolCalls
  const path = placeIn(cut?.result)
  expect(path).toBe(join(result.transcript.path, "toolResults", "1.0-long.txt"))
  expect(readFileSync(path, "utf8")).toBe(LONG)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(readdirSync(dirname(path))).toEqual(["1.0-long.txt"])
  expect(read?.result).toMatch(/^15000\tline 14999\n/)
  expect(grep?.result).toContain("line 14998")
  expect(write).toMatchObject({ status: "error" })
  expect(write?.result).toContain("is read-only")
  expect(result.warnings).toMatchObject([{ code: "tool_payload_truncated", paths: [path] }])

  const other = await run([call("Read", { path }), call("Read", { path: result.transcript.path }), "Done."], "other")
  expect(other.toolCalls.map(({ status }) => status)).toEqual(["error", "error"])
  expect(other.toolCalls[0]?.result).toContain('"code":"denied"')
})

test("toolArtifactDir stores results in a folder per run, readable by that run's tools", {
  tags: ["RUN-13"],
}, async () => {
  const toolArtifactDir = join(base, "artifacts")
  const result = await scene({ toolArtifactDir })(
    [call("long"), (messages) => call("Read", { path: lastPlace(messages), limit: 1 }), "Done."],
    "elsewhere",
  )
  const path = placeIn(result.toolCalls[0]?.result)
  expect(path.startsWith(`${toolArtifactDir}/tool-output/elsewhere/`)).toBe(true)
  expect(basename(path)).toBe("1.0-long.txt")
  expect(readFileSync(path, "utf8")).toBe(LONG)
  expect(result.toolCalls[1]?.result).toMatch(/^1\tline 0\n/)
})

test("a derived runtime keeps its artifact folder, and a function takes precedence", async () => {
  const workspace = mkdtempSync(join(base, "ws-"))
  const toolArtifactDir = join(base, "inherited")
  const store = fsStore(join(base, "state"))
  const first = createRuntime({ workspace, store, tools, toolArtifactDir })
  const model = () => scriptedModel([call("long"), "Done."])
  const second = await first.with({ model: model() }).run({ task: "Go.", runId: "second" })
  expect(placeIn(second.toolCalls[0]?.result).startsWith(`${toolArtifactDir}/tool-output/second/`)).toBe(true)
  const third = await first.with({ model: model(), persistArtifact: () => "mine" }).run({ task: "Go.", runId: "third" })
  expect(placeIn(third.toolCalls[0]?.result)).toBe("mine")
})

test("with runs in memory a long result is only cut, because no readable place exists", async () => {
  const result = await scene({ store: memoryStore() })([call("long"), "Done."], "memory")
  expect(result.toolCalls[0]?.result).toMatch(/\n\[cut: \d+ bytes omitted\]$/)
  expect(result.warnings).toEqual([])
})

test("a second attempt at a call gets its own file", async () => {
  const { artifactsIn } = await import("./artifacts.ts")
  const store = artifactsIn(join(base, "twice"))
  const key = { workspaceId: "default", runId: "r", nodeId: "main" }
  const artifact = (text: string) => ({
    callId: "1.0",
    toolName: "long",
    filename: "1.0-long.txt",
    bytes: new TextEncoder().encode(text),
  })
  const first = await store.save(key, artifact("one"))
  const second = await store.save(key, artifact("two"))
  expect(second).not.toBe(first)
  expect([first, second].map((path) => readFileSync(path ?? "", "utf8"))).toEqual(["one", "two"])
})

test("a failing disk loses the artifact, not the run", async () => {
  const blocked = join(base, "blocked")
  const result = await scene({ toolArtifactDir: join(blocked, "file") })([call("long"), "Done."], "blocked", {
    tools: [
      defineTool({
        name: "long",
        description: "Says much, and is in the way.",
        inputSchema: { type: "object" },
        async run() {
          const { writeFileSync } = await import("node:fs")
          writeFileSync(blocked, "")
          return LONG
        },
      }),
      readTool(),
      writeTool(),
      grepTool(),
    ],
  })
  expect(result.status).toBe("done")
  expect(result.toolCalls[0]?.result).toMatch(/\[cut: \d+ bytes omitted; it could not be saved\]$/)
})

test("createAgentTools passes on the text that it cuts", { tags: ["OFF-02"] }, async () => {
  const persisted: string[] = []
  const agentTools = createAgentTools({
    root: mkdtempSync(join(base, "ws-")),
    readOnly: true,
    tools: [long],
    persistArtifact({ filename, buffer, toolName, toolUseId }) {
      persisted.push(`${toolName} ${filename === `${toolUseId}-long.txt`} ${buffer.length}`)
      return "/kept"
    },
  })
  const { isError, text } = await agentTools.callTool("long", {})
  await agentTools.close()
  expect(isError).toBe(false)
  expect(text).toContain("; the complete output is at /kept]\n")
  expect(text.endsWith("line 29999\n")).toBe(true)
  expect(persisted).toEqual([`long true ${LONG.length}`])
})

test("a tool may delete the artifacts of its run or add files to them", async () => {
  const seen: string[] = []
  const taking = defineTool({
    name: "taking",
    description: "Takes the files apart.",
    inputSchema: { type: "object" },
    effect: "none",
    async run(_args, { env, cwd }) {
      const { display } = env.files ?? {}
      const copied = { ...env.files }
      seen.push(display?.("a.txt", cwd) ?? "none", copied.display?.("b.txt", cwd) ?? "none")
      return "taken"
    },
  })
  const result = await scene()([call("taking"), "Done."], "apart", { tools: [taking] })
  expect(result.status).toBe("done")
  expect(seen).toEqual(["a.txt", "b.txt"])
})
