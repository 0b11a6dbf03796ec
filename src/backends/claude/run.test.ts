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
  /** What the program answers after each answer of its model, if the run has a limit. */
  readonly usage?: Json
  /** The host wants no further turn. */
  readonly isEnough?: boolean
  /** The run has no turn left. */
  readonly isOver?: boolean
  /** The last turn that the run may have. */
  readonly lastTurn?: number
  /** The program has a tool for structured output. */
  readonly isStructured?: boolean
  /** The host's check of an answer. */
  readonly review?: () => Promise<string | undefined>
}

function scene({
  facts = {},
  early = { mode: undefined, messages: [] },
  permit = { kind: "refuse", reason: "" },
  usage,
  isEnough = false,
  isOver = false,
  lastTurn = 9,
  isStructured = false,
  review = async () => (isEnough ? "Better." : undefined),
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
    usage: async () => usage,
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
    beginTurn: async () => (isOver ? { reason: "limit" } : undefined),
    endTurn: async () => (isEnough ? { reason: "ended" } : undefined),
    review,
    authorize: async () => {
      if (permit === "rejects") throw new Error("lost")
      return permit
    },
  } as unknown as TurnHost
  const run = new ClaudeRun({
    ...{
      program,
      host,
      early,
      turns: 0,
      lastTurn,
      model: "m",
      isLimited: usage !== undefined,
      stopMs: 1,
      brief: "",
    },
    names: new ToolNames([], [], isStructured),
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

test("a run that was interrupted before it began sends nothing, and leaves the messages of people to the runtime", async () => {
  const { run, sent, emitted } = scene({ early: { mode: "graceful", messages: [{ id: "1", text: "Mind the tide." }] } })
  expect(await run.run(prompt)).toEqual({ reason: "interrupted" })
  expect(sent).toEqual([])
  expect(emitted).toEqual([])
})

test("a message that came before the run began is sent after the prompt", async () => {
  const { run, sent, tell, exit } = scene({
    early: { mode: undefined, messages: [{ id: "1", text: "Mind the tide." }] },
  })
  tell({ ...done, queued_turn_count: 1 })
  exit("exit 0")
  await run.run(prompt)
  expect(sent).toEqual(["Do it.", "Mind the tide."])
})

test("a run goes on after a result if the program has another message to answer", async () => {
  const { run, tell } = scene()
  tell({ ...done, result: "Too early.", queued_turn_count: 1 })
  tell({ ...done, result: "With the tide.", queued_turn_count: 0 })
  expect(await run.run(prompt)).toEqual({ reason: "done", text: "With the tide." })
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
  run.steer({ id: "1", text: "Mind the tide." })
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

test("a message that comes while a call waits for a person is not sent, and left to the runtime", async () => {
  const { run, tell, ask, sent, emitted } = scene({ permit: { kind: "suspend", reason: "" } })
  const stop = run.run(prompt)
  await ask("c1")
  expect(run.steer({ id: "1", text: "Mind the tide." })).toBe(true)
  tell({ ...done, deferred_tool_use: { id: "c1" } })
  await stop
  expect(sent).toEqual(["Do it."])
  expect(emitted).not.toContainEqual(expect.objectContaining({ type: "steer" }))
  expect(run.steer({ id: "2", text: "Too late." })).toBe(false)
})

test("a decision that fails refuses the call", async () => {
  const { run, tell, ask } = scene({ permit: "rejects" })
  const stop = run.run(prompt)
  expect(await ask("c1")).toMatchObject({ kind: "deny" })
  tell(done)
  await stop
})

test("a crash records the tokens of answers that no total contains, as far as the program has told them", async () => {
  const { run, emitted, tell, exit } = scene()
  const stop = run.run({ kind: "prompt", content: [{ type: "text", text: "Go." }] })
  const stream = (event: Json) => tell({ type: "stream_event", event })
  const message = { id: "a", model: "m", usage: { input_tokens: 900, cache_read_input_tokens: 50, output_tokens: 1 } }
  stream({ type: "message_start", message })
  stream({ type: "message_delta", usage: { output_tokens: 70 } })
  exit("exit 1")
  expect(await stop).toMatchObject({ reason: "failed" })
  const usage = { inputTokens: 900, outputTokens: 70, cacheReadTokens: 50, cacheWriteTokens: 0, costUsd: null }
  expect(emitted.filter(({ type }) => type === "metering")).toEqual([{ type: "metering", usage, model: "m" }])
})

test("a program that answers without usage leaves the tokens of its answers as its messages tell them", async () => {
  const { run, emitted, tell, exit } = scene({ usage: { session: {} } })
  const stop = run.run({ kind: "prompt", content: [{ type: "text", text: "Go." }] })
  const message = (id: string) => ({ id, model: "m", usage: { input_tokens: 900, output_tokens: 70 } })
  for (const id of ["a", "b"]) {
    tell({ type: "stream_event", event: { type: "message_start", message: message(id) } })
    tell({ type: "assistant", message: { ...message(id), content: [{ type: "text", text: "Hm." }] } })
    tell({ type: "stream_event", event: { type: "message_stop" } })
  }
  exit("exit 1")
  await stop
  const usage = { inputTokens: 900, outputTokens: 70 }
  expect(emitted.filter(({ type }) => type === "metering")).toMatchObject([{ usage }, { usage }])
})

const began = { type: "stream_event", event: { type: "message_start", message: { id: "m1", model: "m" } } }
const called = {
  type: "assistant",
  message: { id: "m1", model: "m", content: [{ type: "tool_use", id: "c1", name: "Bash", input: {} }] },
}
const result = (text: string, isError: boolean) => ({
  type: "user",
  message: { content: [{ type: "tool_result", tool_use_id: "c1", is_error: isError, content: text }] },
})
const interruptedEnd = { ...done, is_error: true, subtype: "error_during_execution", terminal_reason: "aborted_tools" }

test("a call with an effect that is interrupted while it runs has an unknown outcome", async () => {
  const { run, emitted, tell, ask } = scene({ permit: { kind: "run", args: {} } })
  tell(began)
  tell(called)
  const running = run.run(prompt)
  expect(await ask("c1")).toMatchObject({ kind: "ask" })
  run.interrupt("immediate")
  tell(result("[Request interrupted by user]", true))
  tell(interruptedEnd)
  expect(await running).toEqual({ reason: "interrupted" })
  expect(emitted.filter(({ type }) => type === "tool-result")).toMatchObject([{ outcome: { status: "unknown" } }])
})

test("a call after the limit of the run is refused, and the program is stopped", async () => {
  const { run, calls, tell, ask, exit } = scene({ permit: { kind: "run", args: {} }, isOver: true })
  tell(began)
  const running = run.run(prompt)
  expect(await ask("c1")).toMatchObject({ kind: "deny" })
  exit("stopped")
  expect(await running).toEqual({ reason: "limit" })
  expect(calls).toContain("interrupt")
})

test.each([
  ["succeeds has run: its result is recorded as it is", "done", false, "ok"],
  ["fails has not run", "no", true, "denied"],
])("a refused call that %s", async (_, text, isError, status) => {
  const { run, emitted, tell, ask } = scene()
  tell(began)
  tell(called)
  const running = run.run(prompt)
  await ask("c1")
  tell(result(text, isError))
  tell(done)
  await running
  expect(emitted.filter(({ type }) => type === "tool-result")).toMatchObject([{ outcome: { status } }])
})

test.each([
  ["does not accept: it is rejected", "<tool_use_error>InputValidationError: x</tool_use_error>", true],
  ["ran: it is not rejected", "Exit code 1", undefined],
])("a failed call that nobody was asked about, and that the program %s", async (_, text, rejected) => {
  const { run, emitted, tell } = scene()
  tell(began)
  tell(called)
  tell(result(text, true))
  tell(done)
  await run.run(prompt)
  const [recorded] = emitted.filter(({ type }) => type === "tool-result")
  expect(recorded).toMatchObject({ outcome: { status: "error" } })
  expect(recorded && "rejected" in recorded ? recorded.rejected : undefined).toBe(rejected)
})

test.each([null, "busy", [], {}])("a program that tells %j as its usage goes on without that figure", async (usage) => {
  const { run, tell } = scene({ usage })
  tell(began)
  tell({ type: "stream_event", event: { type: "message_stop" } })
  tell(done)
  expect(await run.run(prompt)).toEqual({ reason: "done", text: "Done." })
})

test("an answer after which the host wants no more is the last one: it is not reviewed", async () => {
  const { run, sent, tell } = scene({ isEnough: true })
  tell(began)
  tell(done)
  expect(await run.run(prompt)).toEqual({ reason: "ended" })
  expect(sent).toEqual(["Do it."])
})

test("a run that is interrupted while its answer is checked does not ask for another answer", async () => {
  const { run, sent, tell } = scene({
    async review() {
      run.interrupt("immediate")
      return "Better."
    },
  })
  tell(began)
  tell(done)
  expect(await run.run(prompt)).toEqual({ reason: "interrupted" })
  expect(sent).toEqual(["Do it."])
})

test("nothing that the program still says after the limit of the run is recorded", async () => {
  const { run, emitted, tell, exit } = scene({ isOver: true })
  tell(began)
  tell(called)
  tell({ type: "assistant", message: { id: "m1", model: "m", content: [{ type: "text", text: "Too late." }] } })
  tell(result("made", false))
  exit("stopped")
  expect(await run.run(prompt)).toEqual({ reason: "limit" })
  expect(emitted).toEqual([])
})

test("an answer that has to be repaired in the last turn is a limit, and nothing more is sent", async () => {
  const { run, sent, tell } = scene({ lastTurn: 1, review: async () => "It is no JSON." })
  tell(began)
  tell(done)
  expect(await run.run(prompt)).toEqual({ reason: "limit" })
  expect(sent).toEqual(["Do it."])
})

test("a program that ends while a call waits for a person has to be asked for the call again", async () => {
  const { run, ask, exit } = scene({ permit: { kind: "suspend", reason: "" } })
  const stop = run.run(prompt)
  await ask("c1")
  exit("exit 0")
  expect(await stop).toEqual({ reason: "suspended", resumeBy: "repeat" })
})

test("a run that is interrupted twice asks its program once", async () => {
  const { run, calls, exit } = scene()
  const stop = run.run(prompt)
  run.interrupt("immediate")
  run.interrupt("immediate")
  exit("stopped")
  await stop
  expect(calls.filter((each) => each === "interrupt")).toHaveLength(1)
})

test("neither the call of the tool for structured output nor its result is recorded", async () => {
  const { run, emitted, tell } = scene({ isStructured: true })
  tell(began)
  const use = { type: "tool_use", id: "out", name: "StructuredOutput", input: { n: 3 } }
  tell({ type: "assistant", message: { id: "m1", model: "m", content: [use] } })
  tell({ type: "user", message: { content: [{ type: "tool_result", tool_use_id: "out", content: "ok" }] } })
  tell(done)
  await run.run(prompt)
  expect(emitted.filter(({ type }) => type.startsWith("tool-"))).toEqual([])
})

test("deltas are not shown to a host that wants none", async () => {
  const { run, tell } = scene()
  tell(began)
  const delta = { type: "content_block_delta", delta: { type: "text_delta", text: "Do" } }
  tell({ type: "stream_event", event: delta })
  tell(done)
  expect(await run.run(prompt)).toMatchObject({ reason: "done" })
})
