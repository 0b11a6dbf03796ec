// Promises about conversations that are shortened: nothing is lost, paid twice or sent uncut, and nothing loops.
import { mutation } from "./mutation.mjs"

const native = "src/backends"
const journal = "src/journal"
const lib = "src/lib/compaction"
const runtime = "src/run"

const fault = (name) => ["test/compaction-faults.test.ts", name]
const fold = (name) => ["src/journal/context-fold.test.ts", name]

const bound = (name) => ["src/backends/shared/compaction/bounds.test.ts", name]

const refusals = (name) => ["test/overflow-refusals.test.ts", name]

export const mutations = [
  mutation(
    "compaction: a request over the tokens per minute is waited for",
    [["src/lib/overflow-texts.ts", "isLimitOfRequests && pattern.test(message)", "false"]],
    refusals("over chat, a refusal of OpenAI, tokens per minute as too long"),
    refusals("over chat, a refusal of Groq, tokens per minute as too long"),
  ),
  mutation(
    "compaction: a limit of requests counts as a conversation that is too long",
    [["src/lib/overflow-texts.ts", "if (isLimited) return compiled", "if (false) return compiled"]],
    refusals("a limit of requests is none of the window"),
  ),
  mutation(
    "compaction: throttling over the AI SDK counts as a conversation that is too long",
    [["src/providers/ai-sdk/failure.ts", "isOverflow(message, status)", "isOverflow(message)"]],
    ["src/providers/ai-sdk/failure.test.ts", "throttling in the words of an overflow"],
  ),
  mutation(
    "compaction: throttling in the middle of a stream counts as a conversation that is too long",
    [["src/providers/openai/failure.ts", "overflowIn(message, status === 429 ? status : 400)", "overflowIn(message)"]],
    ["src/providers/openai/streams.test.ts", "Too many tokens"],
  ),
  mutation(
    "compaction: a number by which the window was exceeded counts as the window",
    [["src/lib/overflow-texts.ts", "by {used} tokens", "by {window} tokens"]],
    refusals("the window in a refusal of Ollama is read"),
  ),
  mutation(
    "compaction: a refused conversation is as long as its window allows",
    [[native, "Math.min(0.4 * this.limit, 0.5 * this.refused)", "0.4 * this.limit"]],
    bound("a conversation becomes about half as long after a refusal of the body's size in bytes"),
  ),
  mutation(
    "compaction: the next summary does not get the earlier one",
    [[native, "return { earlier: text.text, messages: [", 'return { earlier: "", messages: [']],
    ["src/backends/shared/compaction/index.test.ts", "an earlier summary that is short stays word for word"],
  ),
  mutation(
    "compaction: what people said is not kept word for word",
    [[native, "    words.unshift(message)\n", ""]],
    fault("lost words"),
  ),
  mutation(
    "compaction: a summary that calls a tool is used",
    [[native, 'if (parts.some(({ type }) => type === "tool-call")) return "it called a tool"\n', ""]],
    fault("calls a tool"),
  ),
  mutation(
    "compaction: a summary that was cut replaces the earlier one",
    [[native, 'earlier !== "" && (isAdded || answer.stopReason === "output-limit")', 'earlier !== "" && isAdded']],
    [
      "src/backends/shared/compaction/index.test.ts",
      "a summary that was cut at the output limit stands behind the earlier one",
    ],
  ),
  mutation(
    "compaction: every summary replaces the earlier one",
    [[native, "meter.ratio * estimateTokens(earlier) < KEPT_SHARE * output", "output < 0"]],
    ["src/backends/shared/compaction/index.test.ts", "an earlier summary that is short stays word for word"],
  ),
  mutation(
    "compaction: old results go although no summary has seen them",
    [[native, "if (hasMedia) keep", "keep"]],
    bound("no text goes without a summary"),
  ),
  mutation(
    "compaction: the text beside an image goes with it",
    [[native, "keep[part.callId] = textLength(part)", "keep[part.callId] = 0"]],
    bound("images of old results are removed, and the text beside them stays"),
  ),
  mutation(
    "compaction: of a text that is too long for one summary only the first part is shown",
    [[native, "      parts = rest\n", "      parts = []\n"]],
    bound("is shown to it in parts"),
  ),
  mutation(
    "compaction: names that a summary leaves out are forgotten",
    [[native, 'carried === "" ? text', "carried.length > 0 ? text"]],
    bound("sentences with ids that a summary leaves out"),
  ),
  mutation(
    "compaction: a summary never uses the provider's cache",
    [
      [
        native,
        "conversation: context.model || request.outputSchema ? undefined : loop.conversation",
        "conversation: undefined",
      ],
    ],
    fault("is requested at the end of its conversation"),
  ),
  mutation(
    "compaction: a model that has to answer in a form is asked for a summary at the end of its conversation",
    [[native, "context.model || request.outputSchema ? undefined", "context.model ? undefined"]],
    fault("a run that has to answer in a form, and one after a refusal"),
  ),
  mutation(
    "compaction: what a summary cost that called a tool is not counted",
    [[native, "        count(setup, answer)\n        return { problem", "        return { problem"]],
    fault("and both are paid for"),
  ),
  mutation(
    "compaction: of several requests for one summary only the last is paid for",
    [[native, "      count(setup, asked.answer)\n", ""]],
    ["test/compaction-faults.test.ts", "a summary in several requests is paid for with each of them"],
  ),
  mutation(
    "compaction: a last turn is shortened without a word",
    [
      [
        native,
        '    this.#setup.host.emit({ type: "warning", code: "compaction_shortened", message })\n    return { ...change',
        "    return { ...change",
      ],
    ],
    bound("a last turn that needs all the room is clipped"),
  ),
  mutation(
    "compaction: a fixed part that is too large is not noticed before a call",
    [[native, "const MAX_FIXED_PART = 0.7", "const MAX_FIXED_PART = 70"]],
    fault("a fixed part that is too large makes no call at all"),
  ),
  mutation(
    "compaction: summaries that follow one another do not end a run",
    [
      [
        native,
        "close.filter(isFull(0.6)).length >= MAX_CLOSE_HEADS || close.length >= CLOSE_TURNS",
        "close.length < 0",
      ],
    ],
    fault("fills the window again after every summary"),
  ),
  mutation(
    "compaction: the usage from before a compaction is used after it",
    [[native, "this.#known = { tokens, count: this.#history.said.length, answer: 0 }", ""]],
    fault("stale usage"),
  ),
  mutation(
    "compaction: the reserve of a compaction that was never finished does not count",
    [[journal, "this.spent.reserve(record.reserve)\n  }", "this.spent.refund()\n  }"]],
    fold("the reserve of a compaction that never ended is spent"),
  ),
  mutation(
    "compaction: the cost of a summary is not part of the run's",
    [[journal, "    if (usage) this.spent.add(usage)\n", ""]],
    fold("the usage of one that did counts"),
  ),
  mutation(
    "compaction: a result of the input is cut because a call of the run has its id",
    [[lib, "  if (turn === 0) return said\n", ""]],
    ["src/lib/compaction/compacted.test.ts", "results of the input are never cut"],
  ),
  mutation(
    "compaction: a summary is recorded with a secret in it",
    [[runtime, "{ ...redactor.again(given), ...(usage && { usage }) }", "{ ...given, ...(usage && { usage }) }"]],
    fault("a secret that a summary repeats is masked"),
  ),
  mutation(
    "compaction: a graceful stop between two attempts at a summary is ignored",
    [
      [
        "src/backends/shared/compaction/summarise.ts",
        '    if (controls.stopping) return { reason: "interrupted" }\n    if ("reason" in begun',
        '    if ("reason" in begun',
      ],
    ],
    ["test/compaction-stops.test.ts", "a graceful stop between two attempts"],
  ),
  mutation(
    "compaction: the bounds of turns are those of the conversation before",
    [[native, "    this.#setup.bounds.reset()\n", ""]],
    ["test/compaction-stops.test.ts", "after a compaction, a turn reserves"],
  ),
  mutation(
    "compaction: results of the last turn are removed",
    [[native, 'turn === lastTurn || part.status !== "ok") continue', 'part.status !== "ok") continue']],
    bound("those of failed calls and of the last turn stay"),
  ),
  mutation(
    "compaction: results of failed calls are removed",
    [[native, 'turn === lastTurn || part.status !== "ok") continue', "turn === lastTurn) continue"]],
    bound("those of failed calls and of the last turn stay"),
  ),
  mutation(
    "compaction: a turn may be refused fifty times",
    [[native, "const MAX_OVERFLOWS = 2", "const MAX_OVERFLOWS = 50"]],
    bound("a third refusal of one turn"),
  ),
  mutation(
    "compaction: answers of agents are never clipped",
    [[native, 'if (message.role === "user" && isFromAgent(message))', 'if (message.role === "user" && turn < 0)']],
    bound("the answers of many agents"),
    ["test/compaction-stops.test.ts", "a run whose agents all answer at once"],
  ),
  mutation(
    "compaction: what people write is clipped like answers of agents",
    [[native, 'if (message.role === "user" && isFromAgent(message))', 'if (message.role === "user")']],
    bound("what a person writes beside the answers"),
  ),
  mutation(
    "compaction: arguments of old calls stay",
    [[native, "if (turn !== lastTurn && newer > meter.keep) args", "if (turn < 0) args"]],
    bound("long arguments of old calls"),
  ),
  mutation(
    "compaction: a summary that is longer than what it replaces is used",
    [
      [
        native,
        "const head = headOf(text) ?? headOf(",
        "const head = { ...place, messages: [...wordsOf(said, at, meter), summaryMessage(text, facts)] } ?? headOf(",
      ],
    ],
    bound("that is no smaller than what it replaces is not used"),
  ),
  mutation(
    "compaction: a window is learned below an accepted request",
    [[native, "Math.max(learned, meter.accepted)", "learned"]],
    bound("is never below a request that was accepted: a smaller number"),
  ),
  mutation(
    "compaction: a body that is too large makes the window smaller",
    [[native, "if (told === undefined && isAboutBytes(failure)) return\n", ""]],
    bound("stays as it is after a refusal of the body's size"),
  ),
  mutation(
    "compaction: every result of a last turn gets the same share of its room",
    [[native, "[...sizes].sort((a, b) => a - b)", "sizes"]],
    bound("short results of a last turn that is clipped stay whole and leave the rest of their share to long ones"),
  ),
  mutation(
    "compaction: a summary is summarised alone",
    [[native, "isSummary(message)) + 1\n  return said.flatMap", "isSummary(message))\n  return said.flatMap"]],
    bound("what is behind a summary is shortened only if it is more than the last turn"),
  ),
  mutation(
    "compaction: a run that is asked to shorten what cannot be shortened fails",
    [[native, 'if (cause === "asked") {', "if (false) {"]],
    bound("what is behind a summary is shortened only if it is more than the last turn"),
  ),
  mutation(
    "compaction: summaries of a smaller window end a run with a larger one",
    [[native, "this.#recent.filter((past) => past.window >= Math.round(window))", "this.#recent"]],
    ["src/backends/shared/compaction/compactor.test.ts", "summaries of a smaller window are no sign"],
  ),
]
