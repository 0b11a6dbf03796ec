import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { afterAll, afterEach, beforeAll, expect, test } from "vitest"
import type { RunResult } from "../src/contract/result.ts"
import type { RunState } from "../src/contract/runtime.ts"
import { createOnlyStore, createRuntime, fsStore } from "../src/hosts/node/index.ts"
import type { Order } from "./agents/worker.ts"
import { WATCHDOG_MS } from "./support/watchdog.ts"

const rounds = Number(process.env.LONGHAUL_AGENT_PAUSES ?? 3)
const timeout = WATCHDOG_MS + rounds * 15_000
const scratch = mkdtempSync(join(tmpdir(), "longhaul-agent-processes-"))
const program = join(scratch, "worker.mjs")
const children = new Set<ChildProcess>()

beforeAll(async () => {
  const entryPoints = [fileURLToPath(new URL("agents/worker.ts", import.meta.url))]
  const external = ["unpdf", "@vscode/ripgrep"]
  await build({ entryPoints, external, bundle: true, platform: "node", format: "esm", outfile: program })
})
afterEach(async () => {
  for (const child of children) await kill(child)
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

type Scene = Omit<Order, "what" | "diesAt">
type Told = Pick<RunResult, "status" | "text" | "error">

function scene(store: Order["store"]): Scene {
  const folder = mkdtempSync(join(scratch, "scene-"))
  mkdirSync(join(folder, "workspace"))
  return { store, root: join(folder, "store"), workspace: join(folder, "workspace"), ledger: join(folder, "ledger") }
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

/** A runtime that only reads. */
function reader({ store, root, workspace }: Scene) {
  const runs = store === "fs" ? fsStore(root) : createOnlyStore(root)
  return createRuntime({ store: runs, workspace, tools: [], env: {} })
}

function look(at: Scene): Promise<RunState> {
  return reader(at).status("r")
}

/** The recorded outcome of the gated call. */
async function shipmentOf(at: Scene): Promise<string | undefined> {
  for await (const record of reader(at).events("r")) {
    if (record.type === "tool-result" && record.agent === shipper) return record.outcome.status
  }
  return undefined
}

function effects({ ledger }: Scene, name: string): readonly string[] {
  try {
    const lines = readFileSync(ledger, "utf8").trimEnd().split("\n")
    return lines.filter((line) => line.startsWith(`${name} `))
  } catch {
    return []
  }
}

const shipper = "1-0"
/** Where the first process dies; without one, after it has reported the pause. */
const pausing: readonly Order["diesAt"][] = [
  undefined,
  { agent: shipper, type: "approval-request" },
  { agent: shipper, type: "run-pause" },
  { agent: "", type: "agent-end" },
  { agent: "", type: "approval-request" },
  { agent: "", type: "run-pause" },
]
/** Where the second one dies: the decision is recorded by the run, or by its agent. */
const deciding: readonly Order["diesAt"][] = [
  { agent: "", type: "approval-result" },
  { agent: "", type: "agent-start" },
  { agent: shipper, type: "run-resume" },
  { agent: shipper, type: "approval-result" },
]

async function decide(at: Scene, diesAt: Order["diesAt"]): Promise<void> {
  const second = start({ ...at, what: "decide", ...(diesAt && { diesAt }) })
  expect(await told<string>(second)).toBe("ready")
  second.send("go")
  await died(second)
}

test("a gated call of an agent is asked in one process, approved from a second and run by a third, each of them killed", {
  tags: ["LOOP-08"],
  timeout,
}, async () => {
  for (let round = 0; round < rounds; round++) {
    const at = scene(round % 2 === 0 ? "fs" : "create-only")
    const diesAt = pausing[round % pausing.length]
    const first = start({ ...at, what: "begin", ...(diesAt && { diesAt }) })
    if (diesAt) await died(first)
    else {
      expect(await told(first)).toMatchObject({ status: "paused" })
      await kill(first)
    }
    if ((await look(at)).status === "running") {
      const again = start({ ...at, what: "finish" })
      expect(await told(again)).toMatchObject({ status: "paused" })
      await kill(again)
    }
    const paused = await look(at)
    expect(paused).toMatchObject({ status: "paused", pause: { pendingToolCall: { name: "ship", agent: shipper } } })
    // The others finished meanwhile.
    expect(paused.toolCalls.map(({ status }) => status)).toEqual(["pending", "ok", "ok"])
    const dies = deciding[Math.floor(round / 2) % deciding.length]
    await decide(at, dies)
    // The start of an agent is not waited for: it may be published late.
    if (dies?.type !== "agent-start") expect(effects(at, "ship")).toEqual([])
    const third = start({ ...at, what: "finish" })
    expect(await told(third)).toMatchObject({ status: "done", text: "It is on its way." })
    await kill(third)
    expect(await look(at)).toMatchObject({
      status: "done",
      toolCalls: [{ status: "ok" }, { status: "ok" }, { status: "ok" }],
    })
    const shipped = effects(at, "ship")
    const once = [expect.stringMatching(/^ship \w+\/r\/main\/1-0\/1\.0$/)]
    // A process that died between the intent of the call and its effect left it flagged.
    if (shipped.length === 0 && dies?.type === "agent-start") expect(await shipmentOf(at)).toBe("unknown")
    else expect(shipped).toEqual(once)
    const paid = effects(at, "pay")
    expect(new Set(paid).size).toBe(paid.length)
  }
  console.log(`${rounds} agents paused over three killed processes: ${rounds} effects, each once`)
})

test("of two processes that approve the call of an agent with one ticket, one runs it", { timeout }, async () => {
  for (let round = 0; round < rounds; round++) {
    const at = scene(round % 2 === 0 ? "fs" : "create-only")
    const first = start({ ...at, what: "begin" })
    expect(await told(first)).toMatchObject({ status: "paused" })
    await kill(first)
    const both = [start({ ...at, what: "decide" }), start({ ...at, what: "decide" })]
    for (const each of both) expect(await told<string>(each)).toBe("ready")
    for (const each of both) each.send("go")
    const results = await Promise.all(both.map((each) => told(each)))
    expect(results.filter(({ status }) => status === "done")).toHaveLength(1)
    expect(effects(at, "ship")).toEqual([expect.stringMatching(/^ship \w+\/r\/main\/1-0\/1\.0$/)])
    for (const each of both) await kill(each)
  }
})
