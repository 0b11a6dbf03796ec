import type { Json, JsonObject } from "../../contract/json.ts"
import type { StopReason } from "../../contract/provider.ts"
import type { CompleteAnswer, SimulatedAttachment, SimulatedMessage, SimulatedSettings } from "../simulated.ts"
import { cutIntoDeltas, withAttachments } from "../simulated.ts"
import { refuseGoogle, signsCalls, UNSIGNED } from "./google-validation.ts"
import { blocksOf, isList, listAt, objectAt, textAt } from "./json-access.ts"
import type { Exchange, Frame, ParsedRequest, Protocol, Refusal } from "./protocol.ts"

/** Google's Gemini API, streaming. */
export const googleProtocol: Protocol = {
  name: "google",
  callIdPrefix: "call_sim_",
  requestIdHeader: "x-goog-request-id",
  matches: (path) => modelPath.test(path),
  parse,
  refuse: refuseGoogle,
  frames,
  errorFrame: (status, message) => frame({ error: { code: codes[status] ?? 500, message, status } }),
  error: (refusal) => JSON.stringify({ error: errorOf(refusal) }),
}

const modelPath = /^\/v1beta\/models\/([^/]+):streamGenerateContent$/

const statuses: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
  529: "UNAVAILABLE",
}

const codes: Readonly<Record<string, number>> = { RESOURCE_EXHAUSTED: 429, UNAVAILABLE: 503, DEADLINE_EXCEEDED: 504 }

const messages: Readonly<Record<number, string>> = {
  404: "models/simulated is not found for API version v1beta",
  429: "You exceeded your current quota",
  500: "An internal error has occurred",
  503: "The model is overloaded. Please try again later.",
}

/** The protocol has no value for the last two: such requests are rejected, and nothing pauses. */
const finishReasons: Readonly<Record<StopReason, string>> = {
  end: "STOP",
  "tool-calls": "STOP",
  "output-limit": "MAX_TOKENS",
  refusal: "SAFETY",
  "context-overflow": "OTHER",
  pause: "OTHER",
}

function parse(path: string, body: Json): ParsedRequest {
  const { generationConfig, systemInstruction } = objectAt(body)
  const config = objectAt(generationConfig)
  const schema = config.responseJsonSchema ?? config.responseSchema
  const system = joinTexts(partsOf(systemInstruction))
  return {
    model: modelPath.exec(path)?.[1] ?? "",
    ...(system !== "" && { system }),
    messages: parseContents(listAt(body, "contents")),
    tools: listAt(body, "tools")
      .flatMap((tool) => listAt(tool, "functionDeclarations"))
      .map((tool) => ({
        name: textAt(tool, "name"),
        description: textAt(tool, "description"),
        inputSchema: objectAt(objectAt(tool).parametersJsonSchema ?? objectAt(tool).parameters),
      })),
    ...(schema !== undefined && { outputSchema: objectAt(schema) }),
    settings: settingsOf(config),
  }
}

function settingsOf(config: JsonObject): SimulatedSettings {
  const { maxOutputTokens, temperature, topP, stopSequences, thinkingConfig } = config
  const budget = objectAt(thinkingConfig).thinkingBudget
  const effort = textAt(thinkingConfig, "thinkingLevel") || (budget === undefined ? "" : `${budget} tokens`)
  return {
    ...(typeof maxOutputTokens === "number" && { maxOutputTokens }),
    ...(typeof temperature === "number" && { temperature }),
    ...(typeof topP === "number" && { topP }),
    ...(isList(stopSequences) && { stopSequences: stopSequences.map(String) }),
    ...(effort !== "" && { effort }),
  }
}

/** Calls need no ids here: results belong to the calls right before them, by id or else by name and order. */
function parseContents(contents: readonly Json[]): readonly SimulatedMessage[] {
  let open: SimulatedMessage["toolCalls"] = []
  return contents.map((content, index) => {
    const parts = partsOf(content)
    const toolCalls = parts.flatMap(({ functionCall }, position) => {
      if (functionCall === undefined) return []
      const id = textAt(functionCall, "id") || `unnamed_${index}_${position}`
      return [{ id, name: textAt(functionCall, "name"), args: objectAt(functionCall).args ?? {} }]
    })
    const waiting = [...open]
    const toolResults = parts.flatMap(({ functionResponse }) => {
      if (functionResponse === undefined) return []
      const [id, name] = [textAt(functionResponse, "id"), textAt(functionResponse, "name")]
      const at = waiting.findIndex((call) => (id === "" ? call.name === name : call.id === id))
      const [call] = at === -1 ? [] : waiting.splice(at, 1)
      const attachments = attachmentsIn(partsOf(functionResponse))
      return [
        { id: call?.id ?? id, ...responseOf(objectAt(functionResponse).response), ...withAttachments(attachments) },
      ]
    })
    open = toolCalls
    return {
      role: textAt(content, "role") === "model" ? "assistant" : toolResults.length > 0 ? "tool" : "user",
      text: joinTexts(parts.filter(({ thought }) => thought !== true)),
      attachments: attachmentsIn(parts),
      signatures: parts.map((part) => textAt(part, "thoughtSignature")).filter((it) => it !== "" && it !== UNSIGNED),
      toolCalls,
      toolResults,
    }
  })
}

function attachmentsIn(parts: readonly JsonObject[]): readonly SimulatedAttachment[] {
  return parts.flatMap(({ inlineData }) =>
    inlineData === undefined ? [] : [{ mediaType: textAt(inlineData, "mimeType"), data: textAt(inlineData, "data") }],
  )
}

/** Clients may choose the key of a result; `output` and `error` are the vendor's suggestion. */
function responseOf(response: Json | undefined): { readonly text: string; readonly isError: boolean } {
  const { output, error, content } = objectAt(response)
  const value = error ?? output ?? content ?? response ?? ""
  return { text: typeof value === "string" ? value : JSON.stringify(value), isError: error !== undefined }
}

function partsOf(content: Json | undefined): readonly JsonObject[] {
  return blocksOf(objectAt(content).parts)
}

function joinTexts(parts: readonly JsonObject[]): string {
  return parts
    .map((part) => textAt(part, "text"))
    .filter((text) => text !== "")
    .join("\n")
}

function frames(answer: CompleteAnswer, exchange: Exchange): readonly Frame[] {
  const { steps, signature, isBroken } = stepsOf(answer, signsCalls(exchange.model))
  const finishReason = isBroken
    ? "MALFORMED_FUNCTION_CALL"
    : (answer.wireStopReason ?? finishReasons[answer.stopReason])
  const metadata = { modelVersion: exchange.model, responseId: exchange.messageId }
  const prompt = answer.usage.inputTokens + answer.usage.cacheReadTokens
  const chunk = (parts: readonly JsonObject[], more: JsonObject, usage: JsonObject, bookkeeping: boolean) =>
    frame(
      {
        candidates: [{ content: { parts, role: "model" }, ...more, index: 0 }],
        usageMetadata: { promptTokenCount: prompt, ...usage },
        ...metadata,
      },
      bookkeeping,
    )
  const sealed = signature === "" ? {} : { thoughtSignature: signature }
  return [
    ...steps.map((parts) => chunk(parts, {}, { totalTokenCount: prompt }, false)),
    chunk([{ text: "", ...sealed }], { finishReason }, finalUsage(answer), true),
  ]
}

function finalUsage({ usage, parts }: CompleteAnswer): JsonObject {
  const thoughts = parts.some(({ kind }) => kind === "reasoning") ? Math.floor(usage.outputTokens / 2) : 0
  return {
    candidatesTokenCount: usage.outputTokens - thoughts,
    totalTokenCount: usage.inputTokens + usage.cacheReadTokens + usage.outputTokens,
    // Like the real server, which omits zeros.
    ...(usage.cacheReadTokens > 0 && { cachedContentTokenCount: usage.cacheReadTokens }),
    ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
  }
}

interface Steps {
  /** The parts of each chunk. */
  readonly steps: readonly (readonly JsonObject[])[]
  /** The signature for the last part. */
  readonly signature: string
  /** A call with invalid JSON arguments ends the answer: the server parses them before it sends them. */
  readonly isBroken: boolean
}

/** Like the real server: adjacent calls share a chunk, and a thought's signature comes with the call it led to. */
function stepsOf({ parts, deltaSize }: CompleteAnswer, isSigning: boolean): Steps {
  const steps: JsonObject[][] = []
  let signature = ""
  let calls: JsonObject[] | undefined
  for (const part of parts) {
    if (part.kind !== "call") {
      calls = undefined
      if (part.kind === "reasoning") signature = part.signature ?? signature
      const thought = part.kind === "reasoning" ? { thought: true } : {}
      steps.push(...cutIntoDeltas(part.text, deltaSize).map((text) => [{ text, ...thought }]))
      continue
    }
    const args = parsed(part.argsText)
    if (args === undefined) return { steps, signature, isBroken: true }
    const functionCall = { ...(isSigning && { id: part.id }), name: part.name, args }
    if (calls === undefined) {
      const seal = signature || (isSigning ? "c2ltdWxhdGVk" : "")
      calls = [{ functionCall, ...(seal !== "" && { thoughtSignature: seal }) }]
      signature = ""
      steps.push(calls)
    } else calls.push({ functionCall })
  }
  return { steps, signature, isBroken: false }
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function frame(data: JsonObject, bookkeeping = false): Frame {
  return { text: `data: ${JSON.stringify(data)}\r\n\r\n`, bookkeeping }
}

/** An unknown key has no separate status: the error details describe it. */
function errorOf({ status, type, message }: Refusal): JsonObject {
  const isKey = type === "API_KEY_INVALID"
  return {
    code: status,
    message: message ?? messages[status] ?? `Simulated status ${status}`,
    status: (isKey ? undefined : type) ?? statuses[status] ?? (status < 500 ? "FAILED_PRECONDITION" : "UNKNOWN"),
    ...(isKey && {
      details: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: type, domain: "googleapis.com" }],
    }),
  }
}
