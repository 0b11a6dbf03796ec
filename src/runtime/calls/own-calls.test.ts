import { expect, test } from "vitest"
import type { Backend, Permit, TurnHost } from "../../contract/backend.ts"
import type { OwnTool } from "../../contract/capabilities.ts"
import type { Json } from "../../contract/json.ts"
import type { RuntimeConfig } from "../../contract/run.ts"
import { createRuntime } from "../../index.ts"
import { memoryStore } from "../../stores/memory.ts"
import { fakeBackend } from "../../testing/fake-backend.ts"

const tool: OwnTool = { name: "Pay", nativeName: "vendor_pay", effect: "once", risk: "low" }
const payment = (callId: string, args: Json = { to: "Ada" }) => ({ callId, name: "Pay", args })

/** A backend whose session does what the test says with its host. */
function acting(act: (host: TurnHost) => Promise<void>): Backend {
  const base = fakeBackend({ script: () => "" })
  return {
    ...base,
    async open(request, env) {
      const session = await base.open(request, env)
      return {
        ref: session.ref,
        steer: () => false,
        interrupt: () => {},
        close: async () => {},
        async run(_, host) {
          await host.beginTurn(1, () => ({ inputTokens: 0, outputTokens: 0 }))
          await act(host)
          return { reason: "done", text: "" }
        },
      }
    },
  }
}

async function run(act: (host: TurnHost) => Promise<void>, config: Partial<RuntimeConfig> = {}) {
  const runtime = createRuntime({ store: memoryStore(), backend: acting(act), ...config })
  const result = await runtime.run({ task: "Pay." })
  const types: string[] = []
  for await (const record of runtime.events(result.runId)) types.push(record.type)
  return { result, types }
}

const recordCall = (host: TurnHost, callId: string, args: Json = { to: "Ada" }) =>
  host.emit({ type: "tool-call", turn: 1, ...payment(callId, args), executor: "backend" })

test("a call that is not recorded is refused", async () => {
  let permit: Permit | undefined
  const { types } = await run(async (host) => {
    permit = await host.authorize(payment("1"), tool)
  })
  expect(permit).toEqual({ kind: "refuse", reason: "Pay was not started: its call is not recorded." })
  expect(types).not.toContain("tool-intent")
})

test("a call that was begun or settled before is refused, however often the vendor presents it", async () => {
  const permits: Permit[] = []
  const { types, result } = await run(async (host) => {
    recordCall(host, "1")
    permits.push(await host.authorize(payment("1"), tool))
    permits.push(await host.authorize(payment("1"), tool))
    host.emit({ type: "tool-result", callId: "1", outcome: { status: "ok", output: [] }, durationMs: 1 })
    permits.push(await host.authorize(payment("1"), tool))
    host.emit({ type: "tool-result", callId: "1", outcome: { status: "error", output: [] }, durationMs: 1 })
  })
  expect(permits.map(({ kind }) => kind)).toEqual(["run", "refuse", "refuse"])
  expect(types.filter((type) => type === "tool-intent" || type === "tool-result")).toEqual([
    "tool-intent",
    "tool-result",
  ])
  expect(result.toolCalls).toMatchObject([{ status: "ok" }])
})

test("the same id with other arguments is refused after the first", async () => {
  const permits: Permit[] = []
  await run(async (host) => {
    recordCall(host, "1")
    permits.push(await host.authorize(payment("1"), tool))
    permits.push(await host.authorize(payment("1", { to: "Mallory" }), tool))
  })
  expect(permits.map(({ kind }) => kind)).toEqual(["run", "refuse"])
})

test("the intent is durable before the call may run", async () => {
  const order: string[] = []
  const store = memoryStore()
  const runtime = createRuntime({
    store,
    backend: acting(async (host) => {
      recordCall(host, "1")
      await host.authorize(payment("1"), tool)
      order.push("may run")
    }),
  })
  await runtime.run({ task: "Pay.", onEvent: ({ type }) => type === "tool-intent" && order.push("published intent") })
  expect(order).toEqual(["published intent", "may run"])
})

test("two calls of one step that both need a person: the first asks, the second is suspended without a question", async () => {
  const permits: Permit[] = []
  const rules = [{ ask: { tool: "Pay" }, via: "pause" as const }]
  const { types } = await run(
    async (host) => {
      recordCall(host, "1")
      recordCall(host, "2", { to: "Bob" })
      permits.push(
        ...(await Promise.all([payment("1"), payment("2", { to: "Bob" })].map((call) => host.authorize(call, tool)))),
      )
    },
    { policy: { rules } },
  )
  expect(permits.map(({ kind }) => kind)).toEqual(["suspend", "suspend"])
  expect(types.filter((type) => type === "approval-request")).toHaveLength(1)
})

test("hooks and the gate of the host see the calls of a vendor", async () => {
  const seen: string[] = []
  await run(
    async (host) => {
      recordCall(host, "1")
      await host.authorize(payment("1"), tool)
      host.emit({ type: "tool-result", callId: "1", outcome: { status: "ok", output: [] }, durationMs: 1 })
      await host.endTurn(1)
    },
    {
      hooks: {
        gateBeforeTool({ name }) {
          seen.push(`gate ${name}`)
          return { allow: true }
        },
        preToolCall: ({ name }) => void seen.push(`before ${name}`),
        postToolCall: ({ name }, { status }) => void seen.push(`after ${name} ${status}`),
      },
    },
  )
  expect(seen).toEqual(["gate Pay", "before Pay", "after Pay ok"])
})

test("a gate that fails refuses the call of a vendor", async () => {
  let permit: Permit | undefined
  await run(
    async (host) => {
      recordCall(host, "1")
      permit = await host.authorize(payment("1"), tool)
    },
    {
      hooks: {
        gateBeforeTool() {
          throw new Error("no")
        },
      },
    },
  )
  expect(permit).toMatchObject({ kind: "refuse" })
})

test("an approval of exact arguments does not cover a call of which only a summary is known", async () => {
  const permits: Permit[] = []
  const asked: string[] = []
  await run(
    async (host) => {
      recordCall(host, "1")
      permits.push(await host.authorize(payment("1"), tool))
      recordCall(host, "2")
      permits.push(await host.authorize({ ...payment("2"), inexact: true }, tool))
    },
    {
      policy: {
        rules: [{ ask: { tool: "Pay" } }],
        onAsk({ callId }) {
          asked.push(callId)
          return { decision: "approve" }
        },
      },
    },
  )
  expect(permits.map(({ kind }) => kind)).toEqual(["run", "run"])
  expect(asked).toEqual(["1", "2"])
})
