import type { TurnMessage } from "../../../contract/compaction.ts"
import type { Message, UserMessage } from "../../../contract/message.ts"
import { isFromAgent } from "../../../lib/compaction/agent-messages.ts"
import { isSummary, SUMMARY_START } from "../../../lib/compaction/compacted.ts"
import { CUT_AT_OUTPUT_LIMIT } from "../cut-answer.ts"
import type { ContextMeter } from "./meter.ts"

/** The messages of people in the replaced part of a conversation, the task last. */
export function wordsOf(said: readonly TurnMessage[], at: number, meter: ContextMeter): readonly UserMessage[] {
  const task = said.findLastIndex(({ turn, message }) => turn === 0 && isWord(message))
  const words: UserMessage[] = []
  let room = Math.min(MAX_WORDS, SHARE_OF_WORDS * meter.limit)
  for (let index = at - 1; index >= 0; index--) {
    const message = said[index]?.message
    if (message === undefined || !isWord(message) || index === task) continue
    room -= meter.tokensOf(message)
    if (room < 0) break
    words.unshift(message)
  }
  const given = said[task]?.message
  return task >= 0 && task < at && given?.role === "user" ? [...words, given] : words
}

/** The message that stands for the replaced part. */
export function summaryMessage(summary: string, facts: string): UserMessage {
  const texts = [`${SUMMARY_START}\n${INTRODUCTION}`, summary, ...(facts === "" ? [] : [facts]), GO_ON]
  return { role: "user", content: texts.map((text) => ({ type: "text", text })) }
}

/** The replaced part for the next summary: the text of the last one, and everything that is not in it. */
export function summarised(said: readonly TurnMessage[]): {
  readonly earlier: string
  readonly messages: readonly Message[]
} {
  const last = said.findLastIndex(({ message }) => isSummary(message))
  const [, text] = said[last]?.message.content ?? []
  const messages = said.map(({ message }) => message)
  if (text?.type !== "text") return { earlier: "", messages }
  return { earlier: text.text, messages: [...messages.slice(0, last), ...messages.slice(last + 1)] }
}

function isWord(message: Message): message is UserMessage {
  if (message.role !== "user" || isSummary(message) || isFromAgent(message)) return false
  const [first] = message.content
  return first?.type !== "text" || first.text !== CUT_AT_OUTPUT_LIMIT
}

const INTRODUCTION =
  "Earlier messages were removed to save room. What people wrote is kept word for word where it fits, directly before this " +
  "text: the task last, before it what they added. Everything described here has already happened."
const GO_ON =
  "Continue with the next action. Do not plan again what is planned, do not repeat what is done, and do not mention this " +
  "summary."
const MAX_WORDS = 20_000
const SHARE_OF_WORDS = 0.2
