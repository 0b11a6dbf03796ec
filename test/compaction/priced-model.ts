import { LonghaulError } from "../../src/contract/error.ts"
import type { Message } from "../../src/contract/message.ts"
import type { Answer, AnswerPart, Model } from "../../src/contract/provider.ts"
import { isSummaryRequest } from "./counting-model.ts"
import type { Language } from "./planted.ts"

/** A request for a summary. `prompt`: its texts, without earlier summaries that it is told to leave as they are. */
export interface SummaryRequest {
  readonly prompt: string
  readonly messages: readonly Message[]
  readonly window: number
}

export interface PricedOptions {
  readonly language: Language
  readonly window: number
  /** The answer to a turn, counted from 1. */
  turn(number: number, messages: readonly Message[]): readonly AnswerPart[] | string
  summary(request: SummaryRequest): string
}

/** What a server was paid for. */
export interface Bill {
  window: number
  calls: number
  summaries: number
  refused: number
  cutSummaries: number
  /** Summaries in a conversation of their own. */
  apart: number
  /** In input tokens: a cached one costs a tenth, one that is written to the cache a fourth more, one of output five. */
  cost: number
  /** The texts of every request for a summary. */
  readonly shown: string[]
  /** Tokens of the longest request. */
  longest: number
}

/**
 * A model whose server counts tokens in its own way, refuses what exceeds its window, cuts at the limit of output, and caches the
 * beginning that a request shares with the last one.
 */
export function pricedModel(options: PricedOptions): { readonly model: Model; readonly bill: Bill } {
  const { language } = options
  const bill: Bill = {
    ...{
      window: options.window,
      calls: 0,
      summaries: 0,
      refused: 0,
      cutSummaries: 0,
      apart: 0,
      cost: 0,
      shown: [],
      longest: 0,
    },
  }
  let turns = 0
  let cached: readonly string[] = []
  const model: Model = {
    provider: "priced",
    id: "priced",
    maxOutputTokens: Math.min(8_000, Math.floor(options.window / 4)),
    converse: (setup) => ({
      async call(messages, sink): Promise<Answer> {
        const prefix = [JSON.stringify([setup.system, setup.tools]), ...messages.map((each) => textsOf(each))]
        const sizes = prefix.map((each) => tokensIn(each, language))
        const tokens = sizes.reduce((sum, each) => sum + each, 0)
        const isSummary = isSummaryRequest(messages)
        if (tokens > bill.window) {
          bill.refused++
          throw new LonghaulError("context_overflow", `prompt is too long: ${tokens} tokens > ${bill.window} maximum`)
        }
        bill.calls++
        bill.longest = Math.max(bill.longest, tokens)
        const given = isSummary
          ? options.summary({ prompt: promptOf(messages), messages, window: bill.window })
          : options.turn(++turns, messages)
        let parts: readonly AnswerPart[] = typeof given === "string" ? [{ type: "text", text: given }] : given
        let stopReason: Answer["stopReason"] = parts.some(({ type }) => type === "tool-call") ? "tool-calls" : "end"
        const most = setup.maxOutputTokens ?? Number.POSITIVE_INFINITY
        let output = tokensIn(JSON.stringify(parts), language)
        if (typeof given === "string" && output > most) {
          parts = [{ type: "text", text: given.slice(0, Math.floor((given.length * most) / output)) }]
          output = most
          stopReason = "output-limit"
          if (isSummary) bill.cutSummaries++
        }
        if (isSummary) {
          bill.summaries++
          bill.shown.push(messages.map((each) => textsOf(each)).join("\n"))
        }
        const shared = prefix.findIndex((each, index) => each !== cached[index])
        const same = shared === -1 ? prefix.length : shared
        const read = sizes.slice(0, same).reduce((sum, each) => sum + each, 0)
        // A summary in a conversation of its own writes no cache: nothing would read it.
        if (isSummary && same === 0) bill.apart++
        const isOwn = isSummary && same === 0
        bill.cost += 0.1 * read + (isOwn ? 1 : 1.25) * (tokens - read) + 5 * output
        if (!isSummary) cached = prefix
        for (const [index, part] of parts.entries()) if (part.type === "tool-call") sink.call?.(part, index)
        const usage = { inputTokens: tokens, outputTokens: output, cacheReadTokens: 0, cacheWriteTokens: 0 }
        return { parts: [...parts], stopReason, usage: { ...usage, costUsd: null }, model: "priced" }
      },
    }),
  }
  return { model, bill }
}

/** Not our estimator: characters by language, as real tokenizers were measured. */
function tokensIn(text: string, language: Language): number {
  const wide = language === "chinese" ? (text.match(/[\u3000-\u9fff\uff00-\uffef]/g)?.length ?? 0) : 0
  return Math.ceil(wide / 1.3 + (text.length - wide) / PER_TOKEN[language])
}

function textsOf(message: Message): string {
  return message.content
    .map((part) => {
      if (part.type === "text" || part.type === "reasoning") return part.text
      if (part.type === "tool-call") return `${part.name} ${JSON.stringify(part.args)}`
      return part.type === "tool-result"
        ? part.output.map((each) => (each.type === "text" ? each.text : "")).join("\n")
        : ""
    })
    .join("\n")
}

/** The texts that a summary has to cover: not what an earlier summary says, if that stays. */
function promptOf(messages: readonly Message[]): string {
  const texts = messages.map((each) => textsOf(each))
  const isAdded = texts.at(-1)?.includes("so do not repeat ") === true
  const own = isAdded ? texts.filter((text) => !text.startsWith("[Summary of the conversation so far")) : texts
  const whole = own.join("\n")
  const end = isAdded ? whole.lastIndexOf("</earlier-summaries>") : -1
  return end === -1 ? whole : whole.slice(end)
}

const PER_TOKEN: Readonly<Record<Language, number>> = { prose: 4.4, json: 2.4, chinese: 3.6 }
