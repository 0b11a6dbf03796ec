import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { afterAll, afterEach, beforeAll, expect, test } from "vitest"
import type { Failure } from "../src/contract/error.ts"
import type { RunResult } from "../src/contract/result.ts"
import type { RunState } from "../src/contract/runtime.ts"
import { createOnlyStore, createRuntime, fsStore } from "../src/hosts/node/index.ts"
import type { Order } from "./pause/worker.ts"
import { WATCHDOG_MS } from "./support/watchdog.ts"

const pauses = Number(process.env.LONGHAUL_PAUSES ?? 6)
const timeout = WATCHDOG_MS + pauses * 15_000
const scratch = mkdtempSync(join(tmpdir(), "longhaul-pause-"))
const program = join(scratch, "worker.mjs")
const children = new Set<ChildProcess>()

beforeAll(async () => {
  const entryPoints = [fileURLToPath(new URL("pause/worker.ts", import.meta.url))]
  const external = ["unpdf", "@vscode/ripgrep"]
  await build({ entryPoints, external, bundle: true, platform: "node", format: "esm", outfile: program })
})
afterEach(async () => {
  for (const child of children) await kill(child)
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

type Scene = Omit<Order, "what" | "diesAt">
type Told = Pick<RunResult, "status" | "text"> & { readonly error?: Failure }

function scene(store: Order["store"], bytes = 10): Scene {
  const folder = mkdtempSync(join(scratch, "scene-"))
  mkdirSync(join(folder, "workspace"))
  const [root, workspace, ledger] = ["store", "workspace", "ledger"].map((name) => join(folder, name))
  return { store, bytes, root: `${root}`, workspace: `${workspace}`, ledger: `${ledger}` }
}

function start(order: Order): ChildProcess {
  const child = fork(program, [JSON.stringify(order)], { execArgv: [] })
  children.add(child)
  return child
}

async function told<Message = Told>(child: ChildProcess): Promise<Message> {
  return (await once(child, "message"))[0] as Message
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = died(child)
  child.kill("SIGKILL")
  await gone
}

async function died(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit")
  expect(child.signalCode).toBe("SIGKILL")
  children.delete(child)
}

/** As seen by an unrelated process. */
function look({ store, root, workspace }: Scene): Promise<RunState> {
  const runs = store === "fs" ? fsStore(root) : createOnlyStore(root)
  return createRuntime({ store: runs, workspace, tools: [], env: {} }).status("r")
}

function effects({ ledger }: Scene): readonly string[] {
  try {
    return readFileSync(ledger, "utf8").trimEnd().split("\n")
  } catch {
    return []
  }
}

/** Pauses in one process, which is then killed. */
async function pauseAndDie(at: Scene, how: "told" | "run-pause" | "approval-request"): Promise<void> {
  if (how !== "told") return died(start({ ...at, what: "begin", diesAt: how }))
  const first = start({ ...at, what: "begin" })
  expect(await told(first)).toMatchObject({ status: "paused" })
  await kill(first)
}

/** Approves in a second process, which is killed as soon as that is recorded; finishes in a third. */
async function decideAndFinish(at: Scene): Promise<void> {
  if ((await look(at)).status === "running") {
    // It died after asking and before pausing: the next process asks again.
    const again = start({ ...at, what: "finish" })
    expect(await told(again)).toMatchObject({ status: "paused" })
    await kill(again)
  }
  expect(await look(at)).toMatchObject({ status: "paused", pause: { pendingToolCall: { name: "ship" } } })
  const second = start({ ...at, what: "decide", diesAt: "approval-result" })
  expect(await told<string>(second)).toBe("ready")
  second.send("go")
  await died(second)
  expect(effects(at)).toEqual([])

  const third = start({ ...at, what: "finish" })
  expect(await told(third)).toEqual({ status: "done", text: "It is on its way." })
  await kill(third)
  expect(await look(at)).toMatchObject({ status: "done", toolCalls: [{ name: "ship", status: "ok" }] })
  expect(effects(at)).toEqual([expect.stringMatching(`/r/main/1\\.0 ${at.bytes}$`)])
}

test("a run is paused in one process, approved from a second and finished by a third, each of them killed", {
  timeout,
}, async () => {
  const ways = ["told", "run-pause", "approval-request"] as const
  const stores = ["fs", "create-only"] as const
  for (let round = 0; round < pauses; round++) {
    const at = scene(stores[round % 2] ?? "fs")
    await pauseAndDie(at, ways[round % 3] ?? "told")
    await decideAndFinish(at)
  }
  console.log(`${pauses} pauses over three killed processes: ${pauses} finished, ${pauses} effects, each once`)
})

test("a run with a pending 5 MB argument is paused, approved and finished by three killed processes", {
  timeout,
}, async () => {
  for (const store of ["fs", "create-only"] as const) {
    const at = scene(store, 5_000_000)
    await pauseAndDie(at, "told")
    const { pause } = await look(at)
    // Five megabytes of differences are not printed.
    expect(JSON.stringify(pause?.pendingToolCall?.args) === JSON.stringify({ load: "x".repeat(at.bytes) })).toBe(true)
    await decideAndFinish(at)
  }
})

test("of two simultaneous approvals one succeeds, the other gets the reason, and the effect happens once", {
  timeout,
}, async () => {
  const refusals = new Map<string, number>()
  for (let round = 0; round < pauses; round++) {
    const at = scene(round % 2 === 0 ? "fs" : "create-only")
    await pauseAndDie(at, "told")
    const approvers = [start({ ...at, what: "decide" }), start({ ...at, what: "decide" })]
    for (const ready of await Promise.all(approvers.map((each) => told<string>(each)))) expect(ready).toBe("ready")
    const answers = approvers.map((each) => told(each))
    for (const each of approvers) each.send("go")
    const ended = await Promise.all(answers)
    expect(ended.filter(({ status }) => status === "done")).toHaveLength(1)
    const lost = ended.find(({ status }) => status !== "done")
    expect(["fenced", "run_active", "approval_stale", "invalid_state"]).toContain(lost?.error?.code)
    expect(lost?.error?.fix).toMatch(/\w/)
    expect(await look(at)).toMatchObject({ status: "done" })
    expect(effects(at)).toEqual([expect.stringMatching(/\/r\/main\/1\.0 10$/)])
    for (const each of approvers) await kill(each)
    const code = lost?.error?.code ?? ""
    refusals.set(code, (refusals.get(code) ?? 0) + 1)
  }
  const codes = Array.from(refusals, ([code, count]) => `${count} ${code}`).join(", ")
  console.log(`${pauses} races of two approvers: ${pauses} winners, ${pauses} effects; the others: ${codes}`)
})
