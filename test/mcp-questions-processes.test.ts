import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { afterAll, afterEach, beforeAll, expect, test } from "vitest"
import type { RunEvent } from "../src/contract/event.ts"
import type { RunState } from "../src/contract/runtime.ts"
import { createOnlyStore, createRuntime, fsStore } from "../src/hosts/node/index.ts"
import { serveAsking } from "./mcp-client/asking-server.mjs"
import type { Order } from "./mcp-questions/worker.ts"

const all = process.env.LONGHAUL_ALL_CRASHES === "1"
const scratch = mkdtempSync(join(tmpdir(), "longhaul-questions-"))
const program = join(scratch, "worker.mjs")
const children = new Set<ChildProcess>()

beforeAll(async () => {
  const entryPoints = [fileURLToPath(new URL("mcp-questions/worker.ts", import.meta.url))]
  const external = ["unpdf", "@vscode/ripgrep"]
  await build({ entryPoints, external, bundle: true, platform: "node", format: "esm", outfile: program })
})
afterEach(async () => {
  for (const child of children) await kill(child)
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

interface Told extends Pick<RunState, "status" | "text"> {
  /** The status of the call. */
  readonly call?: string
  readonly question?: string
}

type Scene = Pick<Order, "store" | "root" | "workspace" | "url">

function start(order: Order): ChildProcess {
  const child = fork(program, [JSON.stringify(order)], { execArgv: [] })
  children.add(child)
  return child
}

/** What a process tells; undefined: it was killed before. */
async function outcomeOf(child: ChildProcess): Promise<Told | undefined> {
  const told = once(child, "message").then(([message]) => message as Told)
  const exit = once(child, "exit").then(() => undefined)
  const first = await Promise.race([told, exit])
  await kill(child)
  return first
}

async function kill(child: ChildProcess): Promise<void> {
  children.delete(child)
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, "exit")
  child.kill("SIGKILL")
  await exit
}

/** As seen by an unrelated process. */
async function look({ store, root, workspace }: Scene): Promise<Told> {
  const runs = store === "fs" ? fsStore(root) : createOnlyStore(root)
  const { status, text, pause } = await createRuntime({ store: runs, workspace, tools: [], env: {} }).status("r")
  return { status, text, question: pause?.pendingToolCall?.question ?? "" }
}

/** A person who answers whatever is asked, each time in another process, until the run is done. One of them dies. */
async function finish(at: Scene, [mortal, dies]: Death): Promise<Told> {
  let told: Told | undefined
  for (let index = 0; index < 12; index++) {
    const text = told?.question?.includes("How many?") ? '{"seats": 2}' : "Oslo"
    const answer = told?.status === "paused" ? text : null
    const child = start({ ...at, ...(index > 0 && { answer }), ...(index === mortal && { dies }) })
    told = await outcomeOf(child)
    if (index === mortal) expect(child.signalCode).toBe("SIGKILL")
    if (told?.status === "done" || told?.status === "failed") return told
    told ??= await look(at)
  }
  throw new Error("The run does not end.")
}

/** Which process dies, and at which record. Process 0 begins the run, 1 and 2 answer its questions. */
type Death = readonly [process: number, type: RunEvent["type"]]
const deaths: readonly Death[] = [
  [0, "tool-intent"],
  [0, "tool-question"],
  [0, "approval-request"],
  [0, "run-pause"],
  [1, "run-resume"],
  [1, "approval-result"],
  [1, "tool-intent"],
  [1, "tool-question"],
  [1, "run-pause"],
  [2, "approval-result"],
  [2, "tool-intent"],
  [2, "tool-result"],
]

const cases = (["fs", "create-only"] as const).flatMap((store) => deaths.map((death) => [store, ...death] as const))
const sampled = all ? cases : cases.filter((_, index) => [5, 6, 10, 19].includes(index))

const name = "a run on %s whose process %d is killed at its %s loses no question and no answer, and acts at most once"
test.each(sampled)(name, async (store, ...death) => {
  const folder = mkdtempSync(join(scratch, "scene-"))
  const ledger = join(folder, "ledger")
  mkdirSync(join(folder, "workspace"))
  const served = await serveAsking({ ledger })
  try {
    const at = { store, root: join(folder, "store"), workspace: join(folder, "workspace"), url: served.url }
    const told = await finish(at, death)
    expect(told).toMatchObject({ status: "done", text: "Booked." })
    const lines = existsSync(ledger) ? readFileSync(ledger, "utf8").trimEnd().split("\n") : []
    const effects = lines.filter((line) => line.startsWith("effect"))
    const legs = lines.filter((line) => line.startsWith("leg"))
    // An intent without a question or a result after it is in doubt, and is reported; everything else continues.
    expect(told.call).toBe(death[1] === "tool-intent" ? "unknown" : "ok")
    if (told.call === "ok") expect(effects).toEqual(["effect booked 2 to Oslo (none)"])
    expect(effects.length).toBeLessThanOrEqual(1)
    // No request with an answer was sent twice.
    const answered = legs.filter((line) => line.includes("inputResponses"))
    expect(new Set(answered).size).toBe(answered.length)
  } finally {
    await served.close()
  }
})
