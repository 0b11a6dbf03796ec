import { expect, test } from "vitest"
import type { Permit, TurnHost, TurnInput } from "../../contract/backend.ts"
import type { ContentPart } from "../../contract/content.ts"
import type { Json } from "../../contract/json.ts"
import { noUsage } from "../../lib/usage.ts"
import { Inbox } from "./inbox.ts"
import { ClaudeRun, type EarlyControls, type SessionFacts } from "./run.ts"
import { ToolNames } from "./tools.ts"
import type { ClaudeProgram, Delivery, HookAnswer } from "./wire.ts"

interface Setting {
  readonly facts?: Partial<SessionFacts>
  readonly early?: EarlyControls
  readonly permit?: Permit | "rejects"
}

function scene({
  facts = {},
  early = { mode: undefined, texts: [] },
  permit = { kind: "refuse", reason: "" },
}: Setting = {}) {
  const inbox = new Inbox<Delivery>()
  const sent: string[] = []
  const emitted: { readonly type: string; readonly text?: string }[] = []
  const calls: string[] = []
  let end: (how: string) => void = () => {}
  const program: ClaudeProgram = {
    version: "1",
    next: () => inbox.next(),
    async send(content: readonly ContentPart[]) {
      sent.push(content.map((part) => (part.type === "text" ? part.text : part.type)).join(" "))
    },
    async interrupt() {
      calls.push("interrupt")
    },
    usage: async () => undefined,
    ended: new Promise((resolve) => (end = resolve)),
    async close() {},
    async kill() {
      calls.push("kill")
      inbox.end()
      end("killed")
    },
  }
  // Safe: a run uses nothing else of a host.
  const host = {
    deltas: false,
    alive() {},
    emit(event: { readonly type: string }) {
      emitted.push(event)
      return event
    },
    beginTurn: async () => true,
    endTurn: async () => true,
    review: async () => undefined,
    authorize: async () => {
      if (permit === "rejects") throw new Error("lost")
      return permit
    },
  } as unknown as TurnHost
  const run = new ClaudeRun({
    ...{ program, host, early, turns: 0, model: "m", isLimited: false, stopMs: 1, brief: "" },
    names: new ToolNames([], [], false),
    facts: { counted: noUsage, ...facts },
    callId: (wireId) => wireId,
    stored: () => ({
      type: "session",
      ref: { backend: "b", version: "1", id: "s", cwd: ".", resumable: true },
    }),
  })
  const exit = (how: string) => {
    inbox.end()
    end(how)
  }
  const tell = (message: Json) => inbox.push({ kind: "message", message })
  const ask = (callId: string) =>
    new Promise<HookAnswer>((answer) => {
      inbox.push({ kind: "hook", question: { callId, name: "Bash", args: {}, nested: false }, answer })
    })
  return { run, inbox, sent, emitted, calls, tell, ask, exit }
}

const prompt: TurnInput = { kind: "prompt", content: [{ type: "text", text: "Do it." }] }
const done = { type: "result", subtype: "success", is_error: false, result: "Done.", terminal_reason: "completed" }
const call = { callId: "c1", name: "Bash", args: {} }

test("a result ends the run with its text", async () => {
  const { run, sent, tell } = scene()
  tell(done)
  expect(await run.run(prompt)).toEqual({ reason: "done", text: "Done." })
  expect(sent).toEqual(["Do it."])
})

test("a program that ends without a result is a crash", async () => {
  const { run, exit } = scene()
  exit("exit 1, out of memory")
  expect(await run.run(prompt)).toMatchObject({
    reason: "failed",
    failure: { code: "backend_crashed", message: expect.stringContaining("out of memory") },
  })
})

test("a run that was interrupted before it began sends nothing, and keeps the messages of people", async () => {
  const { run, sent, emitted } = scene({ early: { mode: "graceful", texts: ["Mind the tide."] } })
  expect(await run.run(prompt)).toEqual({ reason: "interrupted" })
  expect(sent).toEqual([])
  expect(emitted).toEqual([{ type: "steer", text: "Mind the tide." }])
})

test("a message that came before the run began is sent after the prompt", async () => {
  const { run, sent, tell, exit } = scene({ early: { mode: undefined, texts: ["Mind the tide."] } })
  tell({ ...done, queued_turn_count: 1 })
  exit("exit 0")
  await run.run(prompt)
  expect(sent).toEqual(["Do it.", "Mind the tide."])
})

test("a program that does not stop on an interrupt is killed", async () => {
  const { run, calls } = scene()
  const stop = run.run(prompt)
  run.interrupt("immediate")
  expect(await stop).toEqual({ reason: "interrupted" })
  expect(calls).toEqual(["interrupt", "kill"])
})

test("a graceful interrupt waits for the next request to the model", async () => {
  const { run, calls, tell } = scene()
  const stop = run.run(prompt)
  run.interrupt("graceful")
  expect(calls).toEqual([])
  tell({ type: "system", subtype: "status", status: "requesting" })
  expect(await stop).toEqual({ reason: "interrupted" })
  expect(calls[0]).toBe("interrupt")
})

test("a message for a resumed session waits until its pending call is answered", async () => {
  const { run, sent, tell, ask } = scene({ facts: { deferred: "c1" } })
  const answers = [{ kind: "replay", call }] as const
  const stop = run.run({ kind: "continue", answers, content: [{ type: "text", text: "Hurry." }] })
  run.steer("Mind the tide.")
  expect(sent).toEqual([])
  await ask("c1")
  expect(sent).toEqual(["Hurry.", "Mind the tide."])
  tell({ ...done, user_message_uuids: [], queued_turn_count: 0 })
  run.interrupt("immediate")
  await stop
})

test("calls that the program does not present again are told to the model", async () => {
  const { run, sent, tell } = scene()
  tell(done)
  const outcome = { status: "ok", output: [{ type: "text", text: "sent" }] } as const
  const answers = [
    { kind: "outcome", call, outcome },
    { kind: "repeat", call: { ...call, callId: "c2" } },
  ] as const
  await run.run({ kind: "continue", answers })
  expect(sent[0]).toMatch(/has ended \(ok\).*sent.*Call it again/s)
})

test("a session without anything to say goes on", async () => {
  const { run, sent, tell } = scene()
  tell(done)
  await run.run({ kind: "continue", answers: [] })
  expect(sent).toEqual(["Go on."])
})

test("a call that was put off suspends the run, to be replayed", async () => {
  const { run, tell, ask } = scene({ permit: { kind: "suspend", reason: "" } })
  const stop = run.run(prompt)
  expect(await ask("c1")).toEqual({ kind: "defer" })
  tell({ ...done, deferred_tool_use: { id: "c1" } })
  expect(await stop).toEqual({ reason: "suspended", resumeBy: "replay" })
})

test("a call that the program did not put off has to be repeated", async () => {
  const { run, tell, ask } = scene({ permit: { kind: "suspend", reason: "" } })
  const stop = run.run(prompt)
  await ask("c1")
  tell(done)
  expect(await stop).toEqual({ reason: "suspended", resumeBy: "repeat" })
})

test("a program that would go on with a queued message after it put a call off is killed", async () => {
  const { run, tell, ask, calls } = scene({ permit: { kind: "suspend", reason: "" } })
  const stop = run.run(prompt)
  await ask("c1")
  tell({ ...done, deferred_tool_use: { id: "c1" }, queued_turn_count: 1 })
  expect(await stop).toMatchObject({ resumeBy: "replay" })
  expect(calls).toEqual(["kill"])
})

test("a message that comes while a call waits for a person is not sent, but recorded", async () => {
  const { run, tell, ask, sent, emitted } = scene({ permit: { kind: "suspend", reason: "" } })
  const stop = run.run(prompt)
  await ask("c1")
  expect(run.steer("Mind the tide.")).toBe(true)
  tell({ ...done, deferred_tool_use: { id: "c1" } })
  await stop
  expect(sent).toEqual(["Do it."])
  expect(emitted).toContainEqual({ type: "steer", text: "Mind the tide." })
  expect(run.steer("Too late.")).toBe(false)
})

test("a decision that fails refuses the call", async () => {
  const { run, tell, ask } = scene({ permit: "rejects" })
  const stop = run.run(prompt)
  expect(await ask("c1")).toMatchObject({ kind: "deny" })
  tell(done)
  await stop
})
