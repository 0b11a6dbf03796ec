import type { ContentPart } from "../../contract/content.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import { objectIn, textIn } from "./translate.ts"

/** A question before a call runs. */
export interface ClaudeQuestion {
  readonly callId: string
  /** The program's name of the tool. */
  readonly name: string
  readonly args: Json
  /** The MCP server that offers the tool. */
  readonly server?: string
  /** The call was made by a subagent. */
  readonly nested: boolean
}

/** The program's treatment of a call. `defer`: it ends, and presents the call again when the session is resumed. */
export type HookAnswer =
  | { readonly kind: "ask"; readonly args: Json }
  | { readonly kind: "deny"; readonly reason: string }
  | { readonly kind: "defer" }

export type PermitAnswer =
  | { readonly kind: "allow"; readonly args: Json }
  | { readonly kind: "deny"; readonly reason: string }

/** A report of a program: a message, or a question whose answer it waits for. */
export type Delivery =
  | { readonly kind: "message"; readonly message: Json }
  | { readonly kind: "hook"; readonly question: ClaudeQuestion; answer(answer: HookAnswer): void }
  | { readonly kind: "permit"; readonly question: ClaudeQuestion; answer(answer: PermitAnswer): void }

/** A running Claude Code, however it is connected. */
export interface ClaudeProgram {
  readonly version: string
  /** The next of what the program wrote, in its order. Undefined: it has ended. Rejects if its output is unreadable. */
  next(): Promise<Delivery | undefined>
  /** `id`: reported when the model gets the message. */
  send(content: readonly ContentPart[], id: string): Promise<void>
  /** Stops the work. The program then writes a result. */
  interrupt(): Promise<void>
  /** The usage of the session so far, as in results. Undefined: it does not report it. */
  usage(): Promise<Json | undefined>
  /** Why it ended, for an error. Resolves when it has ended. */
  readonly ended: Promise<string>
  /** Lets it end by itself, and kills it if it does not. Resolves when no process is left. Idempotent. */
  close(): Promise<void>
  kill(): Promise<void>
}

/** A question in the form of the program. `args`: where they are differs. */
export function questionIn(facts: JsonObject, args: Json | undefined): ClaudeQuestion {
  const server = textIn(objectIn(facts, "mcp_server"), "name")
  return {
    callId: textIn(facts, "tool_use_id"),
    name: textIn(facts, "tool_name"),
    args: args ?? null,
    ...(server !== "" && { server }),
    nested: typeof facts.agent_id === "string",
  }
}

/** The hook's answer in the form that the program reads. Every call that may run is then asked about a second time. */
export function hookOutput(answer: HookAnswer): Json {
  const common = { hookEventName: "PreToolUse", permissionDecision: answer.kind }
  switch (answer.kind) {
    case "ask":
      return { hookSpecificOutput: { ...common, updatedInput: answer.args } }
    case "deny":
      return { hookSpecificOutput: { ...common, permissionDecisionReason: answer.reason } }
    case "defer":
      return { hookSpecificOutput: common }
  }
}

export function permitOutput(answer: PermitAnswer): Json {
  return answer.kind === "allow"
    ? { behavior: "allow", updatedInput: answer.args }
    : { behavior: "deny", message: answer.reason }
}

/** A message of a person, as a line of the protocol. */
export function userMessage(content: readonly ContentPart[], id: string): Json {
  return { type: "user", message: { role: "user", content: content.map(block) }, parent_tool_use_id: null, uuid: id }
}

function block(part: ContentPart): Json {
  switch (part.type) {
    case "text":
      // A text that begins with a slash is a command of the program.
      return { type: "text", text: part.text.startsWith("/") ? `\n${part.text}` : part.text }
    case "image":
      return { type: "image", source: { type: "base64", media_type: part.mediaType, data: part.data } }
    case "file":
      return { type: "document", source: { type: "base64", media_type: part.mediaType, data: part.data } }
  }
}

/** A day: a decision that takes longer is refused by the program. */
export const MAX_DECISION_S = 86_400
