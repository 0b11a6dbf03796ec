import type { ContentPart } from "../../contract/content.ts"
import type { Json } from "../../contract/json.ts"
import type { AssistantMessage, Message, ToolMessage } from "../../contract/message.ts"
import type { ConversationSetup } from "../../contract/provider.ts"
import { isJsonObject } from "../../lib/json.ts"
import { closedSchema } from "../output-schema.ts"
import { WireIds } from "../wire-ids.ts"
import type { AiSdkCall, AiSdkFile, AiSdkMessage, AiSdkSaid, AiSdkText, ProviderData } from "./model.ts"
import type { AiSdkOptions } from "./options.ts"

/** What every call of a conversation says, beside its prompt. */
export type FixedCall = Omit<AiSdkCall<never>, "prompt" | "abortSignal">

export function fixedCall(options: AiSdkOptions, setup: ConversationSetup): FixedCall {
  const { topP, topK, seed, stopSequences, headers, providerOptions } = options
  const maxOutputTokens = setup.maxOutputTokens ?? options.maxOutputTokens
  const tools = setup.tools.map(
    ({ name, description, inputSchema }) => ({ type: "function", name, description, inputSchema }) as const,
  )
  return {
    ...(tools.length > 0 && { tools }),
    ...(setup.outputSchema && { responseFormat: { type: "json", schema: closedSchema(setup.outputSchema) } }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(setup.temperature !== undefined && { temperature: setup.temperature }),
    ...(topP !== undefined && { topP }),
    ...(topK !== undefined && { topK }),
    ...(seed !== undefined && { seed }),
    ...(stopSequences !== undefined && { stopSequences: [...stopSequences] }),
    ...(headers !== undefined && { headers: { ...headers } }),
    ...(providerOptions !== undefined && { providerOptions }),
  }
}

/** `file`: how the specification gives a file's base64. */
export function promptOf<Data>(
  messages: readonly Message[],
  { system, origin, file }: { system: string | undefined; origin: string; file: (base64: string) => Data },
): AiSdkMessage<Data>[] {
  const ids = new WireIds({ refused: /[^A-Za-z0-9_-]/g })
  const prompt: AiSdkMessage<Data>[] = system ? [{ role: "system", content: system }] : []
  for (const message of messages) {
    if (message.role === "user")
      prompt.push({ role: "user", content: message.content.map((part) => asked(part, file)) })
    else if (message.role === "tool") prompt.push({ role: "tool", content: results(message, ids) })
    else {
      const content = said(message, origin, ids)
      // One of another model's reasoning alone: nothing is left of it.
      if (content.length > 0) prompt.push({ role: "assistant", content })
    }
  }
  return prompt
}

/** What a reasoning part keeps for its origin: its own data, and that of the text behind it, which has no place for it. */
export type SealedReasoning = { readonly own?: Json; readonly text?: Json }

function asked<Data>(part: ContentPart, file: (base64: string) => Data): AiSdkText | AiSdkFile<Data> {
  if (part.type === "text") return { type: "text", text: part.text }
  const filename = part.type === "file" ? part.name : undefined
  return { type: "file", mediaType: part.mediaType, data: file(part.data), ...(filename !== undefined && { filename }) }
}

function said({ content }: AssistantMessage, origin: string, ids: WireIds): AiSdkSaid[] {
  const parts: AiSdkSaid[] = []
  let textData: Json | undefined
  for (const part of content) {
    const isOwn = part.type !== "text" && part.origin === origin
    if (part.type === "text") {
      if (part.text !== "") parts.push({ type: "text", text: part.text, ...providerOptions(textData) })
    } else if (part.type === "tool-call") {
      const { name: toolName, args: input, opaque } = part
      const call = { type: "tool-call", toolCallId: ids.ofCall(part), toolName, input } as const
      parts.push({ ...call, ...providerOptions(isOwn ? opaque : undefined) })
    } else if (isOwn) {
      const sealed: SealedReasoning = isJsonObject(part.opaque) ? part.opaque : {}
      parts.push({ type: "reasoning", text: part.text, ...providerOptions(sealed.own) })
      textData = sealed.text
      continue
    }
    textData = undefined
  }
  return parts
}

function results({ content }: ToolMessage, ids: WireIds) {
  return content.map(({ callId, status, output }) => {
    const value = output.map(({ text }) => text).join("\n")
    return {
      type: "tool-result",
      toolCallId: ids.ofResult(callId),
      toolName: ids.toolOf(callId),
      output: { type: status === "ok" ? "text" : "error-text", value },
    } as const
  })
}

function providerOptions(data: Json | undefined): { providerOptions?: ProviderData } {
  return isJsonObject(data) ? { providerOptions: data as ProviderData } : {}
}
