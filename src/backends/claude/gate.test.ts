import { expect, test } from "vitest"
import type { Permit, Suspended, TurnHost } from "../../contract/backend.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import { Steps } from "../shared/steps.ts"
import { ClaudeGate, type DeferredCall } from "./gate.ts"
import { ToolNames } from "./tools.ts"
import type { ClaudeQuestion } from "./wire.ts"

interface Answers {
  authorize?(): Promise<Permit>
  callTool?(): Promise<ToolOutcome | Suspended>
}

function scene({ authorize, callTool }: Answers) {
  const emitted: { readonly type: string; readonly callId?: string }[] = []
  const suspensions: DeferredCall[] = []
  // Safe: the gate uses nothing else of a host.
  const host = {
    emit(event: { readonly type: string }) {
      emitted.push(event)
      return event
    },
    authorize: authorize ?? (async () => ({ kind: "refuse", reason: "not asked for" })),
    callTool: callTool ?? (async () => ({ status: "suspended" })),
  } as unknown as TurnHost
  const tools = [{ name: "send", description: "", inputSchema: {} }]
  const gate = new ClaudeGate({
    host,
    steps: new Steps(host, 0, "m"),
    names: new ToolNames(tools, [], true),
    onSuspend: (suspension) => suspensions.push(suspension),
  })
  return { gate, emitted, suspensions }
}

const call: ClaudeQuestion = { callId: "c1", name: "Bash", args: { command: "ls" }, nested: false }
const runs = { authorize: async () => ({ kind: "run", args: { command: "ls" } }) as const }
const suspends = { authorize: async () => ({ kind: "suspend", reason: "" }) as const }
const denied = expect.objectContaining({ kind: "deny" })

test("the permission callback refuses a call that the hook never saw", async () => {
  const { gate } = scene(runs)
  expect(await gate.permit(call)).toEqual(denied)
})

test("the permission callback refuses other arguments than the decided ones", async () => {
  const { gate } = scene(runs)
  expect(await gate.hook(call)).toEqual({ kind: "ask", args: { command: "ls" } })
  expect(await gate.permit({ ...call, args: { command: "rm -r ." } })).toEqual(denied)
  expect(await gate.permit(call)).toEqual({ kind: "allow", args: { command: "ls" } })
})

test("the permission callback refuses another tool under the id of a decided call", async () => {
  const { gate } = scene(runs)
  await gate.hook(call)
  expect(await gate.permit({ ...call, name: "Write" })).toEqual(denied)
})

test("the permission callback waits for the decision of the hook", async () => {
  let decide: (permit: Permit) => void = () => {}
  const { gate } = scene({ authorize: () => new Promise((resolve) => (decide = resolve)) })
  const hooked = gate.hook(call)
  const permitted = gate.permit(call)
  decide({ kind: "refuse", reason: "no" })
  expect(await permitted).toEqual({ kind: "deny", reason: "no" })
  expect(await hooked).toEqual({ kind: "deny", reason: "no" })
})

test("a call is decided once, however often its hook is asked", async () => {
  let asked = 0
  const { gate, emitted } = scene({
    async authorize() {
      asked++
      return { kind: "run", args: { command: "ls" } }
    },
  })
  await Promise.all([gate.hook(call), gate.hook(call)])
  expect(asked).toBe(1)
  expect(emitted.filter(({ type }) => type === "tool-call")).toHaveLength(1)
})

test("an id that is used again for another call is decided again", async () => {
  const asked: unknown[] = []
  const { gate } = scene({
    async authorize(...[asks]: unknown[]) {
      asked.push(asks)
      return asked.length === 1 ? { kind: "run", args: { command: "ls" } } : { kind: "refuse", reason: "begun before" }
    },
  })
  await gate.hook(call)
  expect(await gate.hook({ ...call, args: { command: "rm -r ." } })).toEqual({ kind: "deny", reason: "begun before" })
})

test("a call is recorded before it is authorized", async () => {
  const order: string[] = []
  const { gate, emitted } = scene({
    async authorize() {
      order.push(...emitted.map(({ type }) => type), "authorize")
      return { kind: "refuse", reason: "no" }
    },
  })
  await gate.hook(call)
  expect(order).toEqual(["tool-call", "authorize"])
})

test("of two calls that need a person the first is put off, and the second is refused and recorded as denied", async () => {
  const { gate, emitted, suspensions } = scene(suspends)
  expect(await gate.hook(call)).toEqual({ kind: "defer" })
  expect(await gate.permit(call)).toEqual(denied)
  expect(await gate.hook({ ...call, callId: "c2" })).toEqual(denied)
  expect(suspensions).toEqual([{ callId: "c1", isDeferred: true }])
  expect(emitted).toContainEqual(
    expect.objectContaining({
      type: "tool-result",
      callId: "c2",
      outcome: expect.objectContaining({ status: "denied" }),
    }),
  )
})

test("a call of a subagent that needs a person is refused, and the work has to stop", async () => {
  const { gate, suspensions } = scene(suspends)
  expect(await gate.hook({ ...call, nested: true })).toEqual(denied)
  expect(suspensions).toEqual([{ callId: "c1", isDeferred: false }])
})

test("the outcome of a runtime's tool is handed out once, and only to the call that was allowed", async () => {
  const outcome: ToolOutcome = { status: "ok", output: [{ type: "text", text: "sent" }] }
  const { gate } = scene({ callTool: async () => outcome })
  const ours = { ...call, name: "mcp__longhaul__send" }
  expect(gate.outcomeOf("c1").status).toBe("denied")
  expect(await gate.hook(ours)).toEqual({ kind: "ask", args: ours.args })
  expect(gate.outcomeOf("c2").status).toBe("denied")
  expect(gate.outcomeOf("c1")).toBe(outcome)
  expect(gate.outcomeOf("c1").status).toBe("denied")
})

test("a tool of another server that is named like the bridge is not taken for the runtime's", () => {
  const names = new ToolNames([{ name: "send", description: "", inputSchema: {} }], ["longhaul"], false)
  expect(names.bridge).toBe("longhaul_")
  expect(names.ours("mcp__longhaul__send")).toBeUndefined()
  expect(names.own("mcp__longhaul__send", "longhaul").name).toBe("mcp:longhaul/send")
})

test("the output tool is an ordinary call where no schema was requested", () => {
  expect(new ToolNames([], [], false).isOutput("StructuredOutput")).toBe(false)
})

test("a call counts as rejected by the program only if nobody was asked about it and it has not succeeded", async () => {
  const { gate } = scene(runs)
  await gate.hook(call)
  const ownError = [{ type: "text", text: "<tool_use_error>No such tool.</tool_use_error>" }] as const
  expect(gate.isRejected("c2", { status: "error", output: ownError }, false)).toBe(true)
  expect(gate.isRejected("c2", { status: "error", output: [] }, true)).toBe(true)
  expect(gate.isRejected("c2", { status: "ok", output: ownError }, true)).toBe(false)
  expect(gate.isRejected("c1", { status: "error", output: ownError }, true)).toBe(false)
})
