import type { Message, ToolResultPart } from "../../contract/message.ts"
import { utf8Length } from "../../lib/truncate.ts"

/** No tokenizer produces more tokens than a text has bytes. */
export function tokensAtMost(text: string): number {
  return utf8Length(text)
}

/** The maximum number of tokens of a message in a request. */
export function messageTokensAtMost({ content }: Message): number {
  let tokens = AROUND_A_MESSAGE
  for (const part of content) {
    if (part.type === "tool-result") for (const each of part.output) tokens += partTokensAtMost(each)
    else tokens += partTokensAtMost(part)
  }
  return tokens
}

function partTokensAtMost(part: Exclude<Message["content"][number], ToolResultPart>): number {
  switch (part.type) {
    case "text":
    case "reasoning":
      return tokensAtMost(part.text)
    case "tool-call":
      return tokensAtMost(part.name) + tokensAtMost(JSON.stringify(part.args))
    case "image":
      return AN_IMAGE
    case "file":
      // Pages count as text and as images, and compressed content grows.
      return AN_IMAGE + 2 * part.data.length
  }
}

const AROUND_A_MESSAGE = 50
/** More than any known provider counts for one. */
const AN_IMAGE = 10_000
