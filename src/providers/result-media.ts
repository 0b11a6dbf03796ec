import type { ContentPart } from "../contract/content.ts"
import type { ToolMessage } from "../contract/message.ts"
import type { WireIds } from "./wire-ids.ts"

/**
 * The images and documents of tool results, each after a line that names its call: for protocols with text-only
 * results, where a user message has to carry them. Empty if there are none.
 */
export function resultMedia({ content }: ToolMessage, ids: WireIds): readonly ContentPart[] {
  return content.flatMap(({ callId, output }) => {
    const media = output.filter(({ type }) => type !== "text")
    if (media.length === 0) return []
    const text = `[returned by ${ids.toolOf(callId)}, call ${ids.ofResult(callId)}]`
    return [{ type: "text", text } as const, ...media]
  })
}
