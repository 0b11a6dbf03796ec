import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { afterAll, afterEach, beforeAll, expect, test } from "vitest"
import { Dialogue } from "../src/backends/shared/dialogue.ts"
import { random } from "../src/cli/crashtest/random.ts"
import type { RunRecord } from "../src/contract/event.ts"
import type { RunResult } from "../src/contract/result.ts"
import { createOnlyStore, createRuntime, fsStore } from "../src/hosts/node/index.ts"
import { RunProjection } from "../src/journal/projection.ts"
import { digestOf, type Order, type Paid } from "./compaction/kill-worker.ts"
import { WATCHDOG_MS } from "./support/watchdog.ts"

/** Runs, and how often the process of each is killed around its compactions. */
const runs = Number(process.env.LONGHAUL_COMPACTION_SIGKILLS ?? 1)
const KILLS = 4
const timeout = WATCHDOG_MS + runs * KILLS * 15_000
const scratch = mkdtempSync(join(tmpdir(), "longhaul-compaction-kills-"))
const program = join(scratch, "worker.mjs")
const children = new Set<ChildProcess>()

beforeAll(async () => {
  const entryPoints = [fileURLToPath(new URL("compaction/kill-worker.ts", import.meta.url))]
  const external = ["unpdf", "@vscode/ripgrep"]
  await build({ entryPoints, external, bundle: true, platform: "node", format: "esm", outfile: program })
})
afterEach(async () => {
  for (const child of children) await kill(child)
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

type Told = "summary" | "compaction" | Pick<RunResult, "status" | "text" | "error">

function start(order: Order): ChildProcess {
  const child = fork(program, [JSON.stringify(order)], { execArgv: [] })
  children.add(child)
  return child
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL")
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit")
  children.delete(child)
}

/** Lets a process work until it tells what is awaited, or how the run ended. */
function until(child: ChildProcess, awaited: Told): Promise<Told> {
  return new Promise((resolve, reject) => {
    // One listener for all messages: several may arrive at once.
    child.on("message", (told: Told) => {
      if (told === awaited || typeof told === "object") resolve(told)
    })
    child.once("exit", (code, signal) => {
      reject(new Error(`The process ended without a word (code ${code}, signal ${signal}).`))
    })
  })
}

function linesOf(path: string): readonly string[] {
  return readFileSync(path, "utf8").trimEnd().split("\n")
}

async function recordsOf({ store, root, workspace }: Order): Promise<readonly RunRecord[]> {
  const runtime = createRuntime({
    store: store === "fs" ? fsStore(root) : createOnlyStore(root),
    workspace,
    tools: [],
    env: {},
  })
  const records: RunRecord[] = []
  for await (const event of runtime.events("r")) if ("seq" in event) records.push(event)
  await runtime.close()
  return records
}

async function isDone(order: Order): Promise<boolean> {
  return (await recordsOf(order)).some((record) => record.type === "run-end" && record.status === "done")
}

/** The conversation that the journal had before each request of a turn. */
function foldedDigests(records: readonly RunRecord[]): ReadonlySet<string> {
  const projection = new RunProjection()
  const digests = new Set<string>()
  for (const record of records) {
    projection.apply(record)
    if (record.type === "turn-start") digests.add(digestOf(new Dialogue(projection.messages).messages))
  }
  return digests
}

/** The summaries that each process recorded, in the order of the processes. */
function headsByProcess(records: readonly RunRecord[]): readonly number[] {
  const heads: number[] = [0]
  for (const record of records) {
    if (record.type === "run-resume") heads.push(0)
    if (record.type === "compaction" && record.head) heads.push((heads.pop() ?? 0) + 1)
  }
  return heads
}

for (const store of ["fs", "create-only"] as const) {
  test(`a run killed by SIGKILL around its compactions pays for no summary again that is durable (${store})`, {
    tags: ["RES-02", "CMP-02"],
    timeout,
  }, async () => {
    const pick = random(Number(process.env.LONGHAUL_SEED ?? 1))
    const counted = { kills: 0, summaries: 0, recorded: 0, lost: 0, requests: 0 }
    for (let index = 0; index < runs; index++) {
      const folder = mkdtempSync(join(scratch, "run-"))
      mkdirSync(join(folder, "workspace"))
      const files = { root: "store", workspace: "workspace", ledger: "ledger", requests: "requests" }
      const [root = "", workspace = "", ledger = "", requests = ""] = Object.values(files).map((name) =>
        join(folder, name),
      )
      const order: Order = { store, root, workspace, ledger, requests, steps: 90, window: 16_000 }
      const pids: (number | undefined)[] = []
      let killed = 0
      for (; killed < KILLS; killed++) {
        const child = start(order)
        pids.push(child.pid)
        const told = await until(child, pick(3) === 0 ? "compaction" : "summary")
        // Before the answer, while it is recorded, or in the turns after it.
        if (typeof told !== "object") await new Promise((resolve) => setTimeout(resolve, pick(24)))
        await kill(child)
        if (typeof told === "object") break
      }
      // A process may have finished the run just before it was killed.
      if (!(await isDone(order))) {
        const last = start(order)
        pids.push(last.pid)
        expect(await until(last, { status: "done" } as Told)).toMatchObject({ status: "done", text: "Finished." })
        await kill(last)
      }

      const records = await recordsOf(order)
      const paid = linesOf(requests).map((line) => JSON.parse(line) as Paid)
      const heads = headsByProcess(records)
      expect(heads).toHaveLength(pids.length)
      const folded = foldedDigests(records)
      for (const [place, pid] of pids.entries()) {
        const own = paid.filter((each) => each.pid === pid)
        const summaries = own.filter(({ kind }) => kind === "summary").length
        const lost = summaries - (heads[place] ?? 0)
        // Only the summary that a process waited for when it was killed.
        expect([0, place < pids.length - 1 ? 1 : 0]).toContain(lost)
        // What a process that was killed asked last may not be on record.
        const asked = own.filter(({ kind }) => kind === "turn").slice(0, place < pids.length - 1 ? -1 : undefined)
        for (const { digest } of asked) expect(folded).toContain(digest)
        counted.summaries += summaries
        counted.lost += lost
        counted.requests += asked.length
      }
      counted.recorded += heads.reduce((sum, each) => sum + each, 0)
      counted.kills += killed
      const effects = linesOf(ledger)
      expect(new Set(effects).size).toBe(effects.length)
    }
    const { kills, summaries, recorded, lost, requests } = counted
    console.log(
      `${runs} runs on ${store}, ${kills} kills around compactions: ${summaries} summaries paid, ${recorded} recorded, ${lost} lost with their process, 0 paid again; ${requests} requests = the journal`,
    )
    expect(kills).toBeGreaterThan(0)
  })
}
