import type { Message } from "../contract/message.ts"
import { utf8Length } from "./truncate.ts"

/** No tokenizer makes more tokens of a text than it has bytes. */
export function tokensAtMost(text: string): number {
  return utf8Length(text)
}

/** The most tokens that a message can take in a request. */
export function messageTokensAtMost({ content }: Message): number {
  let tokens = AROUND_A_MESSAGE
  for (const part of content) {
    switch (part.type) {
      case "text":
      case "reasoning":
        tokens += tokensAtMost(part.text)
        break
      case "tool-call":
        tokens += tokensAtMost(part.name) + tokensAtMost(JSON.stringify(part.args))
        break
      case "tool-result":
        for (const { text } of part.output) tokens += tokensAtMost(text)
        break
      case "image":
        tokens += AN_IMAGE
        break
      case "file":
        // Pages count as text and as pictures, and what is packed in them grows.
        tokens += AN_IMAGE + 2 * part.data.length
        break
    }
  }
  return tokens
}

const AROUND_A_MESSAGE = 50
/** More than any provider that we know counts for one. */
const AN_IMAGE = 10_000
