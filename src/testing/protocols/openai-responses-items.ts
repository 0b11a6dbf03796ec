import type { JsonObject } from "../../contract/json.ts"
import type { CompleteAnswer, CompletePart } from "../simulated.ts"
import { cutIntoDeltas } from "../simulated.ts"
import { idOf } from "./openai-shared.ts"
import type { Exchange } from "./protocol.ts"

export interface ResponsesEvent {
  readonly type: string
  readonly data: JsonObject
}

/** One item of an answer: its stream events, and its final form. */
interface ItemEvents {
  readonly events: readonly ResponsesEvent[]
  readonly whole: JsonObject
}

export function itemEvents(
  part: CompletePart,
  index: number,
  { deltaSize, stopReason }: CompleteAnswer,
  exchange: Exchange,
): ItemEvents {
  const place = { item_id: `${prefixes[part.kind]}${idOf(exchange)}_${index}`, output_index: index }
  if (part.kind === "call") return callEvents(part, place, deltaSize)
  if (part.kind === "reasoning") return reasoningEvents(part, place, deltaSize)
  return messageEvents(part.text, stopReason === "refusal" ? "refusal" : "output_text", place, deltaSize)
}

const prefixes = { text: "msg_", reasoning: "rs_", call: "fc_" } as const

interface Place extends JsonObject {
  readonly item_id: string
  readonly output_index: number
}

/** A refusal has its own kind of content. */
function messageEvents(text: string, kind: "output_text" | "refusal", place: Place, deltaSize: number): ItemEvents {
  const content = { ...place, content_index: 0 }
  const part = (words: string): JsonObject =>
    kind === "refusal" ? { type: kind, refusal: words } : { type: kind, annotations: [], logprobs: [], text: words }
  const item = (status: string, parts: readonly JsonObject[]) => ({
    id: place.item_id,
    type: "message",
    status,
    content: parts,
    role: "assistant",
  })
  const logprobs = kind === "refusal" ? {} : { logprobs: [] }
  const whole = item("completed", [part(text)])
  return {
    whole,
    events: [
      begun(place, item("in_progress", [])),
      { type: "response.content_part.added", data: { ...content, part: part("") } },
      ...deltas(`response.${kind}.delta`, text, deltaSize, content, logprobs),
      {
        type: `response.${kind}.done`,
        data: { ...content, [kind === "refusal" ? "refusal" : "text"]: text, ...logprobs },
      },
      { type: "response.content_part.done", data: { ...content, part: part(text) } },
      done(place, whole),
    ],
  }
}

function reasoningEvents(
  { text, signature = "c2ltdWxhdGVk" }: CompletePart & { readonly kind: "reasoning" },
  place: Place,
  deltaSize: number,
): ItemEvents {
  const summary = { ...place, summary_index: 0 }
  const part = (words: string) => ({ type: "summary_text", text: words })
  const item = { id: place.item_id, type: "reasoning" }
  const whole = { ...item, encrypted_content: signature, summary: [part(text)] }
  return {
    whole,
    events: [
      // Encrypted content is complete only at the end.
      begun(place, { ...item, encrypted_content: "", summary: [] }),
      { type: "response.reasoning_summary_part.added", data: { ...summary, part: part("") } },
      ...deltas("response.reasoning_summary_text.delta", text, deltaSize, summary),
      { type: "response.reasoning_summary_text.done", data: { ...summary, text } },
      { type: "response.reasoning_summary_part.done", data: { ...summary, part: part(text) } },
      done(place, whole),
    ],
  }
}

function callEvents(
  { id, name, argsText }: CompletePart & { readonly kind: "call" },
  place: Place,
  deltaSize: number,
): ItemEvents {
  const item = (status: string, args: string) => ({
    id: place.item_id,
    type: "function_call",
    status,
    arguments: args,
    call_id: id,
    name,
  })
  const whole = item("completed", argsText)
  return {
    whole,
    events: [
      begun(place, item("in_progress", "")),
      ...deltas("response.function_call_arguments.delta", argsText, deltaSize, place),
      { type: "response.function_call_arguments.done", data: { ...place, arguments: argsText } },
      done(place, whole),
    ],
  }
}

function begun({ output_index }: Place, item: JsonObject): ResponsesEvent {
  return { type: "response.output_item.added", data: { output_index, item } }
}

function done({ output_index }: Place, item: JsonObject): ResponsesEvent {
  return { type: "response.output_item.done", data: { output_index, item } }
}

/** Padded like the real ones, so that their length reveals little about their content. */
function deltas(
  type: string,
  text: string,
  deltaSize: number,
  place: JsonObject,
  rest: JsonObject = {},
): readonly ResponsesEvent[] {
  return cutIntoDeltas(text, deltaSize).map((delta) => ({
    type,
    data: { ...place, delta, ...rest, obfuscation: "x".repeat(16 - (delta.length % 16)) },
  }))
}
