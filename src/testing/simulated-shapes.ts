import type { Usage } from "../contract/result.ts"
import { textsByName, toolSpec } from "../lib/schema/contract-shapes.ts"
import { listOf, required, type Shape, shapeOf, words } from "../lib/schema/shape.ts"
import type {
  AnswerInParts,
  SimulatedAttachment,
  SimulatedMessage,
  SimulatedPart,
  SimulatedRequest,
  SimulatedSettings,
  SimulatedToolCall,
  SimulatedToolResult,
} from "./simulated.ts"

type Part<Key extends string> = Extract<SimulatedPart, { readonly [key in Key]: unknown }>

type Call<Key extends "args" | "rawArgs"> = Pick<SimulatedToolCall, "name" | "id"> & {
  readonly [key in Key]: string | object
}

/** `args`: a scripted model may give arguments that no server can send. */
export function answerField(args: "any" | "json") {
  const call = { name: required("text"), id: "text" } as const
  const partField = [
    shapeOf<Part<"text">>({ text: required("text") }),
    shapeOf<Part<"reasoning">>({ reasoning: required("text"), signature: "text" }),
    shapeOf<Part<"toolCall">>({
      toolCall: required([
        shapeOf<Call<"args">>({ ...call, args: required(args) }),
        shapeOf<Call<"rawArgs">>({ ...call, rawArgs: required("text") }),
      ]),
    }),
  ]
  return [
    "text",
    shapeOf<AnswerInParts>({
      parts: required(listOf(partField)),
      stopReason: words("end", "tool-calls", "output-limit", "context-overflow", "refusal", "pause"),
      wireStopReason: "text",
      usage: shapeOf<Partial<Usage>>({
        inputTokens: "number",
        outputTokens: "number",
        cacheReadTokens: "number",
        cacheWriteTokens: "number",
        costUsd: "number",
      }),
      deltaSize: "number",
    }),
  ] as const
}

const attachments = listOf(
  shapeOf<SimulatedAttachment>({ mediaType: required("text"), data: required("text"), name: "text" }),
)

const toolResults = listOf(
  shapeOf<SimulatedToolResult>({
    id: required("text"),
    text: required("text"),
    isError: required("boolean"),
    attachments,
  }),
)

const messageShape: Shape<SimulatedMessage> = {
  role: required(words("user", "assistant", "tool")),
  text: required("text"),
  attachments: required(attachments),
  signatures: required(listOf("text")),
  toolCalls: required(
    listOf(
      shapeOf<SimulatedMessage["toolCalls"][number]>({
        id: required("text"),
        name: required("text"),
        args: required("json"),
      }),
    ),
  ),
  toolResults: required(toolResults),
}

export const requestShape: Shape<SimulatedRequest> = {
  index: required("number"),
  protocol: required("text"),
  path: required("text"),
  headers: required(textsByName),
  body: required("json"),
  model: required("text"),
  system: "text",
  messages: required(listOf(shapeOf<SimulatedMessage>(messageShape))),
  tools: required(listOf(toolSpec)),
  outputSchema: "object",
  settings: required(
    shapeOf<SimulatedSettings>({
      maxOutputTokens: "number",
      temperature: "number",
      topP: "number",
      stopSequences: listOf("text"),
      effort: "text",
    }),
  ),
  lastToolResults: required(toolResults),
  lastUserText: required("text"),
}
