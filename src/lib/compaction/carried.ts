import type { Json } from "../../contract/json.ts"
import type { Message } from "../../contract/message.ts"
import { plainText } from "../content.ts"
import { isJsonObject } from "../json.ts"
import { characterStart } from "../truncate.ts"
import { estimateTokens } from "./estimate.ts"

/**
 * The sentences around names that a new summary lacks: ids, paths, addresses and figures with letters. First those of the earlier
 * summary, then those of the agent, then those of results, newest first. A text that is full of names is data: it gives none.
 * `room`: in tokens.
 */
export function carriedSentences(earlier: string, messages: readonly Message[], known: string, room: number): string {
  const sentences: string[] = []
  let left = room
  const isKnown = (name: string) => known.includes(name) || sentences.some((sentence) => sentence.includes(name))
  for (const { text, maxNames } of [...linesOf(earlier), ...sourcesOf(messages)]) {
    const names = new Set(text.match(NAMES))
    if (names.size > maxNames) continue
    for (const name of names) {
      if (isKnown(name)) continue
      const sentence = sentenceAround(text, name)
      left -= estimateTokens(sentence) + 2
      if (left < 0) return sentences.join("\n")
      sentences.push(sentence)
    }
  }
  return sentences.join("\n")
}

interface Source {
  readonly text: string
  readonly maxNames: number
}

/** The last line first: what was lost long ago is the first to go. */
function linesOf(earlier: string): readonly Source[] {
  return earlier
    .split("\n")
    .toReversed()
    .map((text) => ({ text, maxNames: MAX_NAMES_OF_AGENT }))
}

function sourcesOf(messages: readonly Message[]): readonly Source[] {
  const ofAgent: Source[] = []
  const ofResults: Source[] = []
  for (const { role, content } of messages.toReversed()) {
    if (role === "user") continue
    for (const part of content) {
      if (part.type === "tool-result")
        ofResults.push({ text: plainText(part.output, "\n"), maxNames: MAX_NAMES_OF_RESULT })
      else if (part.type === "tool-call") ofAgent.push({ text: textsIn(part.args), maxNames: MAX_NAMES_OF_AGENT })
      else if (part.type === "text") ofAgent.push({ text: part.text, maxNames: MAX_NAMES_OF_AGENT })
    }
  }
  return [...ofAgent, ...ofResults]
}

function textsIn(value: Json): string {
  if (typeof value === "string") return value
  if (Array.isArray(value)) return value.map(textsIn).join("\n")
  return isJsonObject(value) ? Object.values(value).map(textsIn).join("\n") : ""
}

function sentenceAround(text: string, name: string): string {
  const at = text.indexOf(name)
  const behind = at + name.length
  const before = text.slice(characterStart(text, Math.max(0, at - AROUND)), at)
  const after = text.slice(behind, characterStart(text, behind + AROUND))
  const start = before.search(/[^.!?。！？\n]*$/)
  const end = after.search(/[.!?](?:\s|$)|[。！？\n]/)
  return `- ${before.slice(start).trimStart()}${name}${end === -1 ? after : after.slice(0, end)}`
}

/** At least five characters with a letter and a digit, or a path of two folders. */
const NAMES =
  /(?=[\w./:@#-]{0,79}\d)(?=[\w./:@#-]{0,79}[A-Za-z])\w[\w./:@#-]{3,78}\w|(?:[\w.-]{1,80}\/){2,20}[\w.-]{1,80}/g
const AROUND = 80
const MAX_NAMES_OF_AGENT = 12
const MAX_NAMES_OF_RESULT = 8
