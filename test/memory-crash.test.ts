import { fork } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { afterAll, beforeAll, expect, test } from "vitest"
import type { Order } from "./memory/worker.ts"

/** All of them in `npm run prove`. */
const WANTED = Number(process.env.LONGHAUL_MEMORY_CRASHES ?? 12)
const MOMENTS = 200
const scratch = mkdtempSync(join(tmpdir(), "longhaul-memory-crash-"))
const program = join(scratch, "worker.mjs")

beforeAll(async () => {
  const entryPoints = [fileURLToPath(new URL("memory/worker.ts", import.meta.url))]
  const external = ["unpdf", "@vscode/ripgrep"]
  await build({ entryPoints, external, bundle: true, platform: "node", format: "esm", outfile: program })
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** True if the process was killed. */
async function processOf(order: Order): Promise<boolean> {
  const child = fork(program, [JSON.stringify(order)], { execArgv: [] })
  let told: unknown
  child.on("message", (message) => {
    told = message
  })
  const [code, signal] = await once(child, "exit")
  if (signal === "SIGKILL" && order.dies) return true
  expect(code).toBe(0)
  expect(told).toMatchObject({ status: "done" })
  return false
}

function remembered(root: string): readonly string[] {
  const folder = join(root, "workspaces/default/.longhaul/memory/lessons")
  // A killed process may leave a temporary file, which the store never lists.
  const names = readdirSync(folder).filter((name) => name.endsWith(".md"))
  const texts = names.map((name) => readFileSync(join(folder, name), "utf8"))
  return texts.flatMap((text) => /^Lesson \d+\.$/m.exec(text)?.[0] ?? text)
}

test(`a process killed around any write of a run that remembers 12 lessons: each is there once (${WANTED} of ${MOMENTS} moments)`, {
  tags: ["MEM-03"],
  timeout: 600_000,
}, async () => {
  const lessons = Array.from({ length: 12 }, (_, index) => `Lesson ${index + 1}.`).sort()
  let killed = 0
  const one = async (moment: number) => {
    const root = mkdtempSync(join(scratch, "store-"))
    const store = moment % 2 === 0 ? "fs" : "create-only"
    const when = moment % 4 < 2 ? "before" : "after"
    const dies = { when, write: 1 + (Math.floor(moment / 4) % WRITES) } as const
    if (await processOf({ store, root, dies })) {
      killed++
      await processOf({ store, root })
    }
    expect([...remembered(root)].sort(), `${store}, ${when} write ${dies.write}`).toEqual(lessons)
    rmSync(root, { recursive: true, force: true })
  }
  const moments = Array.from({ length: WANTED }, (_, index) => Math.floor((index * MOMENTS) / WANTED))
  while (moments.length > 0) await Promise.all(moments.splice(0, 2).map(one))
  process.stdout.write(`${killed} processes killed: each of 12 lessons once\n`)
  expect(killed).toBe(WANTED)
})

/** A run has a few more than these in either store. */
const WRITES = 20
