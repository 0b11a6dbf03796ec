import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { McpServer } from "../../src/contract/mcp.ts"
import { mcp } from "../../src/extensions/mcp/index.ts"
import { createRuntime } from "../../src/hosts/node/index.ts"
import { memoryStore } from "../../src/stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../../src/testing/index.ts"
import { PATIENCE_MS, until } from "../support/watchdog.ts"

const installed = fileURLToPath(new URL("../../.extensions/node_modules/@modelcontextprotocol/", import.meta.url))
const everything = `${installed}server-everything/dist/index.js`
const filesystem = `${installed}server-filesystem/dist/index.js`
const call = (name: string, args = {}) => ({ parts: [{ toolCall: { name, args } }] })

let folder = ""
const started: ChildProcess[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "longhaul-real-servers-"))
})

afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL")
  rmSync(folder, { recursive: true, force: true })
})

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve))
  const address = probe.address()
  await new Promise((resolve) => probe.close(resolve))
  return typeof address === "object" && address ? address.port : 0
}

/** Starts server-everything over HTTP, and waits until it listens. */
async function overHttp(transport: "streamableHttp" | "sse"): Promise<string> {
  const port = await freePort()
  const env = { ...process.env, PORT: String(port) }
  const child = spawn(process.execPath, [everything, transport], { env, stdio: ["ignore", "pipe", "pipe"] })
  started.push(child)
  const path = transport === "sse" ? "sse" : "mcp"
  const url = `http://127.0.0.1:${port}/${path}`
  await until(async () => {
    const response = await fetch(url, { signal: AbortSignal.timeout(PATIENCE_MS) }).catch(() => undefined)
    await response?.body?.cancel()
    return response !== undefined
  })
  return url
}

async function runWith(
  servers: Readonly<Record<string, McpServer>>,
  steps: readonly ScriptedStep[],
  more: object = {},
) {
  const model = scriptedModel(steps)
  const runtime = createRuntime({
    model,
    store: memoryStore(),
    workspace: folder,
    tools: [],
    policy: { mode: "auto" },
    extensions: [mcp({ servers, ...more })],
  })
  const result = await runtime.run({ task: "x" })
  await runtime.close()
  return result
}

describe.each(["stdio", "streamableHttp", "sse"] as const)("server-everything over %s", (transport) => {
  test("server-everything echoes, adds, returns structure, an image and resources, and reports progress to a run", async () => {
    const server: McpServer =
      transport === "stdio"
        ? { command: process.execPath, args: [everything] }
        : { url: await overHttp(transport), type: transport === "sse" ? "sse" : "http" }
    const result = await runWith({ all: { ...server, required: true } }, [
      call("mcp__all__echo", { message: "hello" }),
      call("mcp__all__get-sum", { a: 2, b: 40 }),
      call("mcp__all__get-structured-content", { location: "New York" }),
      call("mcp__all__get-tiny-image"),
      call("mcp__all__trigger-long-running-operation", { duration: 1, steps: 2 }),
      call("ListMcpResources"),
      call("ReadMcpResource", { server: "all", uri: "demo://resource/static/document/features.md" }),
      "done",
    ])
    expect(result, JSON.stringify(result.error)).toMatchObject({ status: "done" })
    expect(result.toolCalls.map(({ status }) => status)).toEqual(Array(7).fill("ok"))
    const texts = result.toolCalls.map((made) => JSON.stringify(made.result))
    expect(texts[0]).toContain("Echo: hello")
    expect(texts[1]).toContain("42")
    expect(texts[2]).toContain("temperature")
    expect(texts[5]).toContain("demo://resource/static/document/features.md")
    expect(result.capabilitiesUsed.mcpServersUsed).toEqual(["all"])
  })
})

test("server-everything asks a person through the run's handler, and samples the run's model if it may", async () => {
  const server = { command: process.execPath, args: [everything], allowSampling: true, required: true }
  const asked: string[] = []
  const elicit = (request: { readonly message: string }) => {
    asked.push(request.message)
    return { action: "accept", content: { name: "Ada" } } as const
  }
  const listed: string[][] = []
  const look: ScriptedStep = (_, setup) => {
    listed.push(setup.tools.map(({ name }) => name))
    return call("mcp__all__trigger-sampling-request", { prompt: "Say hello", maxTokens: 50 })
  }
  const result = await runWith(
    { all: server },
    [look, "hello from the model", call("mcp__all__trigger-elicitation-request"), "done"],
    { elicit },
  )
  expect(listed[0]).toContain("mcp__all__trigger-sampling-request")
  expect(result, JSON.stringify(result.error)).toMatchObject({ status: "done", text: "done" })
  expect(result.toolCalls.map(({ status }) => status)).toEqual(["ok", "ok"])
  expect(JSON.stringify(result.toolCalls[0]?.result)).toContain("hello from the model")
  expect(asked).toHaveLength(1)
})

test("a server that may not sample and whose person cannot be asked is told so: its tools for that are absent", {
  tags: ["MCP-05"],
}, async () => {
  const listed: string[][] = []
  const look: ScriptedStep = (_, setup) => {
    listed.push(setup.tools.map(({ name }) => name))
    return "done"
  }
  await runWith({ all: { command: process.execPath, args: [everything] } }, [look])
  expect(listed[0]).toContain("mcp__all__echo")
  expect(listed[0]?.some((name) => /sampling|elicitation/.test(name))).toBe(false)
})

test("server-filesystem reads, writes and refuses paths outside of its folder", async () => {
  writeFileSync(join(folder, "tide.txt"), "High water is at 04:17.\n")
  const result = await runWith({ files: { command: process.execPath, args: [filesystem, folder], required: true } }, [
    call("mcp__files__read_text_file", { path: join(folder, "tide.txt") }),
    call("mcp__files__write_file", { path: join(folder, "note.txt"), content: "written" }),
    call("mcp__files__read_text_file", { path: "/etc/passwd" }),
    "done",
  ])
  expect(result.toolCalls.map(({ status }) => status)).toEqual(["ok", "ok", "error"])
  expect(readFileSync(join(folder, "note.txt"), "utf8")).toBe("written")
})
