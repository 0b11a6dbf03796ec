import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { afterAll, beforeAll, expect, test } from "vitest"
import type { Order, Told } from "./api/worker.ts"
import { serveApi } from "./support/api-scene.ts"

const scratch = mkdtempSync(join(tmpdir(), "longhaul-api-crash-"))
const program = join(scratch, "worker.mjs")

beforeAll(async () => {
  const entryPoints = [fileURLToPath(new URL("api/worker.ts", import.meta.url))]
  const external = ["unpdf", "@vscode/ripgrep"]
  await build({ entryPoints, external, bundle: true, platform: "node", format: "esm", outfile: program })
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** Runs one process to its end. Undefined: it was killed. */
async function processOf(order: Order, started: (child: ChildProcess) => void): Promise<Told | undefined> {
  const child = fork(program, [JSON.stringify(order)], { execArgv: [] })
  started(child)
  let told: Told | undefined
  child.on("message", (message: Told) => {
    told = message
  })
  const [code, signal] = await once(child, "exit")
  expect(order.dies ? signal : code).toBe(order.dies ? "SIGKILL" : 0)
  return told
}

const header = "Idempotency-Key"
const moments = (["sent", "answered"] as const).flatMap((dies) => [
  { dies, method: "POST", before: header, after: header, sent: 2, call: "ok" } as const,
  { dies, method: "PATCH", before: header, after: header, sent: 2, call: "ok" } as const,
  { dies, method: "PUT", before: undefined, after: undefined, sent: 2, call: "ok" } as const,
  { dies, method: "POST", before: undefined, after: undefined, sent: 1, call: "unknown" } as const,
  // A service that lost its key would take the repetition for another payment.
  { dies, method: "POST", before: header, after: undefined, sent: 1, call: "unknown" } as const,
])

test.each(moments)(
  "SIGKILL when a $method was $dies (key $before, resumed with key $after): sent $sent times, one effect, recorded as $call",
  async ({ dies, method, before, after, sent, call }) => {
    let child: ChildProcess | undefined
    const effects = new Set<string>()
    const { url, requests } = await serveApi((request, response) => {
      effects.add(request.headers["idempotency-key"] ?? (method === "PUT" ? request.url : `request ${requests.length}`))
      if (dies === "sent" && requests.length === 1) child?.send("die")
      else response.writeHead(201).end("paid")
    })
    const root = mkdtempSync(join(scratch, "store-"))
    const order = { root, url, method }
    const started = (process: ChildProcess) => {
      child = process
    }
    const first = { ...order, what: "begin", dies, ...(before && { idempotencyHeader: before }) } as const
    expect(await processOf(first, started)).toBeUndefined()
    expect(requests.length).toBe(1)
    const told = await processOf({ ...order, what: "resume", ...(after && { idempotencyHeader: after }) }, started)
    expect(told).toEqual({ status: "done", call })
    expect([requests.length, effects.size]).toEqual([sent, 1])
    expect(new Set(requests.map(({ body }) => body))).toEqual(new Set(['{"usd":5}']))
  },
)
