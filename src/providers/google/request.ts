import type { ContentPart } from "../../contract/content.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import type {
  AssistantMessage,
  Message,
  ReasoningPart,
  ToolCallPart,
  ToolMessage,
  ToolResultPart,
} from "../../contract/message.ts"
import type { ConversationSetup } from "../../contract/provider.ts"
import { plainText } from "../../lib/content.ts"
import { isJsonObject } from "../../lib/json.ts"
import { closedSchema } from "../../lib/schema/output-schema.ts"
import type { BodyShape } from "../body-buffer.ts"
import { resultMedia } from "../result-media.ts"
import { WireIds } from "../wire-ids.ts"
import { type Family, familyOf } from "./models.ts"
import type { GoogleOptions } from "./options.ts"

/** The request body: constant parts first, contents last, so that only the end ever changes. */
export function bodyShape(options: GoogleOptions, setup: ConversationSetup): BodyShape {
  const family = familyOf(options.model)
  const declarations = setup.tools.map(({ name, description, inputSchema }) => ({
    name,
    description,
    parametersJsonSchema: inputSchema,
  }))
  const generation = generationConfig(options, setup, family)
  const fixed = JSON.stringify({
    ...(setup.system && { systemInstruction: { parts: [{ text: setup.system }] } }),
    ...(declarations.length > 0 && { tools: [{ functionDeclarations: declarations }] }),
    generationConfig: generation,
  })
  const writer = new ContentWriter(`google:${options.model}`, family)
  return {
    prefix: `${fixed.slice(0, -1)},"contents":[`,
    suffix: "]}",
    ...(typeof generation.maxOutputTokens === "number" && { maxOutputTokens: generation.maxOutputTokens }),
    fragment: (message) => JSON.stringify(writer.content(message)),
  }
}

function generationConfig(options: GoogleOptions, setup: ConversationSetup, family: Family): JsonObject {
  const thinking = thinkingOf(options, setup, family)
  const budget = Number(thinking?.thinkingBudget ?? 0)
  const asked = setup.maxOutputTokens ?? options.maxOutputTokens
  // Thinking counts as output: it must not use up the whole answer.
  const maxOutputTokens = asked && Math.max(asked, budget > 0 ? budget + 1024 : 0)
  // Older models reject a request with both; they are instructed in text then.
  const schema = setup.tools.length === 0 || family.combinesSchemaAndTools ? setup.outputSchema : undefined
  return {
    ...(setup.temperature !== undefined && { temperature: setup.temperature }),
    ...(options.topP !== undefined && { topP: options.topP }),
    ...(options.topK !== undefined && { topK: options.topK }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(options.stopSequences !== undefined && { stopSequences: options.stopSequences }),
    ...(options.seed !== undefined && { seed: options.seed }),
    ...(schema && { responseMimeType: "application/json", responseJsonSchema: closedSchema(schema) }),
    ...(thinking && { thinkingConfig: thinking }),
  }
}

function thinkingOf(
  { model, thinkingTokens }: GoogleOptions,
  { effort }: ConversationSetup,
  family: Family,
): JsonObject | undefined {
  const asked =
    thinkingTokens === undefined
      ? effort !== undefined && family.thinking?.(model, effort)
      : { thinkingBudget: thinkingTokens }
  return asked ? { includeThoughts: asked.thinkingBudget !== 0, ...asked } : undefined
}

/** Converts messages to contents; remembers the call of each result, since the protocol names the function again. */
class ContentWriter {
  readonly #ids = new WireIds({ refused: /[^A-Za-z0-9_-]/g })
  readonly #origin: string
  readonly #family: Family

  constructor(origin: string, family: Family) {
    this.#origin = origin
    this.#family = family
  }

  content(message: Message): JsonObject {
    switch (message.role) {
      case "user":
        return { role: "user", parts: filled(message.content.flatMap(userPart)) }
      case "tool":
        return { role: "user", parts: this.#responseParts(message) }
      case "assistant":
        return { role: "model", parts: filled(this.#modelParts(message)) }
    }
  }

  #modelParts({ content }: AssistantMessage): JsonObject[] {
    const parts: JsonObject[] = []
    for (const part of content) {
      if (part.type === "text") parts.push(...textPart(part.text))
      else if (part.type === "tool-call") parts.push(this.#callPart(part))
      else if (part.origin === this.#origin) addReasoning(parts, part)
    }
    const calls = parts.filter(({ functionCall }) => functionCall !== undefined)
    const [first] = calls
    if (!this.#family.wantsSignatures || first === undefined || calls.some(isSigned)) return parts
    return parts.map((part) => (part === first ? { ...part, thoughtSignature: UNSIGNED } : part))
  }

  #callPart(part: ToolCallPart): JsonObject {
    const { name, args, opaque, origin } = part
    // The protocol accepts only objects; the model's mistake is in the result's error.
    const functionCall = { id: this.#ids.ofCall(part), name, args: isJsonObject(args) ? args : {} }
    const isOwn = origin === this.#origin && typeof opaque === "string"
    return { functionCall, ...(isOwn && { thoughtSignature: opaque }) }
  }

  /** Older models accept no media in a response: it follows all of them then. */
  #responseParts(message: ToolMessage): readonly JsonObject[] {
    const responses = message.content.map((result) => this.#responsePart(result))
    return this.#family.mediaInResponses
      ? responses
      : [...responses, ...resultMedia(message, this.#ids).flatMap(userPart)]
  }

  #responsePart({ callId, status, output }: ToolResultPart): JsonObject {
    const text = plainText(output, "\n")
    const media = this.#family.mediaInResponses ? output.filter(({ type }) => type !== "text") : []
    return {
      functionResponse: {
        id: this.#ids.ofResult(callId),
        name: this.#ids.toolOf(callId),
        response: status === "ok" ? { output: text } : { error: text },
        ...(media.length > 0 && { parts: media.flatMap(userPart) }),
      },
    }
  }
}

/** The vendor's documented value for calls of another model: without it, newer models reject the request. */
const UNSIGNED = "skip_thought_signature_validator"

function isSigned({ thoughtSignature }: JsonObject): boolean {
  return thoughtSignature !== undefined
}

/** Signed thoughts are sent back unchanged; an unsigned summary is useless to the model. */
function addReasoning(parts: JsonObject[], { text, opaque }: ReasoningPart): void {
  if (typeof opaque === "string") {
    parts.push({ text, thought: true, thoughtSignature: opaque })
  } else if (isJsonObject(opaque) && typeof opaque.text === "string") {
    // The signature of the previous text, which cannot carry its own.
    const last = parts.at(-1)
    const takesIt = last?.text !== undefined && !isSigned(last)
    if (takesIt) parts.pop()
    parts.push({ ...(takesIt ? last : { text: "" }), thoughtSignature: opaque.text })
  }
}

function userPart(part: ContentPart): readonly JsonObject[] {
  if (part.type === "text") return textPart(part.text)
  return [{ inlineData: { mimeType: part.mediaType, data: part.data } }]
}

function textPart(text: string): readonly JsonObject[] {
  return text === "" ? [] : [{ text }]
}

/** A message that is empty for this model, such as one with only another's reasoning, still has its turn. */
function filled(parts: readonly Json[]): readonly Json[] {
  return parts.length > 0 ? parts : [{ text: "(No message.)" }]
}
