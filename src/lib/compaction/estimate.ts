import type { ContentPart } from "../../contract/content.ts"
import type { Message } from "../../contract/message.ts"
import type { ToolSpec } from "../../contract/tool.ts"
import { messages as messageList, toolSpec } from "../schema/contract-shapes.ts"
import { checkShape, listOf } from "../schema/shape.ts"

/**
 * About how many tokens a text has, by runs of characters of one class. Within 15 % of real tokenizers for prose, code, JSON
 * and logs; lower for base64, higher for Chinese.
 */
export function estimateTokens(text: string): number {
  let tokens = 0
  for (let at = 0; at < text.length; ) {
    const kind = classOf(text.charCodeAt(at))
    const start = at
    let changes = 0
    while (++at < text.length && classOf(text.charCodeAt(at)) === kind) {
      if (kind === LETTER && isUpper(text.charCodeAt(at)) && !isUpper(text.charCodeAt(at - 1))) changes++
    }
    tokens += tokensOf(kind, at - start, changes, text.charCodeAt(start))
  }
  return Math.ceil(tokens)
}

/** The messages of a request, with what surrounds them. Each message is counted once. */
export function estimateMessage(message: Message): number {
  const known = counted.get(message)
  if (known !== undefined) return known
  let tokens = AROUND_A_MESSAGE
  for (const part of message.content) {
    switch (part.type) {
      case "tool-result":
        tokens += AROUND_A_CALL
        for (const each of part.output) tokens += estimateContent(each)
        break
      case "tool-call":
        tokens += AROUND_A_CALL + estimateTokens(part.name) + estimateTokens(JSON.stringify(part.args))
        break
      case "reasoning":
        tokens += estimateTokens(part.text)
        break
      default:
        tokens += estimateContent(part)
    }
  }
  counted.set(message, tokens)
  return tokens
}

/** The parts of every request other than messages. */
export function estimateFixed(system: string | undefined, others: readonly unknown[]): number {
  return estimateTokens(system ?? "") + estimateTokens(JSON.stringify(others))
}

export interface FirstTurnInput {
  readonly system?: string
  readonly tools?: readonly ToolSpec[]
  readonly messages?: readonly Message[]
}

/** About how many input tokens the first request of a run has. No model is asked, so it is an estimate. */
export function estimateFirstTurnInput(given: FirstTurnInput): number {
  checkShape<FirstTurnInput>("estimateFirstTurnInput", given, {
    system: "text",
    tools: listOf(toolSpec),
    messages: messageList,
  })
  const { system, tools = [], messages = [] } = given
  const specs = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }))
  return messages.reduce((sum, message) => sum + estimateMessage(message), estimateFixed(system, specs))
}

function estimateContent(part: ContentPart): number {
  if (part.type === "text") return estimateTokens(part.text)
  return part.type === "image" ? AN_IMAGE : AN_IMAGE + Math.ceil(part.data.length / BYTES_PER_FILE_TOKEN)
}

/** Messages never change. */
const counted = new WeakMap<Message, number>()

const [LETTER, DIGIT, SPACE, PUNCTUATION, OTHER] = [0, 1, 2, 3, 4] as const

function classOf(unit: number): 0 | 1 | 2 | 3 | 4 {
  if ((unit >= 97 && unit <= 122) || isUpper(unit)) return LETTER
  if (unit >= 48 && unit <= 57) return DIGIT
  if (unit === 32 || (unit >= 9 && unit <= 13)) return SPACE
  return unit < 128 ? PUNCTUATION : OTHER
}

function isUpper(unit: number): boolean {
  return unit >= 65 && unit <= 90
}

function tokensOf(kind: 0 | 1 | 2 | 3 | 4, length: number, changes: number, first: number): number {
  switch (kind) {
    case LETTER:
      return Math.max(1, length / 6 + 0.6 * changes)
    case DIGIT:
      return Math.ceil(length / 3)
    case SPACE:
      return length === 1 && first === 32 ? 0 : 1
    case PUNCTUATION:
      return Math.max(1, length / 2)
    case OTHER:
      return 0.85 * length
  }
}

const AROUND_A_MESSAGE = 4
const AROUND_A_CALL = 8
const AN_IMAGE = 1_500
/** Of base64. A page of a PDF is about 60,000 characters, and counts as text and as an image. */
const BYTES_PER_FILE_TOKEN = 20
