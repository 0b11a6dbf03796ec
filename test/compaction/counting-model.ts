import { LonghaulError } from "../../src/contract/error.ts"
import type { Message } from "../../src/contract/message.ts"
import type { Answer, AnswerPart, ConversationSetup, Model } from "../../src/contract/provider.ts"
import { estimateFixed, estimateMessage, estimateTokens } from "../../src/lib/compaction/estimate.ts"
import { plainText } from "../../src/lib/content.ts"

/** One request to the model, as it was at that time. */
export interface CountedRequest {
  readonly messages: readonly Message[]
  readonly setup: ConversationSetup
  /** According to the server. */
  readonly tokens: number
  readonly isSummary: boolean
  readonly isRefused: boolean
}

export interface CountingOptions {
  /** The window that the server has. */
  readonly window: number
  /** The window that the model declares. Default: the server's. */
  readonly declared?: number
  /** The server counts as many times our estimate. */
  readonly factor?: number
  /** Answers a turn; the number counts answered turns from 1. */
  turn(request: CountedRequest, number: number): AnswerPart[] | string
  /** Answers a request for a summary. Default: a short text. */
  summary?(request: CountedRequest, number: number): string | Partial<Answer> | LonghaulError
  /** The error of a refusal. Default: names the window. */
  refusal?(tokens: number): LonghaulError
  readonly reportsUsage?: boolean
  /** Called before the answer to a turn. */
  onTurn?(number: number): void | Promise<void>
  /** True: the answer to this turn is cut because the window is full. */
  cut?(number: number): boolean
}

/** A model whose server counts with our estimator, times a factor, and refuses what exceeds its window. */
export function countingModel(options: CountingOptions) {
  const { window, declared = window, factor = 1.3 } = options
  const requests: CountedRequest[] = []
  let turns = 0
  let summaries = 0
  const model: Model = {
    provider: "counting",
    id: "counting",
    contextTokens: declared,
    converse: (setup) => ({
      async call(messages, sink) {
        const isSummary = isSummaryRequest(messages)
        const fixed = estimateFixed(setup.system, [setup.tools, setup.outputSchema ?? null])
        const estimate = messages.reduce((sum, message) => sum + estimateMessage(message), fixed)
        const tokens = Math.ceil(factor * estimate)
        const isRefused = tokens > window
        const request: CountedRequest = { messages: [...messages], setup, tokens, isSummary, isRefused }
        requests.push(request)
        if (isRefused) throw (options.refusal ?? tooLong(window))(tokens)
        if (!isSummary) await options.onTurn?.(turns + 1)
        const given = isSummary
          ? (options.summary?.(request, ++summaries) ?? "Goal: the task. Done: some steps. Next action: go on.")
          : options.turn(request, ++turns)
        if (given instanceof LonghaulError) throw given
        const answer = answerOf(given, tokens, options.reportsUsage !== false)
        for (const [index, part] of answer.parts.entries()) if (part.type === "tool-call") sink.call?.(part, index)
        if (isSummary || !options.cut?.(turns)) return answer
        turns--
        return { ...answer, stopReason: "context-overflow" }
      },
    }),
  }
  return { model, requests }
}

const tooLong = (window: number) => (tokens: number) =>
  new LonghaulError("context_overflow", `prompt is too long: ${tokens} tokens > ${window} maximum`)

function answerOf(given: AnswerPart[] | string | Partial<Answer>, tokens: number, isReported: boolean): Answer {
  const partial = typeof given === "string" ? { parts: [text(given)] } : Array.isArray(given) ? { parts: given } : given
  const parts = partial.parts ?? []
  const hasCall = parts.some(({ type }) => type === "tool-call")
  return {
    parts,
    stopReason: hasCall ? "tool-calls" : "end",
    usage: {
      inputTokens: isReported ? tokens : null,
      outputTokens: isReported ? Math.ceil(1.3 * estimateTokens(JSON.stringify(parts))) : null,
      cacheReadTokens: null,
      cacheWriteTokens: null,
      costUsd: null,
    },
    model: "counting",
    ...partial,
  }
}

/** True for a request at the end of the run's own conversation, and for one in a conversation of its own. */
export function isSummaryRequest(messages: readonly Message[]): boolean {
  const last = messages.at(-1)
  return last?.role === "user" && /^Write the summary now/m.test(plainText(last.content, "\n"))
}

export const text = (words: string): AnswerPart => ({ type: "text", text: words })
let ids = 0
export const call = (name: string, args = {}): AnswerPart => ({ type: "tool-call", wireId: `w${++ids}`, name, args })

/** Each call has exactly one result in the next message, roles alternate, and nothing is empty. */
export function problemsOf(messages: readonly Message[]): readonly string[] {
  return messages.flatMap((message, index) => {
    const before = messages[index - 1]
    const problems: string[] = []
    if (index === 0 && message.role !== "user") problems.push("does not begin with the user")
    if (message.content.length === 0) problems.push(`${index} is empty`)
    if (before?.role === message.role) problems.push(`${index} repeats the role ${message.role}`)
    const calls = before?.role === "assistant" ? callIds(before) : []
    const results = message.role === "tool" ? message.content.map(({ callId }) => callId) : []
    if (calls.join() !== results.join()) problems.push(`${index}: calls ${calls} have the results ${results}`)
    return problems
  })
}

function callIds({ content }: Message): readonly string[] {
  return content.flatMap((part) => (part.type === "tool-call" ? [part.callId] : []))
}

export function wordsIn(messages: readonly Message[]): string {
  return JSON.stringify(messages)
}
