import type { Json, JsonObject } from "../../contract/json.ts"
import type { StopReason } from "../../contract/provider.ts"
import type { CompleteAnswer, CompletePart, SimulatedMessage, SimulatedSettings } from "../simulated.ts"
import { cutIntoDeltas } from "../simulated.ts"
import { blocksOf, isList, listAt, objectAt, textAt } from "./json-access.ts"
import { refuseChat } from "./openai-chat-validation.ts"
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

/** Chat Completions, streaming, as in OpenAI and compatible servers. */
export const openAiChatProtocol: Protocol = {
  name: "openai-chat",
  callIdPrefix: "call_sim_",
  requestIdHeader: REQUEST_ID_HEADER,
  matches: (path) => path.endsWith("/chat/completions"),
  parse,
  refuse: refuseChat,
  frames,
  errorFrame: (type, message) => frame(errorBody({ status: 500, type, message }), false),
  error: (refusal) => JSON.stringify(errorBody(refusal)),
}

function parse(_path: string, body: Json): ParsedRequest {
  const messages = listAt(body, "messages").map(objectAt)
  const system = messages.filter(isSystem)
  const { schema } = objectAt(objectAt(objectAt(body).response_format).json_schema)
  return {
    model: textAt(body, "model"),
    ...(system.length > 0 && { system: system.map(messageText).join("\n") }),
    messages: messages.filter((message) => !isSystem(message)).reduce(withMessage, []),
    tools: listAt(body, "tools").map((tool) => {
      const described = objectAt(tool).function
      return {
        name: textAt(described, "name"),
        description: textAt(described, "description"),
        inputSchema: objectAt(objectAt(described).parameters),
      }
    }),
    ...(schema !== undefined && { outputSchema: objectAt(schema) }),
    settings: settingsOf(objectAt(body)),
  }
}

function isSystem({ role }: JsonObject): boolean {
  return role === "system" || role === "developer"
}

function settingsOf(body: JsonObject): SimulatedSettings {
  const { max_completion_tokens, max_tokens, temperature, top_p, stop } = body
  const limit = max_completion_tokens ?? max_tokens
  const effort = textAt(body, "reasoning_effort")
  return {
    ...(typeof limit === "number" && { maxOutputTokens: limit }),
    ...(typeof temperature === "number" && { temperature }),
    ...(typeof top_p === "number" && { topP: top_p }),
    ...(stop !== undefined && { stopSequences: (isList(stop) ? stop : [stop]).map(String) }),
    ...(effort !== "" && { effort }),
  }
}

function withMessage(messages: readonly SimulatedMessage[], message: JsonObject): readonly SimulatedMessage[] {
  if (message.role === "tool") {
    return withResult(messages, { id: textAt(message, "tool_call_id"), text: messageText(message), isError: false })
  }
  const attachments = blocksOf(message.content).flatMap((block) => {
    if (block.type === "image_url") return [attachment(textAt(block.image_url, "url"), "")]
    return block.type === "file" ? [attachment(textAt(block.file, "file_data"), textAt(block.file, "filename"))] : []
  })
  const toolCalls = listAt(message, "tool_calls").map((call) => ({
    id: textAt(call, "id"),
    name: textAt(objectAt(call).function, "name"),
    args: parsedArguments(textAt(objectAt(call).function, "arguments")),
  }))
  const role = message.role === "assistant" ? "assistant" : "user"
  return [...messages, { ...silence, role, text: messageText(message), attachments, toolCalls }]
}

function messageText({ content }: JsonObject): string {
  return blocksOf(content)
    .filter(({ type }) => type === "text")
    .map((block) => textAt(block, "text"))
    .join("\n")
}

const finishReasons: Readonly<Partial<Record<StopReason, string>>> = {
  end: "stop",
  "tool-calls": "tool_calls",
  "output-limit": "length",
  refusal: "content_filter",
}

function frames(answer: CompleteAnswer, exchange: Exchange): readonly Frame[] {
  const finishReason = answer.wireStopReason ?? finishReasons[answer.stopReason]
  if (finishReason === undefined) throw new Error(`Chat Completions has no finish reason for ${answer.stopReason}.`)
  const calls = answer.parts.filter(({ kind }) => kind === "call")
  const chunk = (choices: readonly Json[], usage: Json, bookkeeping: boolean) =>
    frame(
      {
        id: `chatcmpl-${idOf(exchange)}`,
        object: "chat.completion.chunk",
        created: CREATED_AT,
        model: exchange.model,
        service_tier: "default",
        system_fingerprint: "fp_simulated",
        choices,
        usage,
      },
      bookkeeping,
    )
  const choice = (delta: JsonObject, bookkeeping: boolean, reason: string | null = null) =>
    chunk([{ index: 0, delta, logprobs: null, finish_reason: reason }], null, bookkeeping)
  return [
    choice({ role: "assistant", content: "", refusal: null }, true),
    ...answer.parts.flatMap((part) => [
      ...startOf(part, calls.indexOf(part)).map((delta) => choice(delta, true)),
      ...deltasOf(part, calls.indexOf(part), answer.deltaSize).map((delta) => choice(delta, false)),
    ]),
    choice({}, true, finishReason),
    chunk([], usageReport(answer, { input: "prompt_tokens", output: "completion_tokens" }), true),
    { text: "data: [DONE]\n\n", bookkeeping: true },
  ]
}

/** A call is announced before its arguments come. */
function startOf(part: CompletePart, index: number): readonly JsonObject[] {
  if (part.kind !== "call") return []
  const { id, name } = part
  return [{ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] }]
}

function deltasOf(part: CompletePart, index: number, deltaSize: number): readonly JsonObject[] {
  if (part.kind === "call") {
    return cutIntoDeltas(part.argsText, deltaSize).map((piece) => ({
      tool_calls: [{ index, function: { arguments: piece } }],
    }))
  }
  const field = part.kind === "text" ? "content" : "reasoning_content"
  return cutIntoDeltas(part.text, deltaSize).map((piece) => ({ [field]: piece }))
}

function frame(data: JsonObject, bookkeeping: boolean): Frame {
  return { text: `data: ${JSON.stringify(data)}\n\n`, bookkeeping }
}
