import type { ContentPart, FilePart, ImagePart } from "../../contract/content.ts"
import type { Json } from "../../contract/json.ts"
import type { AssistantMessage, Message, ToolMessage } from "../../contract/message.ts"
import type { ConversationSetup } from "../../contract/provider.ts"
import { plainText } from "../../lib/content.ts"
import { isJsonObject } from "../../lib/json.ts"
import { closedSchema } from "../../lib/schema/output-schema.ts"
import { resultMedia } from "../result-media.ts"
import { WireIds } from "../wire-ids.ts"
import type {
  AiSdkCall,
  AiSdkData,
  AiSdkFile,
  AiSdkMediaV3,
  AiSdkMessage,
  AiSdkResult,
  AiSdkSaid,
  AiSdkText,
  ProviderData,
} from "./model.ts"
import type { AiSdkOptions } from "./options.ts"

/** The parts of every call other than its prompt. */
export type FixedCall = Omit<AiSdkCall<never, never>, "prompt" | "abortSignal">

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

/** How a specification represents non-text content. */
export interface MediaWords<Data, Media> {
  file(base64: string): Data
  inResult(part: ImagePart | FilePart): Media
}

export interface PromptOptions<Data, Media> {
  readonly system: string | undefined
  readonly origin: string
  readonly words: MediaWords<Data, Media>
  /** The package writes results as text, so a user message has to carry their images and documents. */
  readonly textResults: boolean
}

export const wordsV3: MediaWords<string, AiSdkMediaV3> = {
  file: (base64) => base64,
  inResult: (part) => ({ ...media(part, part.data), type: part.type === "image" ? "image-data" : "file-data" }),
}

export const wordsV4: MediaWords<AiSdkData, AiSdkFile<AiSdkData>> = {
  file: (data) => ({ type: "data", data }),
  inResult: (part) => media(part, { type: "data", data: part.data }),
}

export function promptOf<Data, Media>(
  messages: readonly Message[],
  { system, origin, words, textResults }: PromptOptions<Data, Media>,
): AiSdkMessage<Data, Media>[] {
  const ids = new WireIds({ refused: /[^A-Za-z0-9_-]/g })
  const prompt: AiSdkMessage<Data, Media>[] = system ? [{ role: "system", content: system }] : []
  const ask = (content: readonly ContentPart[]) =>
    prompt.push({ role: "user", content: content.map((part) => asked(part, words)) })
  for (const message of messages) {
    if (message.role === "user") ask(message.content)
    else if (message.role === "tool") {
      prompt.push({ role: "tool", content: results(message, ids, textResults ? undefined : words) })
      const shown = textResults ? resultMedia(message, ids) : []
      if (shown.length > 0) ask(shown)
    } else {
      const content = said(message, origin, ids)
      // A message with only another model's reasoning: nothing is left of it.
      if (content.length > 0) prompt.push({ role: "assistant", content })
    }
  }
  return prompt
}

/**
 * Opaque data that a reasoning part keeps for its origin: its own, and that of the following text, which cannot carry
 * any.
 */
export type SealedReasoning = { readonly own?: Json; readonly text?: Json }

function asked<Data>(part: ContentPart, words: MediaWords<Data, unknown>): AiSdkText | AiSdkFile<Data> {
  return part.type === "text" ? { type: "text", text: part.text } : media(part, words.file(part.data))
}

function media<Data>(part: ImagePart | FilePart, data: Data): AiSdkFile<Data> {
  const filename = part.type === "file" ? part.name : undefined
  return { type: "file", mediaType: part.mediaType, data, ...(filename !== undefined && { filename }) }
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

/** Without `words`, as text only; a failure always is. */
function results<Media>(
  { content }: ToolMessage,
  ids: WireIds,
  words: MediaWords<unknown, Media> | undefined,
): AiSdkResult<Media>[] {
  return content.map(({ callId, status, output }) => ({
    type: "tool-result",
    toolCallId: ids.ofResult(callId),
    toolName: ids.toolOf(callId),
    output:
      status === "ok" && words !== undefined && output.some(({ type }) => type !== "text")
        ? { type: "content", value: output.map((part) => (part.type === "text" ? part : words.inResult(part))) }
        : { type: status === "ok" ? "text" : "error-text", value: plainText(output, "\n") },
  }))
}

function providerOptions(data: Json | undefined): { providerOptions?: ProviderData } {
  // Safe: only what this provider itself recorded comes back here.
  return isJsonObject(data) ? { providerOptions: data as ProviderData } : {}
}
