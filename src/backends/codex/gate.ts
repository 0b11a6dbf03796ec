import type { Permit } from "../../contract/backend.ts"
import type { Json } from "../../contract/json.ts"
import { canonicalJson, textOrEmpty } from "../../lib/json.ts"
import {
  hookInput,
  isOwnName,
  isSameCommand,
  isWithinPatch,
  mcpParts,
  type OwnCall,
  ownCall,
  type PermittedCall,
} from "./calls.ts"
import { type HookQuestion, type Item, objectOf, readQuestion } from "./protocol.ts"

export interface GateFacts {
  /** The runtime's tools: the policy decides about them when they are called. */
  readonly ours: ReadonlySet<string>
  /** The caller's MCP servers. */
  readonly servers: readonly string[]
  /** As Codex names it. */
  readonly cwd: string
  /** Commands run in Codex's sandbox. */
  readonly isSandboxed: boolean
}

/** The session behind the gate. */
export interface GateDesk {
  /** Never settles for a suspended call. */
  ask(own: OwnCall): Promise<Permit>
  /** A call that was begun does not run after all. */
  refused(callId: string, reason: string): void
}

/**
 * The two gates in front of Codex's own tools. The hook is asked about every call, and the policy decides. The approval
 * requests of Codex come second: they are accepted only for exactly what the policy has permitted.
 */
export class CodexGate {
  readonly #facts: GateFacts
  readonly #desk: GateDesk
  /** The permitted calls. A call without an entry is declined. */
  readonly #permitted = new Map<string, PermittedCall>()
  readonly #escalated = new Set<string>()
  readonly #items = new Map<string, Item>()

  constructor(facts: GateFacts, desk: GateDesk) {
    this.#facts = facts
    this.#desk = desk
  }

  isPermitted(callId: string): boolean {
    return this.#permitted.has(callId)
  }

  /** Answers the hook. A rejection refuses. */
  async question(given: Json): Promise<Json> {
    const question = readQuestion(given)
    if (question === undefined) return denied("This is not a call.")
    if (this.#facts.ours.has(question.tool) && !isOwnName(question.tool)) return {}
    const own = ownCall(question, this.#facts.servers, this.#facts.cwd)
    const permit = await this.#desk.ask(own)
    return permit.kind === "run" ? this.#permit(question, own, permit.args) : denied(permit.reason)
  }

  /** Remembers a call of the model that is to run outside the sandbox. The hook and the approval do not show that. */
  escalated(callId: string): void {
    if (this.#facts.isSandboxed) this.#escalated.add(callId)
  }

  /** Remembers what an approval request refers to. */
  note(item: Item): void {
    if (item.type === "fileChange" || item.type === "mcpToolCall") this.#items.set(item.id, item)
  }

  /** Answers an approval request. Undefined: it is not one. */
  approval(method: string, given: Json): Json | undefined {
    const params = objectOf(given)
    const decide = (isPermitted: boolean) => ({ decision: isPermitted ? "accept" : "decline" })
    switch (method) {
      case "item/commandExecution/requestApproval":
        return decide(this.#allowsCommand(params))
      case "item/fileChange/requestApproval":
        return decide(this.#allowsPatch(textOrEmpty(params.itemId)))
      case "item/permissions/requestApproval":
        return { permissions: {}, scope: "turn" }
      case "mcpServer/elicitation/request":
        return { action: this.#allowsServerCall(params) ? "accept" : "decline", content: {}, _meta: null }
      default:
        return undefined
    }
  }

  #permit({ callId, cwd, input }: HookQuestion, { call }: OwnCall, args: Json): Json {
    const { name } = call
    if (canonicalJson(args) === canonicalJson(call.args)) {
      this.#permitted.set(callId, { name, args, cwd, command: textOrEmpty(objectOf(input).command) })
      return {}
    }
    const updatedInput = hookInput(call, args)
    if (updatedInput === undefined) {
      this.#desk.refused(callId, UNCHANGEABLE)
      return denied(UNCHANGEABLE)
    }
    this.#permitted.set(callId, { name, args, cwd, command: textOrEmpty(objectOf(updatedInput).command) })
    return { hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "allow", updatedInput } }
  }

  #allowsCommand(params: ReturnType<typeof objectOf>): boolean {
    const { kind, itemId, command, cwd, additionalPermissions, networkApprovalContext } = params
    const call = this.#permitted.get(textOrEmpty(itemId))
    if (call?.name !== "Bash" || this.#escalated.has(textOrEmpty(itemId))) return false
    // Neither input for a terminal nor more permissions were decided about.
    if (kind !== "command" || additionalPermissions || networkApprovalContext) return false
    return cwd === call.cwd && isSameCommand(textOrEmpty(command), call.command)
  }

  #allowsPatch(callId: string): boolean {
    const call = this.#permitted.get(callId)
    const item = this.#items.get(callId)
    if (call?.name !== "ApplyPatch" || item?.type !== "fileChange") return false
    const changed = item.changes.flatMap(({ path, movePath }) => (movePath === undefined ? [path] : [path, movePath]))
    return isWithinPatch(textOrEmpty(objectOf(call.args).patch), this.#facts.cwd, changed)
  }

  /** The request does not name the call: a permitted one with the same server and arguments must be waiting. */
  #allowsServerCall({ serverName, _meta }: ReturnType<typeof objectOf>): boolean {
    const { codex_approval_kind, tool_params = null } = objectOf(_meta)
    if (codex_approval_kind !== "mcp_tool_call") return false
    const asked = canonicalJson(tool_params)
    for (const item of this.#items.values()) {
      if (item.type !== "mcpToolCall" || item.server !== serverName || canonicalJson(item.args) !== asked) continue
      const call = this.#permitted.get(item.id)
      const parts = call && mcpParts(call.name)
      if (parts?.server !== item.server || parts.tool !== item.tool || canonicalJson(call?.args ?? null) !== asked)
        continue
      // One request for each call.
      this.#items.delete(item.id)
      return true
    }
    return false
  }
}

const UNCHANGEABLE = "The policy changed the arguments, and Codex cannot run the call with them."

function denied(reason: string): Json {
  return {
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision: "deny",
      permissionDecisionReason: reason,
    },
  }
}
