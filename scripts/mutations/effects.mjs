// Promises about effects: intent before effect, result after it, nothing repeated silently, the unknown reported.
import { mutation } from "./mutation.mjs"

const runtime = "src/run"
const native = "src/backends/native"
const projection = "src/journal/projection.ts"
const recover = "src/journal/recover.ts"

const durable = (name) => ["src/run/durable.test.ts", name]
const tools = (name) => ["src/runtime/runtime.test.ts", name]
const resume = (name) => ["src/run/resume.test.ts", name]
const controls = (name) => ["test/promises/controls.test.ts", name]

const repeatsWhenStopped = 'if (call.intent === "repeatable" && ownerStopped) return true'
const runsAgain = 'const mayRepeat = intent === "repeatable" && ownerStopped && !isOnceNow'
const ownerStopped = 'const ownerStopped = owner === "dead" || owner === "released"'
const stoppedOpening = 'ownerStopped: owner === "dead" || owner === "released",'

export const mutations = [
  mutation(
    "effects: an intent is not durable before its effect",
    [[runtime, 'if (effect !== "none") await journal.flush()', ""]],
    tools("tools with an effect have a recorded intent before they run, and a stable idempotency key"),
  ),
  mutation(
    "effects: no intent is recorded",
    [[runtime, 'if (effect !== "none" && !begun) journal.append', 'if (effect === "none" && begun) journal.append']],
    tools("tools with an effect have a recorded intent before they run, and a stable idempotency key"),
  ),
  mutation(
    "effects: a once call runs again where its owner is dead",
    [
      [runtime, repeatsWhenStopped, "if (ownerStopped) return true"],
      [runtime, runsAgain, "const mayRepeat = ownerStopped"],
    ],
    durable("a `once` call with an intent and no result is not run again"),
  ),
  mutation(
    "effects: a call whose outcome is unknown is not flagged",
    [[recover, "if (call.intent === undefined || call.outcome !== undefined", "if (call.intent !== undefined"]],
    durable("a `once` call with an unknown outcome is flagged and never run again"),
  ),
  mutation(
    "effects: an unresponsive owner is taken for a dead one, and a repeatable call runs beside it",
    [
      [runtime, ownerStopped, 'const ownerStopped = owner !== "alive"'],
      [runtime, stoppedOpening, 'ownerStopped: owner !== "alive",'],
    ],
    durable("a `repeatable` call of an owner without a sign of life for a lease is flagged as unknown, not run again"),
    durable("recovery flags a `repeatable` call of an unresponsive owner"),
  ),
  mutation(
    "effects: a takeover repeats a call that its owner may be running",
    [
      [runtime, ownerStopped, "const ownerStopped = true"],
      [runtime, stoppedOpening, "ownerStopped: true,"],
    ],
    durable("a `repeatable` call is run again only if no other process can still be running it"),
  ),
  mutation(
    "effects: a repeatable call of a dead owner is not run again",
    [[runtime, repeatsWhenStopped, 'if (call.intent === "repeatable" && !ownerStopped) return true']],
    durable("a `repeatable` call is run again only if no other process can still be running it"),
  ),
  mutation(
    "effects: a tool that was aborted half way failed for certain",
    [
      [
        runtime,
        'const inDoubt = effect !== "none" && controls.signal.aborted && outcome.status === "error"',
        "const inDoubt = false",
      ],
      // The dispatcher says the same of a tool that it leaves behind.
      ["src/tools/kernel/dispatch.ts", 'status: harmless ? "error" : "unknown"', 'status: "error"'],
    ],
    tools("a tool with an effect that reports its own abort has an unknown outcome"),
  ),
  mutation(
    "effects: the idempotency key changes with the attempt",
    [
      [
        "src/lib/tenant/run-keys.ts",
        "[tenant, runId, nodeId, agent, callId]",
        "[tenant, runId, nodeId, agent, callId, crypto.randomUUID()]",
      ],
    ],
    tools("tools with an effect have a recorded intent before they run, and a stable idempotency key"),
  ),
  mutation(
    "effects: a run that is being stopped starts another call",
    [[runtime, "if (controls.stopping) return this.record(call, notStarted(call), 0, effect)", ""]],
    tools("a graceful interrupt lets running tools finish and starts nothing new"),
  ),
  mutation(
    "effects: a call that is on no record is run",
    [[runtime, "Promise.resolve(notOnRecord(call))", "this.execute(call)"]],
    tools("tools with an effect are rejected if a backend calls them before their call is recorded"),
  ),
  mutation(
    "effects: a tool with an effect starts before its answer is complete",
    [
      [
        runtime,
        'tool?.effect === "none" && !tool.effectOf && tool.concurrent',
        "tool !== undefined && tool.concurrent",
      ],
    ],
    tools("with an effect start only when the answer that calls them is complete"),
  ),
  mutation(
    "effects: the early calls of a failed attempt are recorded",
    [
      [
        runtime,
        "for (const resolve of this.#early?.values() ?? []) resolve(false)",
        "for (const resolve of this.#early?.values() ?? []) resolve(true)",
      ],
    ],
    tools("with effect none start before the answer is complete; a retry drops them"),
  ),
  mutation(
    "effects: the calls of an answer that was cut are run",
    [[native, 'if (answer.stopReason === "output-limit") break', ""]],
    controls("after three continuations the run fails as output_limit, and no call of a cut answer runs"),
  ),
  mutation(
    "effects: the calls of a refused answer are run",
    [[native, 'if (answer.stopReason === "refusal") return { reason: "refusal" }', ""]],
    tools("an answer that ends with refusal fails as content_filtered"),
  ),
  mutation(
    "effects: an exclusive tool runs beside others",
    [[runtime, "return this.#running === 0 || (shared && !this.#exclusive)", "return true"]],
    ["src/run/calls/read-write-lock.test.ts", "exclusive work runs alone, in order"],
  ),
  mutation(
    "effects: results are folded in the order of their durations",
    [
      [
        projection,
        "calls.filter(hasOutcome).map(resultPart)",
        "calls.filter(hasOutcome).toSorted((left, right) => left.durationMs - right.durationMs).map(resultPart)",
      ],
    ],
    [
      "src/journal/projection.test.ts",
      "results of a step are ordered like its calls, whatever their order and duration",
    ],
  ),
  mutation(
    "effects: an approval is valid for any call",
    [[runtime, "if (digestOf(run, approved) !== digest) return", "if (digest === undefined) return"]],
    resume("a recorded approval with another digest runs nothing"),
    resume("a recorded approval with other arguments runs nothing"),
  ),
  mutation(
    "effects: an approval gate that fails lets the call run",
    [
      [
        runtime,
        'return { kind: "deny", reason: "the approval gate failed" } satisfies CallVerdict',
        "return undefined",
      ],
    ],
    resume("a gate that throws denies the call with a warning"),
  ),
  mutation(
    "effects: a denied call is run",
    [
      [
        `${runtime}/calls/finish-open-calls.ts`,
        '  const decision = ask?.request.callId === callId ? ask.decision : undefined\n  if (decision?.decision === "deny") return',
        '  const decision = ask?.request.callId === callId ? ask.decision : undefined\n  if (decision?.decision === "answer") return',
      ],
    ],
    resume("a denied call does not run, and the model gets the reason"),
  ),
  mutation(
    "effects: arguments that a person changed pass no gate",
    [[runtime, "{ isApproved: true, edited: changed !== undefined }", "{ isApproved: true }"]],
    resume("edited arguments pass the gate again, and the model learns what ran and why"),
  ),
  mutation(
    "effects: the ticket of a decision is not compared",
    [[runtime, "if (ticket !== undefined && ticket !== pending?.ticket) throw stale()", ""]],
    resume("with the ticket of another question is stale"),
  ),
  mutation(
    "effects: a preToolCall hook that returns something blocks its call (HOOK-02)",
    [
      [
        `${runtime}/calls/run-call.ts`,
        '        await hooks.call("preToolCall", (hook, at) => hook.preToolCall?.(hookedCall(at, shownCall(this.#run, call))))\n',
        `        const said: unknown = await hooks.call("preToolCall", (hook, at) => hook.preToolCall?.(hookedCall(at, call)))
        if (said !== undefined) return this.record(call, notStarted(call), 0, effect)\n`,
      ],
    ],
    controls("a preToolCall that returns"),
  ),
  mutation(
    "effects: a preToolCall hook that throws blocks its call (HOOK-02)",
    [
      [
        runtime,
        "      this.#onFailure(slot, error instanceof Error",
        '      if (slot === "preToolCall") throw error\n      this.#onFailure(slot, error instanceof Error',
      ],
    ],
    controls("a preToolCall that throws"),
  ),
  mutation(
    "effects: a run that was done when its process died asks the model again",
    [[runtime, 'return lastStep?.stopReason === "end" && resumedFrom === "running"', "return false"]],
    durable("a run lost after its last answer ends as done without another model call"),
  ),
  mutation(
    "effects: a replay leaves a record out",
    [
      [
        "src/runtime/manage-runs.ts",
        "for (const record of found.records) contain",
        "for (const record of found.records.slice(1)) contain",
      ],
    ],
    durable("a replay publishes all records again and calls nothing"),
  ),
]
