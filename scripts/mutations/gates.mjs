// Promises about the gates of backends: what throws, comes twice, comes late or is stopped does not run, and is recorded as it was.
import { mutation, programMutation } from "./mutation.mjs"

const cell = (name) => ["test/backend-gates.test.ts", name]
const codexStops = (name) => ["src/backends/codex/stops.test.ts", name]
const codexRecording = (name) => ["src/backends/codex/recording.test.ts", name]
const acpGate = "src/backends/acp/gate.ts"
const codexRun = "src/backends/codex/thread-run.ts"
const codexRecorder = "src/backends/codex/recording.ts"

export const mutations = [
  mutation(
    "gates: an ACP agent gets a permission after the end of the run",
    [[acpGate, "permit === undefined || this.#isOver", "permit === undefined"]],
    cell(
      "acp:cursor, own call a call does not run if its gate answers after the end of a run whose program ends its work",
    ),
  ),
  mutation(
    "gates: an ACP agent whose two calls wait for a person is never stopped",
    [[acpGate, "      this.#stopIfIdle()\n      return false", "      return false"]],
    cell("acp:cursor, ours call beside one that waits for a person does not run"),
  ),
  mutation(
    "gates: an ACP call whose decision throws is recorded as one that nobody was asked about",
    [[acpGate, "await host.authorize(call, tool).catch(() => undefined)", "await host.authorize(call, tool)"]],
    cell("acp:cursor, own call a call whose decision throws is recorded as denied"),
  ),
  mutation(
    "gates: a call of Claude whose decision throws is recorded as one that nobody was asked about",
    [["src/backends/claude/gate.ts", "this.#ask(question).catch(() => failed)", "this.#ask(question)"]],
    cell("claude-cli, own call a call whose decision throws is recorded as denied"),
  ),
  mutation(
    "gates: a call beside one that waits for a person is decided, and may run",
    [["src/run/calls/run-call.ts", '      if (this.isAsked) return { kind: "suspended" }\n', ""]],
    [
      "src/run/calls/own-calls.test.ts",
      "a call beside one that waits for a person does not run, although the rules allow it",
    ],
  ),
  mutation(
    "gates: a second question is recorded beside the first",
    [
      ["src/run/calls/run-call.ts", 'suspension.kind === "asked" && !this.isAsked', 'suspension.kind === "asked"'],
      ["src/run/calls/run-call.ts", '      if (this.isAsked) return { kind: "suspended" }\n', ""],
    ],
    ["src/run/calls/own-calls.test.ts", "the first asks, the second is suspended without a question"],
  ),
  mutation(
    "gates: Claude puts off two calls of one step",
    [["src/backends/claude/gate.ts", "if (this.#suspended) {", "if (false) {"]],
    ["src/backends/claude/gate.test.ts", ""],
  ),
  mutation(
    "gates: a decision of Claude counts for other arguments under the same id",
    [
      [
        "src/backends/claude/gate.ts",
        "known.name === name && sameJson(known.args, args)) return",
        "known.name === name) return",
      ],
    ],
    cell("claude-cli, own call"),
  ),
  mutation(
    "gates: a call of Claude runs with other arguments than those that were decided",
    [["src/backends/claude/gate.ts", "known?.name === name && sameJson(args, decision.args)", "known?.name === name"]],
    ["src/backends/claude/gate.test.ts", ""],
  ),
  mutation(
    "gates: a call of Codex whose decision throws is recorded as running",
    [
      [codexRun, "await host.authorize(call, tool).catch(() => undefined)", "await host.authorize(call, tool)"],
      [codexRecorder, "result !== undefined || !this.#events.isPermitted(callId)", "result !== undefined"],
    ],
    cell("codex, own call a call does not run if the decision about it throws, and is not recorded as run"),
  ),
  mutation(
    "gates: a call of Codex that was never permitted is recorded as running in the background",
    [[codexRecorder, "result !== undefined || !this.#events.isPermitted(callId)", "result !== undefined"]],
    codexRecording("a call that was never permitted is not recorded as running in the background"),
  ),
  mutation(
    "gates: an interrupted call of Codex counts as failed",
    [[codexRecorder, 'outcome.status === "error" && this.#events.isInterrupted()', "false"]],
    cell("codex, own call a call with an effect that is cancelled while it runs has an unknown outcome"),
  ),
  mutation(
    "gates: Codex gets a permission after the end of the run",
    [
      [codexRun, '    if (this.#isOver) return { kind: "refuse", reason: STOPPING }\n', ""],
      ["src/backends/codex/session.ts", "    link.gate = undefined\n", ""],
    ],
    codexStops("a decision that comes after the end of a run permits nothing"),
  ),
  mutation(
    "gates: Codex makes one request more than it has turns",
    [[codexRun, "return this.#recording.steps.turn >= this.#parts.request.limits.turns", "return false"]],
    codexStops("Codex is stopped at the own call of turn 1, its last one, which does not run"),
    codexStops("Codex is stopped at the ours call of turn 2, its last one, which does not run"),
  ),
  mutation(
    "gates: what Codex ran without a question is not recorded",
    [[codexRecorder, '    this.steps.addCall({ callId, ...ranCall(item) }, "backend")\n', ""]],
    codexRecording("a command that ran without a question is recorded with what ran, and stops the session"),
  ),
  mutation(
    "gates: what Codex never asks about is not recorded",
    [
      [
        codexRecorder,
        '        this.steps.addCall({ callId: item.id, name: item.name, args: item.args }, "backend")\n',
        "",
      ],
    ],
    codexRecording("a call of webSearch, which Codex never asks about, is recorded, and the session goes on"),
  ),
  mutation(
    "gates: two calls of a vendor under one id both run, and one of them is recorded",
    [["src/run/calls/own-calls.ts", "if (this.#deciding.has(callId))", "if (false)"]],
    cell("acp:cursor, own call a call under the id of another call runs at most once, as it is recorded"),
  ),
  mutation(
    "gates: two calls of the runtime's tools under one id both run, and one of them is recorded",
    [["src/run/session/host.ts", "if (known) return isSameCall", "if (false) return isSameCall"]],
    cell("claude-sdk, ours call a call under the id of another call runs at most once, as it is recorded"),
  ),
  mutation(
    "gates: a refusal of the same id makes a permitted call an ungated one",
    [["src/run/calls/ungated-calls.ts", 'known.answer !== "run"', "known.answer === undefined"]],
    cell("acp:cursor, own call a call under the id of another call runs at most once, as it is recorded"),
  ),
  programMutation(
    "gates: the command line starts a program that cannot be restricted",
    [["src/cli/vendor-tools.ts", "if (unstoppable === undefined) continue", "continue"]],
    ["src/cli/vendor-tools.test.ts", "fails with 2 and a fix for a program that cannot be restricted"],
  ),
  mutation(
    "gates: Pi runs a call again for another one of the same id",
    [["src/backends/pi/session.ts", "    if (this.#begun.has(id)) return said(ID_USED)\n", ""]],
    ["src/backends/pi/session.test.ts", "does not run a call under the id of another one of the same answer"],
  ),
  mutation(
    "gates: a session of Codex is suspended while its answer is still received",
    [["src/backends/codex/recording.ts", "if (this.#isReceived && this.#announced", "if (this.#announced"]],
    codexRecording("a suspended call waits until the answer is received, and for the other calls in it"),
  ),
  mutation(
    "gates: a tool of an agent whose name has that of a server in it counts as the server's",
    [["src/backends/acp/tools.ts", "native.startsWith(prefix)", "native.includes(prefix)"]],
    ["src/backends/acp/translate.test.ts", "of a server's tool is that of the longest server name"],
  ),
  mutation(
    "gates: a waiting call of the runtime's tools is repeated by an ACP agent",
    [
      [
        "src/backends/acp/run.ts",
        'isOwn ? { reason: "suspended", resumeBy: "repeat" }',
        'true ? { reason: "suspended", resumeBy: "repeat" }',
      ],
    ],
    ["src/backends/acp/gate.test.ts", "a call of the runtime's tools that waits for a person stops the agent"],
  ),
  mutation(
    "gates: the model of an ACP agent's quota is not read",
    [["src/backends/acp/translate.ts", "Array.isArray(quota.model_usage) ? quota.model_usage : []", "[]"]],
    ["src/backends/acp/translate.test.ts", "the model of a prompt is the one of its quota"],
  ),
  mutation(
    "gates: a conversation that Pi shortened keeps its old beginning",
    [
      [
        "src/backends/pi/session.ts",
        'messages.slice(0, 1).filter(({ role }) => role === "system")',
        "messages.slice(0, 1)",
      ],
    ],
    ["src/backends/pi/session.test.ts", "shortens what it was given to the window that Pi knows"],
  ),
  mutation(
    "gates: the window of Pi's table counts as assumed",
    [["src/backends/pi/context.ts", "window: model.contextWindow, isAssumed: false", "window: model.contextWindow"]],
    ["src/backends/pi/session.test.ts", "shortens what it was given to the window that Pi knows"],
  ),
  mutation(
    "gates: a command of a vendor counts as sandboxed if the runtime has a shell",
    [
      [
        "src/run/calls/decide.ts",
        "own !== undefined || input.dispatcher.tool(call.name) === undefined",
        "input.dispatcher.tool(call.name) === undefined",
      ],
    ],
    ["src/run/calls/own-calls.test.ts", "does not run unasked, whatever tools the runtime has"],
  ),
  mutation(
    "gates: a vendor's call counts as sandboxed",
    [
      ["src/run/calls/decide.ts", "sandboxed: !isForeign && ", "sandboxed: "],
      ["src/run/calls/decide.ts", "hidesRefused: !isForeign && ", "hidesRefused: "],
    ],
    ["src/run/calls/own-calls.test.ts", "does not run unasked, whatever tools the runtime has"],
  ),
]
