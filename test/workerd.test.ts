import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { Miniflare } from "miniflare"
import { afterAll, beforeAll, expect, test } from "vitest"
import { type Served, serve } from "../src/hosts/node/http/serve.ts"
import type { RunResult } from "../src/index.ts"
import { createSimulator } from "../src/testing/index.ts"
import { serveScene } from "./mcp-client/http-server.mjs"

let script: string
let server: Served
let scene: Awaited<ReturnType<typeof serveScene>>
let worker: Miniflare | undefined

/** Calls the tool with the task, then repeats the tool's response. */
const simulator = createSimulator({
  script: ({ lastToolResults: [result], lastUserText }) =>
    result === undefined
      ? { parts: [{ text: "One moment." }, { toolCall: { name: "shout", args: { words: lastUserText } } }] }
      : `The tool said: ${result.text}`,
})

beforeAll(async () => {
  const bundle = await build({
    entryPoints: [fileURLToPath(new URL("./workerd/worker.mjs", import.meta.url))],
    bundle: true,
    write: false,
    format: "esm",
    platform: "neutral",
    target: "es2023",
    // Those of wrangler.
    conditions: ["workerd", "worker", "browser"],
    mainFields: ["module", "main"],
  })
  script = bundle.outputFiles[0]?.text ?? ""
  server = await serve(simulator.fetch)
  scene = await serveScene()
})

afterAll(async () => {
  await worker?.dispose()
  await server?.close()
  await scene?.close()
})

test("the portable entries bundle for a worker without any node: import", { tags: ["EDG-01"] }, () => {
  expect(script.length).toBeGreaterThan(10_000)
  expect(script).not.toMatch(/["']node:/)
  // A computed import name is plain text inside unpdf, which is bundled if it is installed.
  expect(script).not.toMatch(/\b(?:import|require)\s*\(?\s*["'][^."'$]/)
})

test("a run with a tool completes inside workerd, over its own fetch, without Node compatibility", async () => {
  worker = new Miniflare({ modules: true, script, compatibilityDate: "2026-01-01", cf: false })
  const response = await worker.dispatchFetch("http://worker/", {
    method: "POST",
    body: JSON.stringify({ baseUrl: server.url, words: "haul it home", mcpUrl: scene.url }),
  })
  expect(response.status).toBe(200)
  // The worker's own response, whose shape is defined in its file.
  const told = (await response.json()) as { result: RunResult; drawn: RunResult; status: RunResult; events: string[] }
  expect(told.drawn).toMatchObject({ status: "done", toolCalls: [{ name: "mcp__scene__echo", status: "ok" }] })
  expect(told.result).toMatchObject({
    status: "done",
    text: "The tool said: HAUL IT HOME! (3)",
    turns: 2,
    toolCalls: [{ name: "shout", status: "ok", args: { words: "haul it home" }, result: "HAUL IT HOME! (3)" }],
  })
  expect(told.status).toMatchObject({ status: "done", text: told.result.text })
  expect(told.events).toEqual(
    expect.arrayContaining(["run-start", "text-delta", "tool-intent", "tool-result", "run-end"]),
  )
  // Its requests do not support `redirect: "error"`.
  expect(told.events).not.toContain("retry")
  expect(told).toMatchObject({ others: ["scripted", "done"], verified: { status: "done" }, node: "undefined" })
  // Libraries that are loaded on demand.
  expect(told).toMatchObject({
    searched: "a.txt:1:Straße\na.txt:3:λ",
    fetched: expect.stringContaining("1 ≫\u0338 2 ©"),
  })
  expect(told).toMatchObject({
    looked: [
      expect.stringContaining("harbour/tides.md#hochwasser"),
      expect.stringContaining("High water is at 04:17."),
      expect.stringContaining("405"),
    ],
    remembered: [
      expect.stringContaining("Pull hard."),
      expect.stringContaining("Remembered as"),
      expect.stringContaining("東京のサーバー"),
    ],
  })
  expect(simulator.requests).toHaveLength(2)

  await worker.dispose()
  worker = undefined
  expect(workerdChildren()).toEqual([])
})

/** The workerd processes started by this one that still run; known on Linux only. */
function workerdChildren(): string[] {
  try {
    return readdirSync("/proc").filter((pid) => {
      if (!/^\d+$/.test(pid)) return false
      const [, name, state, parent] = /\((.*)\) (\S) (\d+)/.exec(statOf(pid)) ?? []
      return name === "workerd" && state !== "Z" && Number(parent) === process.pid
    })
  } catch {
    return []
  }
}

function statOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8")
  } catch {
    return ""
  }
}
