// Promises about agents that others run: their tools, their sessions, failover and moves.
import { mutation } from "./mutation.mjs"

const own = "src/runtime/calls/own-calls.ts"
const conformance = (name) => ["test/backend-conformance.test.ts", name]
const runs = (name) => ["test/backend-runtime.test.ts", name]
const failover = (name) => ["test/failover.test.ts", name]

export const mutations = [
  mutation(
    "backends: a vendor's tool runs without its intent on record",
    [[own, "        journal.append(intentOf(this.#config, this.#run, call, effect))\n", ""]],
    conformance("a tool of the backend runs after its intent was recorded"),
  ),
  mutation(
    "backends: a call of a vendor that is not recorded may run",
    [[own, "if (!this.#runner.isAnnounced(call.callId)) return refuse", "if (false) return refuse"]],
    ["src/runtime/calls/own-calls.test.ts", "a call that is not recorded is refused"],
  ),
  mutation(
    "backends: a call that was begun before may run again",
    [[own, "    if (earlier) return earlier\n", ""]],
    ["src/runtime/calls/own-calls.test.ts", "a call that was begun or settled before is refused"],
  ),
  mutation(
    "backends: file tools of a vendor reach outside the workspace",
    [["src/runtime/calls/decide.ts", "if (outside !== undefined) return", "if (false) return"]],
    runs("does not write to another folder, whatever the policy allows"),
  ),
  mutation(
    "backends: a vendor's tool runs although its policy denies it",
    [
      [
        own,
        'if (decided.kind === "deny") return this.#deny(call, decided.reason)',
        'if (decided.kind === "deny") return this.#begin(call, tool)',
      ],
    ],
    conformance("a tool of the backend that the policy denies does not run"),
  ),
  mutation(
    "backends: a failure that would repeat moves the run on",
    [["src/runtime/attempts.ts", "return retryable || code", "return true || code"]],
    failover("FAIL-08 a failure that would repeat elsewhere ends the run at once"),
  ),
  mutation(
    "backends: a call that a failed backend began is not flagged",
    [["src/runtime/attempts.ts", "  await settleOpenCalls(run)\n", ""]],
    failover("a call that a failed backend had begun is flagged for the next one, and not repeated"),
  ),
  mutation(
    "backends: a session is continued although it ended in the middle of a step",
    [["src/runtime/open-run.ts", 'const isClean = resumedFrom === "paused" || !stepIsOpen', "const isClean = true"]],
    runs("that was running when the process died is flagged, and its session is not continued"),
  ),
  mutation(
    "backends: a fork continues the session of the other run",
    [["src/runtime/open-run.ts", "forkOf === undefined || sessionAt > forkOf.at", "true"]],
    runs("a fork has a session of its own"),
  ),
  mutation(
    "backends: a result claims more enforcement than there was",
    [["src/journal/projection.ts", "record.enforcement ?? this.enforcement", "record.enforcement"]],
    runs("a result does not claim more enforcement than its backend declares"),
  ),
  mutation(
    "backends: a silent session is never stopped",
    [["src/runtime/backends/watch.ts", 'else if (this.#waiting === 0) this.stop("stalled")', ""]],
    runs("a session without a sign of life is stopped as stalled"),
  ),
  mutation(
    "backends: a run moves although its files have changed",
    [["src/runtime/backends/handover.ts", "return now === before ? [] : [path]", "return []"]],
    runs("pauses and says which files have changed"),
  ),
  mutation(
    "backends: a listener in the middle of a text gets its deltas",
    [["src/runtime/entry.ts", "this.#streams.get(event.id)?.push(event.delta)", "redactor.stream().push(event.delta)"]],
    runs("a listener that comes in the middle of a secret gets none of it"),
  ),
  mutation(
    "backends: the gate prints whatever it was answered",
    [["src/hosts/node/backends/gate-program.ts", "case $answer in '{'*'}') ;; *) exit 2 ;; esac\n", ""]],
    ["src/hosts/node/backends/loopback.test.ts", "exits with 2 for"],
  ),
  mutation(
    "backends: the gate takes functions from its environment",
    [["src/hosts/node/backends/gate-program.ts", '"-pc"', '"-c"']],
    ["src/hosts/node/backends/loopback.test.ts", "the gate in a shell is not opened by an environment with"],
  ),
]
