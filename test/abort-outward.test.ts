import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import type { ServerResponse } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, onTestFinished, test } from "vitest"
import { createRuntime } from "../src/hosts/node/index.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { programs } from "./aborts/programs.ts"
import { asking, calls, NEVER_MS, type Outward, requests } from "./aborts/requests.ts"
import { toolSources } from "./support/all-tools.ts"
import { type Answering, hangingServer } from "./support/hanging-server.ts"
import { until } from "./support/watchdog.ts"

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "longhaul-abort-"))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

/** A run that is aborted while a server holds its request. */
async function abortedWhile({ answers, config }: Outward, start?: (response: ServerResponse) => void) {
  const server = await hangingServer(answers, start)
  const root = folder()
  const runtime = createRuntime({ store: memoryStore(), workspace: root, ...config(server, root) })
  const stop = new AbortController()
  const running = runtime.run({ task: "Go.", runId: "r", signal: stop.signal })
  const ended = await Promise.race([server.held, running])
  expect("status" in ended ? ended : "it was asked").toBe("it was asked")
  stop.abort()
  return { server, running, runtime }
}

/** The same for a request of this process: neither the run nor its connection goes on. */
async function abortedRequest(row: Outward, start?: (response: ServerResponse) => void) {
  const { server, running, runtime } = await abortedWhile(row, start)
  // A run that did not notice the abort would never end.
  expect(await Promise.race([running.then(() => true), server.hasEnded()])).toBe(true)
  const result = await running
  await runtime.close()
  return { server, result }
}

describe("a run that is aborted ends", () => {
  test.each(Object.entries(requests))("an aborted run ends %s, and is cancelled", async (_, row) => {
    const { server, result } = await abortedRequest(row)
    expect(result).toMatchObject({ status: "cancelled", error: { code: "cancelled" } })
    expect(await server.hasEnded()).toBe(true)
  })

  test.each(Object.entries(requests).filter(([, { answers }]) => answers === undefined))(
    "an aborted run ends %s in the middle of the answer, and is cancelled",
    async (_, row) => {
      const { server, result } = await abortedRequest(row, (response) => {
        response.writeHead(200, { "content-type": "text/event-stream" })
        response.write(": this goes on\n\n")
      })
      expect(result).toMatchObject({ status: "cancelled" })
      expect(await server.hasEnded()).toBe(true)
    },
  )

  test.each(Object.entries(programs))("an aborted run ends %s, and is cancelled", async (_, row) => {
    const { server, running, runtime } = await abortedWhile(row)
    expect(await running).toMatchObject({ status: "cancelled", error: { code: "cancelled" } })
    // Its process ends a moment after the run.
    await until(() => server.hasEnded())
    await runtime.close()
  })
})

describe("an MCP server is told that a request is cancelled", () => {
  const told = Object.entries(requests).filter(([name]) =>
    /^(?:the|a) (?:tools?|resources?|templates) of an MCP/.test(name),
  )

  test.each(told)("an abort reaches the server as a cancelled request: %s", async (_, row) => {
    const bodies: string[] = []
    const answers: Answering = (request, body, response) => {
      bodies.push(body)
      return row.answers?.(request, body, response) ?? false
    }
    const { server } = await abortedRequest({ ...row, answers })
    const { id } = JSON.parse((await server.held).body)
    await server.hasSeen(() => bodies.some((body) => body.includes("notifications/cancelled")))
    const cancelled = bodies
      .map((body) => JSON.parse(body || "{}"))
      .find(({ method }) => method?.endsWith("/cancelled"))
    expect(cancelled).toMatchObject({ params: { requestId: id } })
  })
})

test.each([
  ["while it starts", { neverAnswers: true }, "never asked"],
  ["during a call", {}, calls("mcp__scene__hang")],
] as const)("a program of an MCP server is ended with the run that is aborted %s", async (_, settings, step) => {
  const root = folder()
  const files = { settings: join(root, "settings.json"), starts: join(root, "starts"), ledger: join(root, "ledger") }
  writeFileSync(files.settings, JSON.stringify({ ...settings, starts: files.starts, ledger: files.ledger }))
  const program = fileURLToPath(new URL("./mcp-client/stdio-server.mjs", import.meta.url))
  const scene = { command: process.execPath, args: [program, files.settings], timeoutMs: NEVER_MS }
  const runtime = createRuntime({
    store: memoryStore(),
    workspace: root,
    tools: [],
    model: asking(step),
    mcpServers: { scene },
  })
  onTestFinished(() => runtime.close())
  const stop = new AbortController()
  const running = runtime.run({ task: "Go.", signal: stop.signal })
  // A file exists before it has its text.
  const isWritten = (path: string) => existsSync(path) && readFileSync(path, "utf8") !== ""
  await until(() => isWritten(files.starts) && ("neverAnswers" in settings || isWritten(files.ledger)))
  stop.abort()
  expect(await running).toMatchObject({ status: "cancelled" })
  const pid = Number(readFileSync(files.starts, "utf8"))
  await until(() => !isAlive(pid))
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test("every tool that reaches the outside, provider and search engine has its row", async () => {
  const rows = Object.values({ ...requests, ...programs })
  const tools = (await toolSources()).flatMap(([, each]) => each)
  for (const { name, uses } of tools) {
    const used = await uses?.({})
    // Without a declaration nobody knows what a call uses.
    if (used !== undefined && used.fetch === undefined && used.exec === undefined) continue
    expect(rows.map(({ tool }) => tool)).toContain(name)
  }
  const names = (path: string) => readdirSync(new URL(`../src/${path}`, import.meta.url), { withFileTypes: true })
  const providers = names("providers").flatMap((each) => (each.isDirectory() ? [each.name] : []))
  expect(new Set(rows.flatMap(({ provider }) => provider?.split(" ")[0] ?? []))).toEqual(new Set(providers))
  const files = names("tools/web/engines").map(({ name }) => name.replace(".ts", ""))
  expect(rows.flatMap(({ engine }) => engine ?? []).sort()).toEqual(files.filter((name) => name !== "engine").sort())
})
