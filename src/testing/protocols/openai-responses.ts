import type { Json, JsonObject } from "../../contract/json.ts"
import type { CompleteAnswer, SimulatedMessage, SimulatedSettings } from "../simulated.ts"
import { withAttachments } from "../simulated.ts"
import { blocksOf, listAt, objectAt, textAt } from "./json-access.ts"
import { itemEvents, type ResponsesEvent } from "./openai-responses-items.ts"
import { refuseResponses } from "./openai-responses-validation.ts"
import {
  attachment,
  CREATED_AT,
  errorBody,
  idOf,
  parsedArguments,
  REQUEST_ID_HEADER,
  silence,
  usageReport,
  withResult,
} from "./openai-shared.ts"
import type { Exchange, Frame, ParsedRequest, Protocol } from "./protocol.ts"

/** OpenAI's Responses API, streaming, without server-side state. */
export const openAiResponsesProtocol: Protocol = {
  name: "openai-responses",
  callIdPrefix: "call_sim_",
  requestIdHeader: REQUEST_ID_HEADER,
  matches: (path) => path.endsWith("/responses"),
  parse,
  refuse: refuseResponses,
  frames,
  errorFrame: (type, message) => frame({ type: "error", data: { code: type, message, param: null } }, 0),
  error: (refusal) => JSON.stringify(errorBody(refusal)),
}

function parse(_path: string, body: Json): ParsedRequest {
  const items = inputItems(objectAt(body).input)
  const system = [textAt(body, "instructions"), ...items.filter(isSystem).map(messageText)].filter(
    (text) => text !== "",
  )
  const { schema } = objectAt(objectAt(objectAt(body).text).format)
  return {
    model: textAt(body, "model"),
    ...(system.length > 0 && { system: system.join("\n") }),
    messages: items.filter((item) => !isSystem(item)).reduce(withItem, []),
    tools: listAt(body, "tools").map((tool) => ({
      name: textAt(tool, "name"),
      description: textAt(tool, "description"),
      inputSchema: objectAt(objectAt(tool).parameters),
    })),
    ...(schema !== undefined && { outputSchema: objectAt(schema) }),
    settings: settingsOf(objectAt(body)),
  }
}

/** A string is a user message. */
function inputItems(input: Json | undefined): readonly JsonObject[] {
  return typeof input === "string"
    ? [{ role: "user", content: [{ type: "input_text", text: input }] }]
    : listAt({ input: input ?? null }, "input").map(objectAt)
}

function isSystem({ role }: JsonObject): boolean {
  return role === "system" || role === "developer"
}

function settingsOf({ max_output_tokens, temperature, top_p, reasoning }: JsonObject): SimulatedSettings {
  const effort = textAt(reasoning, "effort")
  return {
    ...(typeof max_output_tokens === "number" && { maxOutputTokens: max_output_tokens }),
    ...(typeof temperature === "number" && { temperature }),
    ...(typeof top_p === "number" && { topP: top_p }),
    ...(effort !== "" && { effort }),
  }
}

/** Adjacent items of the model are one message in our format. */
function withItem(messages: readonly SimulatedMessage[], item: JsonObject): readonly SimulatedMessage[] {
  if (item.type === "function_call_output") {
    const text = typeof item.output === "string" ? item.output : messageText({ content: item.output ?? null })
    const attachments = attachmentsOf({ content: item.output ?? null })
    return withResult(messages, {
      id: textAt(item, "call_id"),
      text,
      isError: false,
      ...withAttachments(attachments),
    })
  }
  if (item.role !== undefined && item.role !== "assistant") {
    return [...messages, { ...silence, role: "user", text: messageText(item), attachments: attachmentsOf(item) }]
  }
  const last = messages.at(-1)
  const isGoingOn = last?.role === "assistant"
  const before: SimulatedMessage = isGoingOn ? last : { ...silence, role: "assistant" }
  return [...messages.slice(0, isGoingOn ? -1 : undefined), withAssistantItem(before, item)]
}

function withAssistantItem(message: SimulatedMessage, item: JsonObject): SimulatedMessage {
  switch (item.type) {
    case "reasoning":
      return { ...message, signatures: [...message.signatures, textAt(item, "encrypted_content")] }
    case "function_call": {
      const args = parsedArguments(textAt(item, "arguments"))
      const call = { id: textAt(item, "call_id"), name: textAt(item, "name"), args }
      return { ...message, toolCalls: [...message.toolCalls, call] }
    }
    default:
      return { ...message, text: [message.text, messageText(item)].filter((text) => text !== "").join("\n") }
  }
}

function attachmentsOf({ content }: JsonObject): SimulatedMessage["attachments"] {
  return blocksOf(content).flatMap((block) => {
    if (block.type === "input_image") return [attachment(textAt(block, "image_url"), "")]
    return block.type === "input_file" ? [attachment(textAt(block, "file_data"), textAt(block, "filename"))] : []
  })
}

function messageText({ content }: JsonObject): string {
  return blocksOf(content)
    .filter(({ type }) => type === "input_text" || type === "output_text" || type === "text")
    .map((block) => textAt(block, "text"))
    .join("\n")
}

function frames(answer: CompleteAnswer, exchange: Exchange): readonly Frame[] {
  const items = answer.parts.map((part, index) => itemEvents(part, index, answer, exchange))
  const running = { ...responseOf(exchange), status: "in_progress", output: [], usage: null }
  const events: readonly ResponsesEvent[] = [
    { type: "response.created", data: { response: running } },
    { type: "response.in_progress", data: { response: running } },
    ...items.flatMap((item) => item.events),
    endOf(
      answer,
      exchange,
      items.map((item) => item.whole),
    ),
  ]
  return events.map(frame)
}

function endOf(answer: CompleteAnswer, exchange: Exchange, output: readonly JsonObject[]): ResponsesEvent {
  const cutFor = answer.wireStopReason ?? (answer.stopReason === "output-limit" ? "max_output_tokens" : undefined)
  if (answer.stopReason === "pause" || answer.stopReason === "context-overflow") {
    throw new Error(`The Responses API has no status for ${answer.stopReason}.`)
  }
  const status = cutFor === undefined ? "completed" : "incomplete"
  const usage = usageReport(answer, { input: "input_tokens", output: "output_tokens" })
  const details = { incomplete_details: cutFor === undefined ? null : { reason: cutFor } }
  return {
    type: `response.${status}`,
    data: { response: { ...responseOf(exchange), status, ...details, output, usage } },
  }
}

function responseOf(exchange: Exchange): JsonObject {
  return {
    id: `resp_${idOf(exchange)}`,
    object: "response",
    created_at: CREATED_AT,
    error: null,
    incomplete_details: null,
    model: exchange.model,
    store: false,
  }
}

/** Deltas add to the answer, and an item starts and ends once; everything else only repeats these. */
function frame({ type, data }: ResponsesEvent, sequence: number): Frame {
  return {
    text: `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence, ...data })}\n\n`,
    bookkeeping: !type.endsWith(".delta") && !type.startsWith("response.output_item."),
  }
}
