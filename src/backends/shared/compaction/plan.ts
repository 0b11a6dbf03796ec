import type { ConversationHead, CutResults, TurnMessage } from "../../../contract/compaction.ts"
import type { ContentPart } from "../../../contract/content.ts"
import type { Message, ToolResultPart } from "../../../contract/message.ts"
import { isFromAgent } from "../../../lib/compaction/agent-messages.ts"
import { isSummary } from "../../../lib/compaction/compacted.ts"
import { plainText } from "../../../lib/content.ts"
import type { ContextMeter } from "./meter.ts"

/** Where a conversation is cut: everything before `at` is replaced by a head. */
export interface Cut extends Pick<ConversationHead, "through" | "kept"> {
  readonly at: number
}

/**
 * What can go without a summary, except in the last turn: media, because some servers refuse requests with too much of it, and of
 * long arguments the middle of each text. The calls with these were made, and have their results. Null: there is nothing.
 */
export function removable(said: readonly TurnMessage[], meter: ContextMeter, note: string): CutResults | null {
  const lastTurn = said.at(-1)?.turn ?? 0
  const keep: Record<string, number> = {}
  const args: Record<string, number> = {}
  let newer = 0
  for (const { turn, message } of said.toReversed()) {
    // Only the ids of the run's own turns are unique.
    if (turn === 0 || message.role === "user") continue
    for (const part of message.content.toReversed()) {
      if (part.type === "tool-call" && JSON.stringify(part.args).length > LONG_ARGUMENTS) {
        newer += meter.tokensOf({ role: "assistant", content: [part] })
        if (turn !== lastTurn && newer > meter.keep) args[part.callId] = MIN_CHARACTERS
      }
      if (part.type !== "tool-result" || turn === lastTurn || part.status !== "ok") continue
      const hasMedia = part.output.some(({ type }) => type !== "text")
      // The text beside it stays.
      if (hasMedia) keep[part.callId] = textLength(part)
    }
  }
  return cutsOf({ keep, args, note })
}

/** Null: nothing is cut. */
function cutsOf({ keep, args = {}, messages = {}, note }: CutResults): CutResults | null {
  const hasArgs = Object.keys(args).length > 0
  const hasMessages = Object.keys(messages).length > 0
  if (!hasArgs && !hasMessages && Object.keys(keep).length === 0) return null
  return { keep, note, ...(hasArgs && { args }), ...(hasMessages && { messages }) }
}

/**
 * The first cut that fits; else the one before the last turn, which always stays: without it the model would make the same calls
 * again. Undefined: only the last turn is behind the last summary.
 */
export function cutOf(said: readonly TurnMessage[], fits: (at: number) => boolean): Cut | undefined {
  const places = cutPlaces(said)
  const at = places.find(fits) ?? places.at(-1)
  return at === undefined ? undefined : cutAt(said, at)
}

/** As much of what is before a cut as one summary can be written from, but at least one turn. `room`: in tokens. */
export function partOf(said: readonly TurnMessage[], cut: Cut, meter: ContextMeter, room: number): Cut {
  const start = said.findLastIndex(({ message }) => isSummary(message)) + 1
  // What people wrote stays anyway.
  const first = said.findIndex(({ message }, index) => index >= start && message.role !== "user")
  const places = cutPlaces(said).filter((at) => at > first && at <= cut.at)
  const at = places.findLast((place) => meter.tokensIn(said.slice(start, place)) <= room) ?? places[0] ?? cut.at
  return at === cut.at ? cut : cutAt(said, at)
}

/** Between two turns, and in the input before a message of a person. */
function cutPlaces(said: readonly TurnMessage[]): readonly number[] {
  const start = said.findLastIndex(({ message }) => isSummary(message)) + 1
  return said.flatMap(({ turn, message }, at) => {
    const before = said[at - 1]
    if (before === undefined || at <= start) return []
    return turn !== before.turn || (turn === 0 && message.role === "user") ? [at] : []
  })
}

function cutAt(said: readonly TurnMessage[], at: number): Cut {
  const first = said[at]?.turn ?? 0
  if (first > 0) return { at, through: first - 1 }
  return { at, through: 0, kept: said.slice(at).filter(({ turn }) => turn === 0).length }
}

/**
 * Shortens the results of the last turn, and the messages of agents behind it, to equal shares of the tokens that are left for
 * them. Null: none is longer.
 */
export function clippedResults(said: readonly TurnMessage[], meter: ContextMeter, note: string): CutResults | null {
  const sized = clippableOf(said, meter)
  const all = sized.reduce((sum, { tokens }) => sum + tokens, 0)
  const share = shareOf(
    sized.map(({ tokens }) => tokens),
    meter.target - (meter.sizeOf(said) - all),
  )
  const keep: Record<string, number> = {}
  const messages: Record<string, number> = {}
  for (const { callId, place, content, tokens } of sized) {
    if (tokens <= share) continue
    const { length } = plainText(content, "\n")
    const characters = Math.floor((length * share) / tokens) - note.length - AROUND_A_CUT
    const kept = Math.max(MIN_CHARACTERS, characters)
    if (callId === undefined) messages[place] = kept
    else keep[callId] = kept
  }
  return cutsOf({ keep, messages, note })
}

/**
 * A last turn that must be clipped in any case, whatever is summarised: if everything before it leaves it half of the room, no summary
 * is needed. Null: the last turn is not the problem.
 */
export function largeLastTurn(said: readonly TurnMessage[], meter: ContextMeter, note: string): CutResults | null {
  const results = clippableOf(said, meter).reduce((sum, { tokens }) => sum + tokens, 0)
  if (meter.fixed + results <= meter.target || meter.sizeOf(said) - results > meter.target / 2) return null
  return clippedResults(said, meter, note)
}

/** A result, or a message of an agent: then its `callId` is undefined. */
interface Clippable {
  readonly callId?: string
  /** From the end of the conversation. */
  readonly place: number
  readonly content: readonly ContentPart[]
  readonly tokens: number
}

/** The parts of the last turn that came from outside, and can be clipped. */
function clippableOf(said: readonly TurnMessage[], meter: ContextMeter): readonly Clippable[] {
  const lastTurn = said.at(-1)?.turn ?? 0
  if (lastTurn === 0) return []
  return said.flatMap(({ turn, message }, index): readonly Clippable[] => {
    const place = said.length - index
    if (turn !== lastTurn) return []
    if (message.role === "user" && isFromAgent(message))
      return [{ place, content: message.content, tokens: meter.tokensOf(message) }]
    if (message.role !== "tool") return []
    return message.content.map((part) => {
      const { callId, output: content } = part
      return { callId, place, content, tokens: meter.tokensOf(alone(part)) }
    })
  })
}

/** The most that each may have if those who need less leave the rest to the others. */
function shareOf(sizes: readonly number[], room: number): number {
  let left = Math.max(0, room)
  let others = sizes.length
  for (const size of [...sizes].sort((a, b) => a - b)) {
    if (size > left / others) return left / others
    left -= size
    others--
  }
  return Number.POSITIVE_INFINITY
}

/** Of its texts alone. 0: it has none, and a note takes its place. */
function textLength({ output }: ToolResultPart): number {
  return output.some(({ type }) => type === "text") ? plainText(output, "\n").length : 0
}

function alone(part: ToolResultPart): Message {
  return { role: "tool", content: [part] }
}

const LONG_ARGUMENTS = 2_000
const MIN_CHARACTERS = 200
const AROUND_A_CUT = 60
