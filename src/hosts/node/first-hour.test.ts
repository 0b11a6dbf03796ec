import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { takeRun } from "../../journal/journal.ts"
import { runPath } from "../../journal/paths.ts"
import { createAgentTools, createRuntime, fsStore } from "./index.ts"
import { namedProviders } from "./model-names.ts"
import { storeRuntime } from "./store/store-runtime.ts"

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "longhaul-first-hour-"))
})
afterAll(() => rm(folder, { recursive: true }))

test("without a key and a model, the error names the keys and the local servers", async () => {
  for (const { keyNames } of namedProviders) for (const name of keyNames) vi.stubEnv(name, "")
  vi.stubEnv("LONGHAUL_MODEL", "")
  const { error } = await createRuntime({ store: fsStore(join(folder, "a")), tools: [] }).run({ task: "Hi" })
  vi.unstubAllEnvs()
  expect(error?.code).toBe("config_invalid")
  for (const word of [
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "ollama",
    "127.0.0.1:11434",
    "lmstudio",
  ]) {
    expect(error?.fix).toContain(word)
  }
})

test("Edit and MultiEdit report a missing text once, in one sentence", async () => {
  await writeFile(join(folder, "b.txt"), "hello\n")
  const tools = createAgentTools({ root: folder })
  const edit = await tools.callTool("Edit", { path: "b.txt", oldText: "nope", newText: "x" })
  expect(JSON.parse(edit.text).error.message.split("\n")[0]).toBe("oldText does not occur in b.txt.")
  const outside = await tools.callTool("Edit", { path: "../c.txt", oldText: "nope", newText: "x" })
  expect(JSON.parse(outside.text).error).toMatchObject({ code: "denied", message: expect.stringContaining("c.txt ") })
  await tools.close()
})

test("a run whose process was killed is shown as lost, an active one is not", async () => {
  const store = fsStore(join(folder, "lost"))
  const program = `
    const { createRuntime, fsStore, defineTool } = await import(${JSON.stringify(new URL("../../../dist/hosts/node/index.js", import.meta.url).href)})
    const { scriptedModel } = await import(${JSON.stringify(new URL("../../../dist/testing/index.js", import.meta.url).href)})
    const wait = defineTool({ name: "wait", description: "Waits.", inputSchema: { type: "object" }, run: () => new Promise(() => {}) })
    const runtime = createRuntime({ store: fsStore(${JSON.stringify(join(folder, "lost"))}), tools: [wait], workspace: ${JSON.stringify(tmpdir())},
      model: scriptedModel([{ parts: [{ toolCall: { name: "wait", args: {} } }] }]) })
    const handle = runtime.stream({ task: "Wait.", runId: "killed" })
    for await (const event of handle) if (event.type === "tool-intent") console.log("begun")
  `
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  })
  await once(child.stdout, "data")
  const alive = await storeRuntime(store, "default").status("killed")
  expect(alive).toMatchObject({ status: "running" })
  expect(alive).not.toHaveProperty("lost")
  child.kill("SIGKILL")
  await once(child, "exit")
  expect(await storeRuntime(store, "default").status("killed")).toMatchObject({ status: "running", lost: true })
  expect(await storeRuntime(store, "default").runs()).toMatchObject([
    { runId: "killed", status: "running", lost: true },
  ])
})

test("a run of another machine is not shown as lost on a shared store", async () => {
  const store = { ...fsStore(join(folder, "shared")) }
  const shared = {
    ...store,
    folder: (path: string) => {
      const { append: _, ...rest } = store.folder(path)
      return rest
    },
  }
  const key = { workspaceId: "default", runId: "far", nodeId: "main" }
  const input = { messages: [], backend: "native", cwd: "." }
  await takeRun(shared.folder(runPath(key)), {
    fresh: true,
    owner: { boot: "another", pidns: "pid:[1]", pid: 1, started: 1 },
    first: () => [{ type: "run-start", runId: "far", nodeId: "main", input, tools: [], limits: { turns: 1 } }],
  })
  expect(await storeRuntime(shared, "default").runs()).toEqual([expect.not.objectContaining({ lost: true })])
})

test("a bucket in LONGHAUL_STORE is not treated as a folder", () => {
  vi.stubEnv("LONGHAUL_STORE", "s3://bucket/prefix")
  expect(() => createRuntime({ tools: [] })).toThrow(expect.objectContaining({ code: "config_invalid" }))
  vi.unstubAllEnvs()
})
