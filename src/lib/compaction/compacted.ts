import type { Compaction, ConversationHead, CutResults, TurnMessage } from "../../contract/compaction.ts"
import type { ContentPart } from "../../contract/content.ts"
import type { Json } from "../../contract/json.ts"
import type { AssistantMessage, Message, ToolResultPart } from "../../contract/message.ts"
import { plainText } from "../content.ts"
import { isJsonObject } from "../json.ts"
import { characterStart } from "../truncate.ts"

type AssistantPart = AssistantMessage["content"][number]

/**
 * The conversation after a compaction. The backend applies it while it runs, and the journal's fold afterwards: how a text
 * is cut is part of the journal's format.
 */
export function compacted(
  said: readonly TurnMessage[],
  { results, head }: Pick<Compaction, "results" | "head">,
): readonly TurnMessage[] {
  const cut = results ? said.map((each, index) => withCuts(each, said.length - index, results)) : said
  if (!head) return cut
  return [...headOf(head), ...cut.slice(Math.max(0, firstKept(cut, head)))]
}

/**
 * The index of the first message that a head leaves. Negative: as many of the messages before these stay, too, which are
 * those of an earlier exchange.
 */
export function firstKept(said: readonly TurnMessage[], { through, kept = 0 }: ConversationHead): number {
  const later = said.findIndex(({ turn }) => turn > through)
  return (later === -1 ? said.length : later) - (through === 0 ? kept : 0)
}

/** Messages of people stay in turn 0, so that the next head finds the task again: their last message there. */
function headOf({ through, messages }: ConversationHead): readonly TurnMessage[] {
  return messages.map((message) => ({ turn: isSummary(message) ? through : 0, message }))
}

/** Call ids are unique among the turns of a run only, so that messages before its first turn are never cut. */
function withCuts(said: TurnMessage, place: number, cuts: CutResults): TurnMessage {
  const { turn, message } = said
  if (turn === 0) return said
  const { keep, args = {}, messages = {} } = cuts
  switch (message.role) {
    case "tool":
      if (!message.content.some(({ callId }) => Object.hasOwn(keep, callId))) return said
      return { turn, message: { role: "tool", content: message.content.map((part) => cutResult(part, cuts)) } }
    case "assistant":
      if (!message.content.some((part) => part.type === "tool-call" && Object.hasOwn(args, part.callId))) return said
      return { turn, message: { role: "assistant", content: message.content.map((part) => cutCall(part, args)) } }
    case "user": {
      const text = Object.hasOwn(messages, place) ? cutText(message.content, messages[place] ?? 0, "") : undefined
      return text === undefined ? said : { turn, message: { role: "user", content: [{ type: "text", text }] } }
    }
  }
}

/** A call whose long texts were shortened: the model made it, and has its result. */
function cutCall(part: AssistantPart, keep: NonNullable<CutResults["args"]>): AssistantPart {
  if (part.type !== "tool-call" || !Object.hasOwn(keep, part.callId)) return part
  return { ...part, args: shortened(part.args, keep[part.callId] ?? 0) }
}

/** Every text of the value with at most so many of its characters. */
function shortened(value: Json, characters: number): Json {
  if (typeof value === "string") return cutText([{ type: "text", text: value }], characters, "") ?? value
  if (Array.isArray(value)) return value.map((each) => shortened(each, characters))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shortened(each, characters)]))
}

/** A result with the given number of characters, or unchanged. */
function cutResult(part: ToolResultPart, { keep, note }: CutResults): ToolResultPart {
  if (!Object.hasOwn(keep, part.callId)) return part
  const text = cutText(part.output, keep[part.callId] ?? 0, note.replaceAll("{callId}", part.callId))
  return text === undefined ? part : { ...part, output: [{ type: "text", text }] }
}

/** Undefined: nothing has to be cut. */
function cutText(output: readonly ContentPart[], characters: number, note: string): string | undefined {
  const text = plainText(output, "\n")
  if (characters === 0) return note
  const isPlain = output.every(({ type }) => type === "text")
  if (text.length <= characters) return isPlain ? undefined : text
  const start = text.slice(0, characterStart(text, Math.ceil(characters / 2)))
  const end = text.slice(characterStart(text, text.length - Math.floor(characters / 2)))
  const reason = note === "" ? "" : ` ${note}`
  return `${start}\n[… ${text.length - start.length - end.length} characters are left out here.${reason} …]\n${end}`
}

/** The first words of every summary, by which a later compaction recognises it. */
export const SUMMARY_START = "[Summary of the conversation so far, written when it was shortened]"

export function isSummary({ role, content }: Message): boolean {
  const [first] = content
  return role === "user" && first?.type === "text" && first.text.startsWith(SUMMARY_START)
}
