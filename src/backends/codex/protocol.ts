import type { Json, JsonObject } from "../../contract/json.ts"
import { isJsonObject, textOrEmpty } from "../../lib/json.ts"

/** The parts of Codex's app-server protocol that this backend reads, version 0.166.0. Everything else is ignored. */
export type Item =
  | { readonly type: "userMessage"; readonly id: string; readonly clientId: string | undefined }
  | { readonly type: "agentMessage"; readonly id: string; readonly text: string; readonly phase: string | undefined }
  | { readonly type: "reasoning"; readonly id: string; readonly text: string }
  | CommandItem
  | FileChangeItem
  | McpItem
  | { readonly type: "dynamicToolCall" | "imageView" | "contextCompaction"; readonly id: string }
  /** Tools that run at the vendor or without a question. `args`: what is shown of them. */
  | { readonly type: "unasked"; readonly id: string; readonly name: string; readonly args: Json }

export interface CommandItem {
  readonly type: "commandExecution"
  readonly id: string
  readonly command: string
  readonly status: string
  readonly output: string
  readonly exitCode: number | undefined
  readonly durationMs: number
}

export interface FileChangeItem {
  readonly type: "fileChange"
  readonly id: string
  readonly status: string
  readonly changes: readonly { readonly path: string; readonly kind: string; readonly movePath: string | undefined }[]
}

export interface McpItem {
  readonly type: "mcpToolCall"
  readonly id: string
  readonly server: string
  readonly tool: string
  readonly args: Json
  readonly status: string
  readonly content: readonly Json[]
  readonly error: string | undefined
  readonly durationMs: number
}

/** A hook's question: may this call run? */
export interface HookQuestion {
  readonly callId: string
  readonly tool: string
  readonly input: Json
  /** The folder that a command would run in. */
  readonly cwd: string
}

/** How a turn ended. */
export interface TurnEnd {
  readonly turnId: string
  readonly status: string
  readonly error: TurnFailure | undefined
}

export interface TurnFailure {
  readonly message: string
  /** A flag, or a flag with an HTTP status. */
  readonly info: string
  readonly httpStatus: number | undefined
}

/** Undefined: of a kind that is not recorded. */
export function readItem(value: Json | undefined): Item | undefined {
  const item = objectOf(value)
  const id = textOrEmpty(item.id)
  const type = textOrEmpty(item.type)
  switch (type) {
    case "userMessage":
      return { type, id, clientId: optionalText(item.clientId) }
    case "agentMessage":
      return { type, id, text: textOrEmpty(item.text), phase: optionalText(item.phase) }
    case "reasoning":
      return { type, id, text: [...listOf(item.summary), ...listOf(item.content)].map(textOrEmpty).join("\n\n") }
    case "commandExecution":
      return {
        type,
        id,
        command: textOrEmpty(item.command),
        status: textOrEmpty(item.status),
        output: textOrEmpty(item.aggregatedOutput),
        exitCode: optionalNumber(item.exitCode),
        durationMs: optionalNumber(item.durationMs) ?? 0,
      }
    case "fileChange":
      return { type, id, status: textOrEmpty(item.status), changes: listOf(item.changes).map(readChange) }
    case "mcpToolCall":
      return readMcpItem(item)
    case "dynamicToolCall":
    case "contextCompaction":
    case "imageView":
      return { type, id }
    case "webSearch":
      return { type: "unasked", id, name: "WebSearch", args: { query: textOrEmpty(item.query) } }
    case "collabAgentToolCall":
      return { type: "unasked", id, name: "Task", args: withoutId(item) }
    case "imageGeneration":
      return { type: "unasked", id, name: type, args: withoutId(item) }
    default:
      return undefined
  }
}

/** Undefined: it is not a question about a call. */
export function readQuestion(value: Json): HookQuestion | undefined {
  const { hook_event_name, tool_name, tool_input = null, tool_use_id, cwd } = objectOf(value)
  if (hook_event_name !== "PreToolUse" || typeof tool_name !== "string" || typeof tool_use_id !== "string") {
    return undefined
  }
  return { callId: tool_use_id, tool: tool_name, input: tool_input, cwd: textOrEmpty(cwd) }
}

/** A call in an answer of the model, or the output of one. */
export interface RawCall {
  readonly callId: string
  readonly isOutput: boolean
  /** The model wants it to run outside the sandbox. */
  readonly isEscalated: boolean
}

export function readRawCall(item: Json | undefined): RawCall | undefined {
  const { type, call_id, arguments: args } = objectOf(item)
  if (typeof call_id !== "string" || !/_call(_output)?$/.test(textOrEmpty(type))) return undefined
  // Any mention counts: such a call can be made again without it.
  const isEscalated = type === "function_call" && textOrEmpty(args).includes("require_escalated")
  return { callId: call_id, isOutput: textOrEmpty(type).endsWith("_output"), isEscalated }
}

export function readTurnEnd(params: Json): TurnEnd {
  const turn = objectOf(objectOf(params).turn)
  return { turnId: textOrEmpty(turn.id), status: textOrEmpty(turn.status), error: readFailure(turn.error) }
}

export function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}

export function listOf(value: Json | undefined): readonly Json[] {
  // Safe: an array of JSON holds JSON.
  return Array.isArray(value) ? (value as readonly Json[]) : []
}

export function numberOf(value: Json | undefined): number {
  return optionalNumber(value) ?? 0
}

function readMcpItem(item: JsonObject): McpItem {
  const result = objectOf(item.result)
  const error = objectOf(item.error)
  return {
    type: "mcpToolCall",
    id: textOrEmpty(item.id),
    server: textOrEmpty(item.server),
    tool: textOrEmpty(item.tool),
    args: item.arguments ?? null,
    status: textOrEmpty(item.status),
    content: listOf(result.content),
    error: optionalText(error.message),
    durationMs: numberOf(item.durationMs),
  }
}

function readChange(value: Json): FileChangeItem["changes"][number] {
  const change = objectOf(value)
  const kind = objectOf(change.kind)
  return { path: textOrEmpty(change.path), kind: textOrEmpty(kind.type), movePath: optionalText(kind.move_path) }
}

function readFailure(value: Json | undefined): TurnFailure | undefined {
  if (!isJsonObject(value)) return undefined
  const { message, codexErrorInfo: info } = value
  const flag = isJsonObject(info) ? Object.keys(info)[0] : info
  const httpStatus = isJsonObject(info) ? optionalNumber(objectOf(Object.values(info)[0]).httpStatusCode) : undefined
  return { message: textOrEmpty(message), info: textOrEmpty(flag), httpStatus }
}

function withoutId({ id: _, ...rest }: JsonObject): Json {
  return rest
}

function optionalText(value: Json | undefined): string | undefined {
  return typeof value === "string" ? value : undefined
}

function optionalNumber(value: Json | undefined): number | undefined {
  return typeof value === "number" ? value : undefined
}
