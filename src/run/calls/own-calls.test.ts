import { describe, expect, test } from "vitest"
import { actingBackend } from "../../../test/support/acting-backend.ts"
import type { Permit, TurnHost } from "../../contract/backend.ts"
import type { OwnTool } from "../../contract/capabilities.ts"
import type { ContentPart } from "../../contract/content.ts"
import type { Shell } from "../../contract/env.ts"
import type { RunRecord } from "../../contract/event.ts"
import type { Json } from "../../contract/json.ts"
import type { PolicyService } from "../../contract/policy.ts"
import type { RuntimeConfig } from "../../contract/run.ts"
import { createRuntime } from "../../index.ts"
import type { PolicyHost } from "../../policy/policies.ts"
import { assembleRuntime } from "../../runtime/runtime.ts"
import { memoryStore } from "../../stores/memory.ts"
import { fakeBackend } from "../../testing/fake-backend.ts"
import { bashTool } from "../../tools/bash.ts"

const tool: OwnTool = { name: "Pay", nativeName: "vendor_pay", effect: "once", risk: "low" }
const payment = (callId: string, args: Json = { to: "Ada" }) => ({ callId, name: "Pay", args })

async function run(act: (host: TurnHost) => Promise<void>, config: Partial<RuntimeConfig> = {}, policy?: PolicyHost) {
  const again = () => createRuntime()
  const defaults = { store: memoryStore, backend: () => actingBackend(act), again, ...(policy && { policy }) }
  const runtime = assembleRuntime(config, defaults)
  const result = await runtime.run({ task: "Pay." })
  const records: RunRecord[] = []
  for await (const record of runtime.events(result.runId)) records.push(record)
  return { result, records, types: records.map(({ type }): string => type) }
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
    backend: actingBackend(async (host) => {
      recordCall(host, "1")
      await host.authorize(payment("1"), tool)
      order.push("may run")
    }),
  })
  await runtime.run({ task: "Pay.", onEvent: ({ type }) => type === "tool-intent" && order.push("published intent") })
  expect(order).toEqual(["published intent", "may run"])
})

test("a call beside one that waits for a person does not run, although the rules allow it", async () => {
  const permits: Permit[] = []
  const rules = [{ ask: { tool: "Pay", args: { "/to": "Ann" } }, via: "pause" as const }, { allow: { tool: "Pay" } }]
  await run(
    async (host) => {
      recordCall(host, "1", { to: "Ann" })
      recordCall(host, "2", { to: "Bob" })
      const calls = [payment("1", { to: "Ann" }), payment("2", { to: "Bob" })]
      permits.push(...(await Promise.all(calls.map((call) => host.authorize(call, tool)))))
    },
    { policy: { rules } },
  )
  expect(permits.map(({ kind }) => kind)).toEqual(["suspend", "suspend"])
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
        gateBeforeTool(name) {
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

test("the gate of the host is not asked about a call of a vendor that the policy denies, and cannot allow it", async () => {
  const seen: string[] = []
  let permit: Permit | undefined
  const gateBeforeTool = (name: string) => {
    seen.push(name)
    return { allow: true } as const
  }
  await run(
    async (host) => {
      recordCall(host, "1")
      permit = await host.authorize(payment("1"), tool)
    },
    { policy: { rules: [{ deny: { tool: "*" } }] }, hooks: { gateBeforeTool } },
  )
  expect([permit?.kind, seen]).toEqual(["refuse", []])
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

test.each([
  ["covers the same call that the model repeats", false, "run"],
  ["does not cover a call of which only a summary is known", true, "suspend"],
])("an approval of exact arguments %s", async (_, inexact, expected) => {
  const permits: Permit[] = []
  const acts = [
    async (host: TurnHost) => {
      recordCall(host, "1")
      permits.push(await host.authorize(payment("1"), tool))
    },
    async (host: TurnHost) => {
      recordCall(host, "2")
      permits.push(await host.authorize({ ...payment("2"), ...(inexact && { inexact }) }, tool))
    },
  ]
  const runtime = createRuntime({
    store: memoryStore(),
    backend: actingBackend(async (host) => {
      await acts.shift()?.(host)
      return { reason: "suspended", resumeBy: "replay" }
    }),
    policy: { rules: [{ ask: { tool: "Pay" }, via: "pause" }] },
  })
  expect((await runtime.run({ task: "Pay.", runId: "r" })).status).toBe("paused")
  await runtime.resume({ runId: "r", decision: "approve" })
  expect(permits.map(({ kind }) => kind)).toEqual(["suspend", expected])
})

test("the result of a call that the vendor never asked about reaches no hook", async () => {
  const seen: string[] = []
  const { result } = await run(
    async (host) => {
      recordCall(host, "1")
      host.emit({ type: "tool-result", callId: "1", outcome: { status: "ok", output: [] }, durationMs: 1 })
      await host.endTurn(1)
    },
    { hooks: { postToolCall: ({ name }) => void seen.push(name) } },
  )
  expect([seen, result.warnings]).toEqual([[], []])
})

test("an approved call of a vendor that a service gave a secret does not run in a process without the secret", async () => {
  const written: Json[] = []
  const account = "acct-9f8e7d6c5b4a"
  const store = memoryStore()
  const backend = fakeBackend({
    script: ({ lastToolResults: [result] }) =>
      result ? result.text : { parts: [{ toolCall: { name: "Write", args: { path: "a.txt", content: "" } } }] },
    write: (args) => void written.push(args),
    sessions: new Map(),
  })
  const service: PolicyService = {
    decide: async ({ args }) => ({
      decision: "allow",
      ...(JSON.stringify(args).includes('""') && { args: { path: "a.txt", content: account } }),
    }),
    scan: async () => ({ decision: "allow" }),
  }
  const policy = { services: [service], rules: [{ ask: { tool: "Write" }, via: "pause" }] } as const
  const processWith = (secrets: Readonly<Record<string, string>>) => createRuntime({ store, backend, policy, secrets })
  expect(await processWith({ ACCOUNT: account }).run({ task: "Write it.", runId: "r" })).toMatchObject({
    status: "paused",
    pause: { pendingToolCall: { args: { content: "{{secret:ACCOUNT}}" } } },
  })
  const result = await processWith({}).resume({ runId: "r", decision: "approve" })
  expect(result.toolCalls).toMatchObject([
    { status: "denied", result: expect.stringContaining("a secret that this process does not have") },
  ])
  expect(written).toEqual([])
})

test("a stop while a policy service decides is not recorded as a decision of the service", async () => {
  let stop = () => {}
  const service: PolicyService = {
    decide() {
      stop()
      return new Promise<never>(() => {})
    },
    scan: async () => ({ decision: "allow" }),
  }
  const runtime = createRuntime({
    store: memoryStore(),
    backend: actingBackend(async (host) => {
      recordCall(host, "1")
      await host.authorize(payment("1"), tool)
      return { reason: "interrupted" }
    }),
    policy: { services: [service] },
  })
  const handle = runtime.stream({ task: "Pay.", runId: "r" })
  stop = () => void handle.interrupt("immediate")
  expect((await handle.result).status).toBe("cancelled")
  const records: RunRecord[] = []
  for await (const record of runtime.events("r")) records.push(record)
  expect(records.filter(({ type }) => type === "policy-decision")).toEqual([])
})

test("the approval of a vendor's call without an effect is used up by it", async () => {
  const asked: string[] = []
  const search: OwnTool = { ...tool, effect: "none" }
  await run(
    async (host) => {
      for (const callId of ["1", "2"]) {
        recordCall(host, callId)
        await host.authorize(payment(callId), search)
      }
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
  expect(asked).toEqual(["1", "2"])
})

test.each(["graceful", "immediate"] as const)(
  "a vendor's call does not begin once the run is being stopped: %s",
  async (mode) => {
    let stop = () => {}
    let permit: Permit | undefined
    const runtime = createRuntime({
      store: memoryStore(),
      backend: actingBackend(async (host) => {
        recordCall(host, "1")
        permit = await host.authorize(payment("1"), tool)
        return { reason: "interrupted" }
      }),
      hooks: {
        gateBeforeTool() {
          stop()
          return { allow: true }
        },
      },
    })
    const handle = runtime.stream({ task: "Pay." })
    stop = () => void handle.interrupt(mode)
    expect((await handle.result).status).toBe("cancelled")
    expect(permit).toMatchObject({ kind: "refuse", reason: expect.stringContaining("being stopped") })
  },
)

test.each([
  ["one text", ["x".repeat(300_000)]],
  ["one text of wide characters", ["\u{1f411}".repeat(90_000)]],
  ["many texts", Array.from({ length: 50 }, () => "x".repeat(6_000))],
])("the journal keeps 100,000 characters and 256 KB of a vendor's result of %s", async (_, texts) => {
  const kept = await recorded(texts.map((text) => ({ type: "text", text })))
  const whole = kept.map((part) => (part.type === "text" ? part.text : "")).join("")
  expect(whole).toMatch(/\n\[cut: \d+ bytes omitted\]$/)
  expect(whole.length).toBeLessThanOrEqual(100_000)
  expect(whole.length).toBeGreaterThan(60_000)
  expect(new TextEncoder().encode(whole).length).toBeLessThanOrEqual(256 * 1024)
})

test("the journal keeps as many images of a vendor's result as of other results, and none that providers reject", async () => {
  const large = `iVBORw0KGgo${"A".repeat(4_000_000 - 11)}`
  const images = ["bm8gaW1hZ2U=", large, large, large]
  const kept = await recorded(images.map((data) => ({ type: "image", mediaType: "image/png", data })))
  expect(kept.map(({ type }) => type)).toEqual(["text", "image", "image", "text"])
})

/** What the journal has of a vendor's result. */
async function recorded(output: readonly ContentPart[]): Promise<readonly ContentPart[]> {
  const { records } = await run(async (host) => {
    recordCall(host, "1")
    await host.authorize(payment("1"), tool)
    host.emit({ type: "tool-result", callId: "1", outcome: { status: "ok", output }, durationMs: 1 })
  })
  return records.flatMap((record) => (record.type === "tool-result" ? record.outcome.output : []))
}

test("a link that is made while a person is asked refuses the call of a vendor", async () => {
  const read: OwnTool = { name: "Read", nativeName: "vendor_read", effect: "none", risk: "low" }
  let target = "/ws/plain"
  const resolvePath = async (path: string) => path.replace(/^\/ws\/x(?=\/|$)/, target)
  const onAsk = () => {
    target = "/ws/secrets"
    return { decision: "approve" } as const
  }
  for (const refusal of [{ deny: { path: "secrets/**" } }, { ask: { read: "secrets/**" } }]) {
    target = "/ws/plain"
    let permit: Permit | undefined
    const call = { callId: "1", name: "Read", args: { path: "x/key" } }
    const act = async (host: TurnHost) => {
      host.emit({ type: "tool-call", turn: 1, ...call, executor: "backend" })
      permit = await host.authorize(call, read)
    }
    const policy = { default: "allow", rules: [{ ask: { read: "plain/**" } }, refusal], onAsk } as const
    const { result } = await run(act, { workspace: "/ws", policy }, { resolvePath })
    expect(permit).toMatchObject({ kind: "refuse" })
    expect(result.toolCalls).toMatchObject([{ status: "denied" }])
  }
})

test.each([
  ["Read", { path: "/etc/passwd" }, "is outside the workspace"],
  ["Read", { path: "../other/key" }, "is outside the workspace"],
  ["Write", { path: "/tmp/x", content: "" }, "is outside the workspace"],
  ["Grep", { pattern: "key", path: "/" }, "is outside the workspace"],
  ["Write", { path: ".longhaul/config.json", content: "" }, "governs runs"],
])("%s of a vendor with %j is refused although the policy allows everything", async (name, args, reason) => {
  let permit: Permit | undefined
  const call = { callId: "1", name, args }
  await run(
    async (host) => {
      host.emit({ type: "tool-call", turn: 1, ...call, executor: "backend" })
      permit = await host.authorize(call, { name, nativeName: name, effect: "once", risk: "low" })
    },
    { workspace: "/project", policy: { mode: "auto", rules: [{ allow: { tool: "*" } }] } },
  )
  expect(permit).toEqual({ kind: "refuse", reason: expect.stringContaining(reason) })
})

test("words of a person instead of an approval refuse the call of a vendor, and the model gets them", async () => {
  let permit: Permit | undefined
  const { types, result } = await run(
    async (host) => {
      recordCall(host, "1")
      permit = await host.authorize(payment("1"), tool)
    },
    {
      policy: {
        rules: [{ ask: { tool: "Pay" } }],
        onAsk: () => ({ decision: "answer", text: "Pay Bob instead." }),
      },
    },
  )
  expect(permit).toEqual({ kind: "refuse", reason: expect.stringContaining("Pay Bob instead.") })
  expect(types).not.toContain("tool-intent")
  expect(result.toolCalls).toMatchObject([{ status: "denied" }])
})

test("words of a person after a pause refuse the call of a vendor: its model is not told that it was approved", async () => {
  const runtime = createRuntime({
    store: memoryStore(),
    backend: actingBackend(async (host) => {
      recordCall(host, "1")
      await host.authorize(payment("1"), tool)
      return { reason: "suspended", resumeBy: "replay" }
    }),
    policy: { rules: [{ ask: { tool: "Pay" }, via: "pause" }] },
  })
  await runtime.run({ task: "Pay.", runId: "r" })
  const result = await runtime.resume({ runId: "r", answer: "Pay Bob instead." })
  expect(result.toolCalls[0]).toMatchObject({ status: "denied", result: expect.stringContaining("Pay Bob instead.") })
})

test("a vendor that presents a denied call again is refused with the same reason, and nobody is asked again", async () => {
  const permits: Permit[] = []
  let asked = 0
  await run(
    async (host) => {
      recordCall(host, "1")
      permits.push(await host.authorize(payment("1"), tool))
      permits.push(await host.authorize(payment("1"), tool))
    },
    {
      policy: {
        rules: [{ ask: { tool: "Pay" } }],
        onAsk() {
          asked++
          return { decision: "deny", reason: "too much" }
        },
      },
    },
  )
  expect(permits).toEqual([permits[0], permits[0]])
  expect([permits[0]?.kind, asked]).toEqual(["refuse", 1])
})

describe("a command that the backend runs itself is in no sandbox of the runtime", () => {
  const bash: OwnTool = { name: "Bash", nativeName: "shell", effect: "once", risk: "high" }
  const unused = async () => Promise.reject(new Error("unused"))
  const shell: Shell = {
    isSandboxRequired: true,
    hidesRefused: true,
    containment: "sandbox",
    ...{ run: unused, start: unused, poll: unused, stop: unused, close: unused },
  }
  const policy = { extends: "autonomous", rules: [{ deny: { path: "secrets/**" } }], ask: "pause" } as const
  const host: PolicyHost = { resolvePath: async (path) => path }

  test.each(
    ["ls; [[ a ]]", "grep -r X .", "cat $F"].flatMap(
      (line) =>
        [
          [line, []],
          [line, [bashTool()]],
        ] as const,
    ),
  )("%s does not run unasked, whatever tools the runtime has", async (command, tools) => {
    const permits: Permit[] = []
    const config = { tools: [...tools], env: { shell }, policy }
    await run(
      async (acting) => {
        const call = { callId: "1", name: "Bash", args: { command } }
        acting.emit({ type: "tool-call", turn: 1, ...call, executor: "backend" })
        permits.push(await acting.authorize(call, bash))
      },
      config,
      host,
    )
    expect(permits).toMatchObject([{ kind: "suspend" }])
  })
})
