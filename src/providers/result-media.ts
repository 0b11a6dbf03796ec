import type { ContentPart } from "../contract/content.ts"
import type { ToolMessage } from "../contract/message.ts"
import type { WireIds } from "./wire-ids.ts"

/**
 * The images and documents among tool results, each behind a line that says whose it is: for wires whose results are text
 * alone, where a user's message has to carry them. None where there are none.
 */
export function resultMedia({ content }: ToolMessage, ids: WireIds): readonly ContentPart[] {
  return content.flatMap(({ callId, output }) => {
    const media = output.filter(({ type }) => type !== "text")
    if (media.length === 0) return []
    const text = `[returned by ${ids.toolOf(callId)}, call ${ids.ofResult(callId)}]`
    return [{ type: "text", text } as const, ...media]
  })
}
