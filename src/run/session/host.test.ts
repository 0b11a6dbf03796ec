import { expect, test, vi } from "vitest"
import { over } from "../../../test/support/gates/column.ts"
import { until } from "../../../test/support/watchdog.ts"
import type { Backend, Stop, TurnHost } from "../../contract/backend.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Json } from "../../contract/json.ts"
import type { RuntimeConfig } from "../../contract/run.ts"
import type { SteerMessage } from "../../contract/session.ts"
import type { Store } from "../../contract/store.ts"
import { createRuntime } from "../../index.ts"
import { plainText } from "../../lib/content.ts"
import { noUsage } from "../../lib/usage.ts"
import { memoryStore } from "../../stores/memory.ts"
import { fakeBackend, scriptedModel } from "../../testing/index.ts"
import { defineTool } from "../../tools/kernel/define-tool.ts"

interface Working {
  readonly host: TurnHost
  /** What it was asked to do. */
  readonly task: string
  /** Messages that it got while it worked. */
  readonly messages: SteerMessage[]
  /** True once the runtime has stopped it. */
  readonly isStopped: () => boolean
}

type Work = (working: Working) => Promise<Stop | undefined>

/** A vendor's program that asks its model without a reserve. `open`: resolves when a session of the task is open. */
function programOf(work: Work, open: (session: number) => Promise<void> = async () => {}): Backend {
  const fake = fakeBackend({ script: () => "unused" })
  let sessions = 0
  return over(fake, {
    async open(request, env) {
      const session = await fake.open(request, env)
      await open(++sessions)
      let isStopped = false
      const messages: SteerMessage[] = []
      return over(session, {
        async run(input, host) {
          const task = plainText(input.content ?? [], "\n")
          const stop = await work({ host, task, messages, isStopped: () => isStopped })
          return isStopped ? { reason: "interrupted" } : (stop ?? { reason: "done", text: "Done." })
        },
        steer: (message) => messages.push(message) > 0,
        interrupt() {
          isStopped = true
        },
      })
    },
  })
}

const look = defineTool({ name: "look", description: "looks", inputSchema: { type: "object" }, run: () => "nothing" })
const limits = { tokens: 1000 }

function runtimeOf(backend: Backend, config: RuntimeConfig = {}) {
  return createRuntime({
    store: memoryStore(),
    backend,
    tools: [look],
    policy: { mode: "auto" },
    agents: {},
    ...config,
  })
}

/** A call of an own tool without an effect. */
async function authorize(host: TurnHost) {
  const call = { callId: "own", name: "Grep", args: {} }
  host.emit({ type: "tool-call", turn: 1, ...call, executor: "backend" })
  return host.authorize(call, { name: "Grep", nativeName: "grep", effect: "none", risk: "low" })
}

async function callTool(host: TurnHost, name: string, args: Json = {}) {
  const call = { callId: `call of ${name}`, name, args }
  host.emit({ type: "tool-call", turn: 1, ...call })
  return host.callTool(call)
}

const spend = (host: TurnHost, inputTokens: number) =>
  void host.emit({ type: "metering", usage: { ...noUsage, inputTokens } })

/** Starts an agent in the background, which spends everything as soon as `begin` was called. */
function spender() {
  let begin = () => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  let spent = () => {}
  const isSpent = new Promise<void>((resolve) => {
    spent = resolve
  })
  return {
    start: (host: TurnHost) => callTool(host, "Agent", { description: "spend", prompt: "Spend it.", background: true }),
    /** Resolves when everything is spent. */
    spend() {
      begin()
      return isSpent
    },
    async work(host: TurnHost) {
      await begun
      spend(host, 1000)
      spent()
    },
  }
}

test.each<readonly [string, (host: TurnHost) => Promise<unknown>]>([
  ["its own call is permitted", (host) => authorize(host)],
  ["it gets the result of a call", (host) => callTool(host, "look")],
])("a program is stopped before %s once another agent of the run has used up the budget", async (_, call) => {
  const other = spender()
  const stopped: boolean[] = []
  const backend = programOf(async ({ host, task, isStopped }) => {
    if (task.includes("Spend it.")) return void (await other.work(host))
    await host.beginTurn(1, nothing)
    await other.start(host)
    stopped.push(isStopped())
    await other.spend()
    await call(host)
    stopped.push(isStopped())
    return undefined
  })
  const result = await runtimeOf(backend).run({ task: "Lead.", limits })
  expect(stopped).toEqual([false, true])
  expect(result).toMatchObject({ status: "failed", error: { code: "budget_exceeded" } })
})

test("a program whose agent has used up the budget gets the agent's answer only after the limit was raised", async () => {
  const other = spender()
  const got: string[] = []
  const backend = programOf(async ({ host, task, messages }) => {
    if (task.includes("Spend it.")) return void (await other.work(host))
    if (task === "Lead.") {
      await host.beginTurn(1, nothing)
      await other.start(host)
      void other.spend()
    }
    await host.review("Waiting.")
    got.push(...messages.map((message) => host.emit({ type: "steer", ...message }).text))
    return undefined
  })
  const runtime = runtimeOf(backend)
  const result = await runtime.run({ task: "Lead.", runId: "r", limits })
  expect(result).toMatchObject({ status: "failed", error: { code: "budget_exceeded" } })
  expect(got).toEqual([])
  expect(await runtime.resume({ runId: "r", limits: { tokens: 5000 } })).toMatchObject({ status: "done" })
  expect(got.join()).toContain("An agent that you started in the background has ended.")
})

test.each([
  ["its answer is repaired", { outputSchema: { type: "object" } }, ""],
  ["it gets a message that came before", {}, "More."],
] as const)("a program is stopped before %s if the budget is used up", async (_, input, message) => {
  const other = spender()
  const stopped: boolean[] = []
  const backend = programOf(async ({ host, task, isStopped, messages }) => {
    if (task.includes("Spend it.")) return void (await other.work(host))
    await host.beginTurn(1, nothing)
    await other.start(host)
    if (message !== "") {
      handle.steer(message)
      await until(() => messages.length > 0)
    }
    await other.spend()
    stopped.push(isStopped())
    await host.review("no JSON")
    stopped.push(isStopped())
    return undefined
  })
  const handle = runtimeOf(backend).stream({ task: "Lead.", limits, ...input })
  expect(await handle.result).toMatchObject({ status: "failed", error: { code: "budget_exceeded" } })
  expect(stopped).toEqual([false, true])
})

test("a session that opens while another agent uses up the budget is not prompted", async () => {
  const tasks: string[] = []
  let isOpening = () => {}
  const opening = new Promise<void>((resolve) => {
    isOpening = resolve
  })
  let spent = () => {}
  const isSpent = new Promise<void>((resolve) => {
    spent = resolve
  })
  const open = async (session: number) => {
    if (session === 1) return
    isOpening()
    await isSpent
  }
  const backend = programOf(async ({ host, task }) => {
    tasks.push(task)
    await host.beginTurn(1, nothing)
    await callTool(host, "Agent", { description: "look", prompt: "Look.", background: true })
    await opening
    spend(host, 1000)
    spent()
    return undefined
  }, open)
  const result = await runtimeOf(backend).run({ task: "Lead.", limits })
  expect(result).toMatchObject({ error: { code: "budget_exceeded" } })
  expect(tasks).toEqual(["Lead."])
})

test("what a program has used is durable before its next call is permitted", async () => {
  const { store, hold } = heldStore()
  const steps: string[] = []
  const backend = programOf(async ({ host }) => {
    await host.beginTurn(1, nothing)
    const held = hold()
    spend(host, 10)
    const permitted = authorize(host).then(() => steps.push("permitted"))
    await held.isWriting
    await new Promise((resolve) => setImmediate(resolve))
    steps.push("written")
    held.release()
    await permitted
    return undefined
  })
  await runtimeOf(backend, { store }).run({ task: "Go.", limits })
  expect(steps).toEqual(["written", "permitted"])
})

test("what a program has used becomes durable at once, although its request is still under way", async () => {
  // Other records wait for a timer.
  vi.useFakeTimers({ toFake: ["setTimeout"] })
  try {
    let isDurable = () => {}
    const durable = new Promise<void>((resolve) => {
      isDurable = resolve
    })
    const backend = programOf(async ({ host }) => {
      await host.beginTurn(1, nothing)
      spend(host, 10)
      await durable
      return undefined
    })
    const onEvent = (event: { readonly type: string }) => void (event.type === "metering" && isDurable())
    const result = await runtimeOf(backend).run({ task: "Go.", limits, onEvent })
    expect(result).toMatchObject({ status: "done", usage: { inputTokens: 10 } })
  } finally {
    vi.useRealTimers()
  }
})

const nothing = () => ({ inputTokens: 0, outputTokens: 0 })

/** A store whose writes wait while it is held. */
function heldStore() {
  const inner = memoryStore()
  let isHeld: Promise<void> | undefined
  let begun = () => {}
  const store: Store = {
    ...inner,
    folder(path) {
      const folder = inner.folder(path)
      const { append } = folder
      if (!append) return folder
      const open: typeof append.open = async (name, first) => {
        const file = await append.open(name, first)
        const write = async (bytes: Uint8Array) => {
          if (isHeld) begun()
          await isHeld
          return file?.write(bytes)
        }
        return file && over(file, { write })
      }
      return { ...folder, append: { ...append, open } }
    },
  }
  const hold = () => {
    let release = () => {}
    isHeld = new Promise((resolve) => {
      release = resolve
    })
    const isWriting = new Promise<void>((resolve) => {
      begun = resolve
    })
    return { release, isWriting }
  }
  return { store, hold }
}

const stops: readonly Stop[] = [
  { reason: "done", text: "Done." },
  { reason: "limit" },
  { reason: "interrupted" },
  { reason: "output-limit" },
  { reason: "refusal" },
  { reason: "suspended" },
  { reason: "failed", failure: { code: "auth", message: "No login.", retryable: false } },
]

test.each(stops.map((stop) => [stop.reason, stop] as const))(
  "a message that a session took and never passed on is recorded once, if the session ends as %s",
  async (_, stop) => {
    const store = memoryStore()
    const backend = programOf(async ({ messages }) => {
      await until(() => messages.length > 0)
      return stop
    })
    const handle = runtimeOf(backend, { store }).stream({ task: "Go.", runId: "r" })
    expect(handle.steer("Mind the tide.")).toBe(true)
    await handle.result
    expect(await steersIn(store)).toEqual(["Mind the tide."])
  },
)

test("a message to a run whose session could not be opened is recorded once", async () => {
  const store = memoryStore()
  const backend = programOf(
    async () => undefined,
    () => Promise.reject(new LonghaulError("auth", "No login.")),
  )
  const handle = runtimeOf(backend, { store }).stream({ task: "Go.", runId: "r" })
  expect(handle.steer("Mind the tide.")).toBe(true)
  expect(await handle.result).toMatchObject({ status: "failed", error: { code: "auth" } })
  expect(await steersIn(store)).toEqual(["Mind the tide."])
})

async function steersIn(store: Store): Promise<readonly string[]> {
  const found: string[] = []
  for await (const record of createRuntime({ store, model: scriptedModel([]) }).events("r")) {
    if (record.type === "steer") found.push(record.text)
  }
  return found
}
