// Promises about questions of running calls: no answer is lost or sent twice, and people see what is asked, and nothing else.
import { mutation } from "./mutation.mjs"

const calls = "src/run/calls"
const mcp = "src/extensions/mcp"
const runtime = (name) => ["src/run/calls/call-question.test.ts", name]
const live = (name) => ["src/run/calls/live-question.test.ts", name]
const server = (name) => ["test/mcp-questions.test.ts", name]

export const mutations = [
  mutation(
    "questions: a call that waits for its answer is flagged as unknown",
    [
      [
        "src/journal/recover.ts",
        "call.outcome !== undefined || call.question || keeps",
        "call.outcome !== undefined || keeps",
      ],
    ],
    runtime("pauses the run with its question, and continues in another process"),
    server("asks two questions in two rounds"),
  ),
  mutation(
    "questions: the answered call runs without an intent of its own",
    [
      [
        calls,
        "runner.execute(asked, { begun: false, answered, ruled",
        "runner.execute(asked, { begun: true, answered, ruled",
      ],
    ],
    runtime("after the intent of the answered call leaves its outcome unknown"),
  ),
  mutation(
    "questions: the intent of the answered call leaves the question open",
    [["src/journal/recent-calls.ts", "    call.question = undefined\n", ""]],
    runtime("after the intent of the answered call leaves its outcome unknown"),
  ),
  mutation(
    "questions: a fork continues the call of the original",
    [["src/journal/recent-calls.ts", "call.question = isCopied ? undefined :", "call.question ="]],
    runtime("an open question of a forked run is continued by the original only"),
  ),
  mutation(
    "questions: an answer is lost if another question is recorded after it",
    [["src/journal/recent-calls.ts", "call.question = { ...call.question, answer: record }", "void record"]],
    runtime("after the answer is recorded and before the call runs again loses nothing"),
  ),
  mutation(
    "questions: a call asks for ever",
    [[calls, "const MAX_QUESTIONS = 10", "const MAX_QUESTIONS = 1000"]],
    runtime("that asks for ever is stopped after ten questions"),
    server("a server that asks for ever is stopped after ten questions"),
  ),
  mutation(
    "questions: the policy is not asked again before the answered call",
    [
      [
        calls,
        "const confirmed = await confirm(run, asked, approvalOf(run, projected, asked))",
        'const confirmed = { kind: "holds" }',
      ],
    ],
    runtime("whose policy now denies the call does not continue it"),
    runtime("is not continued by its answer if the policy now asks for an approval"),
  ),
  mutation(
    "questions: listeners get the state of a tool",
    [
      [
        "src/journal/published.ts",
        'if (record.type !== "tool-question") return record',
        "if (record.seq >= 0) return record",
      ],
    ],
    runtime("the state of a call is in the journal only"),
    server("neither people in events and results nor listeners see the server's state"),
  ),
  mutation(
    "questions: state with a credential is recorded",
    [[calls, "const state = redactor.known(jsonCopy(given))\n", "const state = jsonCopy(given)\n"]],
    runtime("a declared secret in question, state and answer"),
    runtime("a credential that no process can restore"),
  ),
  mutation(
    "questions: the mask of a lost token is used as the answer",
    [
      [calls, 'if (typeof real !== "string") return "answer-lost"\n', ""],
      [calls, "...(text !== undefined && { text: real })", "...(text !== undefined && { text: String(real ?? text) })"],
    ],
    runtime("a token that only a dead process had is asked for again"),
  ),
  mutation(
    "questions: what a run hands down to its agent is escaped once more",
    [["src/run/open/resume-run.ts", "given, inherited !== undefined)", "given, false)"]],
    runtime("pauses the run, which hands the answers down to it"),
  ),
  mutation(
    "questions: the callback is asked before its question is durable",
    [
      [
        calls,
        'run.journal.append({ ...asked, via: "wait" })\n  await run.journal.flush()',
        'run.journal.append({ ...asked, via: "wait" })',
      ],
    ],
    live("is asked about only when the question is durable"),
  ),
  mutation(
    "questions: the call continues before a live yes is durable",
    [
      [
        calls,
        'decision: "approve" })\n  }\n  await journal.flush()\n  return true',
        'decision: "approve" })\n  }\n  return true',
      ],
    ],
    live("gets a yes without a text"),
  ),
  mutation(
    "questions: no answer in time counts as a refusal by the person",
    [["src/policy/ask-person.ts", '(request.reason === "input" ? pause : denial)', "denial"]],
    live("pauses the run, and keeps the question, if no answer comes in time"),
  ),
  mutation(
    "questions: an approval without a decision in time is not denied",
    [["src/policy/ask-person.ts", '(request.reason === "input" ? pause : denial)', "(denial ? pause : pause)"]],
    live("that comes too late still denies the call"),
  ),
  mutation(
    "questions: people are asked further questions by a run that pauses",
    [[calls, "const mayAsk = !runner.isAsked && !run.controls.stopping", "const mayAsk = !run.controls.stopping"]],
    live("one of several running calls that must wait pauses the run"),
  ),
  mutation(
    "questions: a live answer is lost if the run is being stopped",
    [[calls, 'if (run.controls.stopping) return { status: "suspended" }\n', ""]],
    live("keeps an answer that comes meanwhile"),
  ),
  mutation(
    "questions: an agent that must not pause does",
    [
      [
        calls,
        "if (!run.tree.deniesQuestions || run.controls.stopping) return runner.suspend",
        "if (run.tree !== null) return runner.suspend",
      ],
    ],
    live("that must not pause is refused if the callback says pause"),
  ),
  mutation(
    "questions: changed arguments count as an answer",
    [[calls, 'if ("args" in given && given.args !== undefined) return false\n', ""]],
    live("pauses the run, and keeps the question, if the answer has changed arguments"),
  ),
  mutation(
    "questions: an approval counts as the answer to a question of the model",
    [[calls, '(question.reason === "input" && !isRefused)', "(!isRefused && false)"]],
    live("pauses the run if the callback approves, which is no answer"),
  ),
  mutation(
    "questions: an answer that does not match reaches the server",
    [
      [mcp, 'if ("problem" in read) return askedFor(connection, round, context, read.problem)', ""],
      [mcp, "[key]: read.response", '[key]: "problem" in read ? { action: "accept", content: {} } : read.response'],
    ],
    server("that does not match the schema never reaches the server"),
  ),
  mutation(
    "questions: a declined question is sent as accepted",
    [[mcp, 'if (decision === "deny") return { response: { action: "decline" } }\n', ""]],
    server("is told that the person declined, and does not act"),
  ),
  mutation(
    "questions: another server under the same name gets the answer",
    [[mcp, "if (round?.server !== serverDigest(connection)) {", "if (round === undefined) {"]],
    server("with another server under the same name"),
  ),
  mutation(
    "questions: people are asked to open any address",
    [[mcp, 'if (!url || !(url.protocol === "https:" || isLocal))', "if (!url)"]],
    server("a server that sends a question with a script as address"),
    server("a server that sends a question with an address that is not https"),
  ),
  mutation(
    "questions: the words of a server are not marked as such",
    [
      [
        mcp,
        '    .map((line) => `> ${line}`)\n    .join("\\n")\n}\n\nfunction shown',
        '    .join("\\n")\n}\n\nfunction shown',
      ],
    ],
    server("cannot pass its words off as those of the program"),
  ),
  mutation(
    "questions: a server keeps as much as it likes with the client",
    [[mcp, "const MAX_STATE_BYTES = 64 * 1024", "const MAX_STATE_BYTES = 640 * 1024"]],
    server("a server that keeps more than 64 KB with the client"),
  ),
  mutation(
    "questions: a token of the client is recorded with the state of the server",
    [
      [mcp, "if (connection.masked(text) !== text ||", 'if (connection.masked("") !== "" ||'],
      [mcp, '(requestState ?? "")) {', '(requestState ?? "") && false) {'],
    ],
    server("a server that keeps a token of the client"),
  ),
  mutation(
    "questions: a tool whose definition has changed continues its call",
    [[mcp, ".filter(({ tool }) => tools.has(tool))", ""]],
    server("with a server whose tool has changed sends it nothing"),
  ),
]
