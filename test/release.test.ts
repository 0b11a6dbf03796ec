import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import type { Message } from "../src/contract/message.ts"
import type { RunResult } from "../src/contract/result.ts"
import type { Slice } from "../src/contract/run.ts"
import type { Store } from "../src/contract/store.ts"
import { createOnlyStore, createRuntime, defineTool, fsStore } from "../src/hosts/node/index.ts"
import { scriptedModel } from "../src/testing/index.ts"
import { bashTool } from "../src/tools/bash.ts"
import type { Order } from "./release/worker.ts"
import { type S3Server, startS3 } from "./support/s3-server.ts"

const scratch = mkdtempSync(join(tmpdir(), "longhaul-release-"))
const program = join(scratch, "worker.mjs")
const children = new Set<ChildProcess>()
const isWhole = process.env.LONGHAUL_SLICES !== undefined
const turns = isWhole ? 30 : 12
const liveRuns = Number(process.env.LONGHAUL_LIVE_RUNS ?? 30)

let server: S3Server
beforeAll(async () => {
  server = await startS3()
})
afterEach(() => {
  for (const child of children) child.kill("SIGKILL")
  children.clear()
})
afterAll(async () => {
  await server?.close()
  rmSync(scratch, { recursive: true, force: true })
})

const freshFolder = () => mkdtempSync(join(scratch, "scene-"))
const turnsOf = (messages: readonly Message[]) => messages.filter(({ role }) => role === "assistant").length

describe.each([
  { name: "fs", store: () => fsStore(freshFolder()) },
  { name: "create-only", store: () => createOnlyStore(freshFolder()) },
  { name: "S3", store: () => server.freshStore() },
])("on the $name store", ({ name, store }) => {
  test("runs released in slices of every size, by alternating processes, have every effect once", async () => {
    const every: Slice[] = Array.from({ length: turns + 1 }, (_, index) => ({ turns: index + 1 }))
    const sizes = isWhole ? every : every.filter(({ turns: size = 0 }) => size <= 3 || size % 5 === 0 || size > turns)
    const counts = { slices: 0, effects: 0, lost: 0, doubled: 0 }
    for (const slice of [...sizes, { timeMs: 1 }, { timeMs: 25 }]) {
      const { result, effects, slices } = await runInSlices(store(), slice)
      expect(result, JSON.stringify(slice)).toMatchObject({ status: "done", turns, text: "All shipped." })
      counts.slices += slices
      counts.effects += effects.length
      counts.lost += turns - 1 - new Set(effects).size
      counts.doubled += effects.length - new Set(effects).size
    }
    console.log(
      `${name}: ${sizes.length + 2} slice sizes over ${turns} turns, ${counts.slices} slices, ` +
        `${counts.effects} effects, ${counts.lost} lost, ${counts.doubled} doubled`,
    )
    expect([counts.lost, counts.doubled]).toEqual([0, 0])
  })
})

/** Two processes alternate in running slices of one run. Every third slice is resumed by the process that released it. */
async function runInSlices(store: Store, slice: Slice) {
  const effects: string[] = []
  const ship = defineTool({
    name: "ship",
    description: "Ships.",
    inputSchema: { type: "object" },
    effect: "once",
    run(_, { idempotencyKey }) {
      effects.push(idempotencyKey)
      return "shipped"
    },
  })
  const step = (messages: readonly Message[]) =>
    turnsOf(messages) === turns - 1 ? "All shipped." : { parts: [{ toolCall: { name: "ship", args: {} } }] }
  const runtimes = [0, 1].map(() =>
    createRuntime({ store, model: scriptedModel(Array(turns).fill(step)), tools: [ship], workspace: scratch }),
  )
  const takes = (index: number) => runtimes[Math.floor((index * 2) / 3) % 2] as (typeof runtimes)[number]
  let result: RunResult = await takes(0).run({ runId: "r", task: "Ship everything.", slice })
  let slices = 1
  for (; result.status === "paused"; slices++) {
    expect(result.pause).toMatchObject({ reason: "released", pendingToolCall: null })
    result = await takes(slices).resume({ runId: "r", slice })
  }
  return { result, effects, slices }
}

test("three processes that are restarted one after another finish all active runs and cancel none", async () => {
  const entryPoints = [fileURLToPath(new URL("release/worker.ts", import.meta.url))]
  const external = ["unpdf", "@vscode/ripgrep"]
  await build({ entryPoints, external, bundle: true, platform: "node", format: "esm", outfile: program })
  const folder = freshFolder()
  const order = { root: join(folder, "store"), workspace: join(folder, "workspace"), ledger: join(folder, "ledger") }
  mkdirSync(order.workspace)
  const effects = 40
  const ids = Array.from({ length: liveRuns }, (_, index) => `run-${index}`)
  const share = (index: number) => ids.filter((_, at) => at % 3 === index)

  const first = [0, 1, 2].map((index) => start({ ...order, effects, starts: share(index) }))
  await Promise.all(first.map((child) => once(child, "message")))
  const replacements: ChildProcess[] = []
  for (const child of first) {
    replacements.push(start({ ...order, effects, starts: [] }))
    const exited = once(child, "exit")
    child.kill("SIGTERM")
    expect(await exited).toEqual([0, null])
  }
  await Promise.all(replacements.map((child) => child.exitCode ?? once(child, "exit")))

  const runtime = createRuntime({ store: fsStore(order.root), workspace: order.workspace, tools: [] })
  const states = await Promise.all(ids.map((runId) => runtime.status(runId)))
  const shipped = readFileSync(order.ledger, "utf8").trimEnd().split("\n")
  const pauses = await Promise.all(ids.map((runId) => countPauses(runtime.events(runId))))
  console.log(
    `${ids.length} live runs, three processes restarted in turn: ${states.filter(({ status }) => status === "done").length} done, ` +
      `${pauses.reduce((sum, each) => sum + each, 0)} releases, ${shipped.length} effects, ${shipped.length - new Set(shipped).size} doubled`,
  )
  expect(states.map(({ status }) => status)).toEqual(ids.map(() => "done"))
  expect(shipped).toHaveLength(ids.length * effects)
  expect(new Set(shipped).size).toBe(shipped.length)
  expect(pauses.some((count) => count > 0)).toBe(true)
})

function start(order: Order): ChildProcess {
  const child = fork(program, [JSON.stringify(order)], { execArgv: [] })
  children.add(child)
  return child
}

async function countPauses(records: AsyncIterable<{ readonly type: string }>): Promise<number> {
  let pauses = 0
  for await (const { type } of records) if (type === "run-pause") pauses++
  return pauses
}

test("a run is resumed in a workspace at another path, and Bash works there", async () => {
  const folder = freshFolder()
  const [before, after] = [join(folder, "before"), join(folder, "after")] as const
  mkdirSync(join(before, "notes"), { recursive: true })
  const store = fsStore(join(folder, "store"))
  const bash = { parts: [{ toolCall: { name: "Bash", args: { command: "pwd" } } }] }
  const runtimeIn = (workspace: string) =>
    createRuntime({
      store,
      workspace,
      model: scriptedModel([bash, "Done."]),
      tools: [bashTool()],
      policy: { preApproved: ["Bash"] },
    })
  await runtimeIn(before).run({ runId: "r", task: "Look.", cwd: join(before, "notes"), slice: { turns: 1 } })
  renameSync(before, after)
  const result = await runtimeIn(after).resume({ runId: "r" })
  expect(result.toolCalls.map(({ status }) => status)).toEqual(["ok", "ok"])
  expect(result.toolCalls[0]?.result).toContain(join(before, "notes"))
  expect(result.toolCalls[1]?.result).toContain(join(after, "notes"))
})
