import { LonghaulError } from "../contract/error.ts"
import type { Message } from "../contract/message.ts"
import type { Answer, AnswerCall, AnswerSink, Model } from "../contract/provider.ts"
import { plainText } from "../lib/content.ts"
import { isJsonObject } from "../lib/json.ts"
import type { ToolFact } from "./offline-report.ts"
import { describeFacts, entriesIn, matchesIn } from "./offline-report.ts"

/**
 * A rule-based planner for trying the runtime without a provider. From the words of the task it lists, searches, reads
 * and, on request, writes a report; all its text comes from tool results.
 */
export function offlineModel(): Model {
  return {
    provider: "offline",
    id: "offline",
    converse: ({ tools }) => ({
      async call(messages, sink, signal) {
        if (signal.aborted) throw new LonghaulError("cancelled", "The call was aborted", { cause: signal.reason })
        const task = readTask(messages)
        const offered = new Set(tools.map(({ name }) => name))
        const step = nextStep(task, gather(messages.slice(task.start), task.outputPath), offered)
        return answer(`${label} ${step.text}`, step.calls, messages.length, sink)
      },
    }),
  }
}

const label = "[offline model: rules, not an LLM]"
const nothingSeen = "Nothing was inspected: no suitable tool was offered."
const readLimit = 5
const taskLimit = 4_000
const pathWord = /(?!e\.g\b|i\.e\b)(?:[\w.-]+\/)*[\w-][\w.-]*\.[A-Za-z]\w{0,7}\b/g
const fillerWords = new Set(
  "about after all also and any are count create every file files find folder for from give have how into its list look make many mention mentions please put read report save say search show summarise summarize summary tell that the their them there this what where which with workspace write".split(
    " ",
  ),
)

interface Task {
  readonly text: string
  /** Index of its message: earlier messages belong to other tasks. */
  readonly start: number
  readonly words: readonly string[]
  readonly inputPaths: readonly string[]
  readonly outputPath?: string | undefined
}

interface Step {
  readonly text: string
  readonly calls: readonly { readonly name: string; readonly args: Readonly<Record<string, string>> }[]
}

function readTask(messages: readonly Message[]): Task {
  const start = messages.findLastIndex(({ role }) => role === "user")
  const message = messages[start]
  const text = message?.role === "user" ? plainText(message.content, "\n").slice(0, taskLimit) : ""
  const outputPath = findOutputPath(text)
  const quoted = [...text.matchAll(/(?<!\w)["'`\u201c]([^"'`\u201d\n]{2,60})["'`\u201d](?!\w)/g)]
    .map((match) => match[1] ?? "")
    .filter((words) => !words.match(pathWord)?.includes(words))
  const plain = (text.replaceAll(pathWord, " ").match(/[\p{L}\p{N}_]{3,}/gu) ?? []).filter(
    (word) => !fillerWords.has(word.toLowerCase()),
  )
  return {
    text,
    start: Math.max(0, start),
    words: unique(quoted.length > 0 ? quoted : plain).slice(0, 3),
    inputPaths: unique(text.match(pathWord) ?? []).filter((path) => path !== outputPath),
    outputPath,
  }
}

/**
 * "write a summary of a.md to b.md" means b.md: a path after "to" takes precedence over the first path after the verb.
 */
function findOutputPath(text: string): string | undefined {
  const wish = /\b(?:write|save|create|store|put|produce|generate)\b([\s\S]*)/i.exec(text)?.[1] ?? ""
  const named = new RegExp(`\\b(?:to|into|as|named|called)\\s+["'\`]?(${pathWord.source})`, "i").exec(wish)?.[1]
  return named ?? wish.match(pathWord)?.[0]
}

/** Every call since the task, with its result. An earlier report at the same path is not a source for the new one. */
function gather(messages: readonly Message[], outputPath: string | undefined): readonly ToolFact[] {
  const ownReport = outputPath?.replace(/^\.\//, "")
  const isSource = (line: string) => line.trim() !== "" && line !== ownReport && !line.startsWith(`${ownReport}:`)
  const calls = messages.flatMap((message) => (message.role === "assistant" ? message.content : []))
  return messages.flatMap((message) => {
    if (message.role !== "tool") return []
    return message.content.map(({ callId, status, output }) => {
      const call = calls.find((part) => part.type === "tool-call" && part.callId === callId)
      const args = call?.type === "tool-call" && isJsonObject(call.args) ? call.args : {}
      const lines = plainText(output, "\n").split("\n").filter(isSource)
      const name = call?.type === "tool-call" ? call.name : "a tool"
      return { name, target: String(args.pattern ?? args.path ?? ""), status, lines }
    })
  })
}

function nextStep(task: Task, facts: readonly ToolFact[], offered: ReadonlySet<string>): Step {
  const called = (name: string) => facts.some((fact) => fact.name === name)
  if (!["List", "Grep", "Read", "Write"].some(called)) {
    const search = task.words.length > 0 && offered.has("Grep")
    const calls = [
      ...(offered.has("List") ? [{ name: "List", args: { path: "." } }] : []),
      ...(search ? [{ name: "Grep", args: { pattern: searchPattern(task.words), path: "." } }] : []),
    ]
    if (calls.length > 0) return { text: `Searching for: ${task.words.join(", ") || "anything"}.`, calls }
  }
  const paths = offered.has("Read") && !called("Read") && !called("Write") ? pathsToRead(task, facts) : []
  if (paths.length > 0) {
    return { text: `Reading ${paths.join(", ")}.`, calls: paths.map((path) => ({ name: "Read", args: { path } })) }
  }
  if (task.outputPath !== undefined && offered.has("Write") && !called("Write")) {
    const content = [
      `# Report: ${firstLine(task.text)}`,
      label,
      ...(facts.length > 0 ? describeFacts(facts, task.words) : [nothingSeen]),
    ].join("\n\n")
    return {
      text: `Writing ${task.outputPath}.`,
      calls: [{ name: "Write", args: { path: task.outputPath, content: `${content}\n` } }],
    }
  }
  return { text: finalText(task, facts), calls: [] }
}

function searchPattern(words: readonly string[]): string {
  const forms = words.flatMap((word) => [word, word.charAt(0).toUpperCase() + word.slice(1), word.toUpperCase()])
  return unique(forms.map((form) => form.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"))).join("|")
}

/**
 * Files named in the task, then those with most matches, then those in the listing, with names related to the task
 * first.
 */
function pathsToRead(task: Task, facts: readonly ToolFact[]): readonly string[] {
  const counts = new Map<string, number>()
  for (const { path } of matchesIn(facts)) counts.set(path, (counts.get(path) ?? 0) + 1)
  const listed = entriesIn(facts).filter((entry) => !entry.endsWith("/") && !entry.startsWith("."))
  const isNamed = (path: string) => Number(task.words.some((word) => path.toLowerCase().includes(word.toLowerCase())))
  return unique([
    ...task.inputPaths,
    ...[...counts].sort(([, left], [, right]) => right - left).map(([path]) => path),
    ...listed.sort((left, right) => isNamed(right) - isNamed(left)),
  ])
    .filter((path) => path !== task.outputPath)
    .slice(0, readLimit)
}

function finalText(task: Task, facts: readonly ToolFact[]): string {
  if (facts.length === 0) return nothingSeen
  const written = facts.find(({ name }) => name === "Write")
  const missed = task.outputPath !== undefined && `${task.outputPath} was not written.`
  const outcome =
    written?.status === "ok" ? `Wrote ${written.target}.` : missed || "These are the results of the tools."
  // The report has the rest.
  const isFound = written?.status === "ok" && matchesIn(facts).length > 0
  const shown = isFound ? facts.filter(({ name, status }) => name === "Grep" || status !== "ok") : facts
  return [outcome, ...describeFacts(shown, task.words)].join("\n\n")
}

function answer(text: string, calls: Step["calls"], seed: number, sink: AnswerSink): Answer {
  sink.partStart?.("text", 0)
  sink.delta?.("text", 0, text)
  const parts = calls.map(
    (call, index): AnswerCall => ({ type: "tool-call", wireId: `offline_${seed}_${index}`, ...call }),
  )
  for (const [index, part] of parts.entries()) sink.call?.(part, index + 1)
  return {
    parts: [{ type: "text", text }, ...parts],
    stopReason: parts.length > 0 ? "tool-calls" : "end",
    usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 },
    model: "offline",
  }
}

function firstLine(text: string): string {
  return text.trim().split("\n")[0] ?? ""
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)]
}
