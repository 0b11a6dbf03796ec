import { BlockedError, LonghaulError } from "../contract/error.ts"
import { delay } from "../lib/abort.ts"
import { isJsonObject } from "../lib/json.ts"
import { policyToolName } from "../lib/mcp-servers.ts"
import { checkOutput } from "../policy/service/run-tool.ts"
import type { ToolPolicy, ToolUse } from "../policy/service/tool-use.ts"
import type {
  ClaudeCanUseTool,
  ClaudeHookInput,
  ClaudeHookOutput,
  ClaudeMcpServer,
  ClaudePermission,
} from "./claude-shapes.ts"
import { withheldOutput } from "./claude-withheld.ts"
import { allowCall } from "./enforced-call.ts"

/**
 * Decides each call of a session and checks what the model receives of it. Hooks cannot throw to any effect: `before` and `permit`
 * deny, `after` replaces the output, and `batch` ends the run if anything else would reach the model.
 */
export class ClaudeToolCalls {
  readonly #policy: ToolPolicy
  readonly #calls = new Map<string, Call>()
  /** Calls of which the model receives our reason only. */
  readonly #refused = new Set<string>()
  #lastSession = ""

  constructor(policy: ToolPolicy) {
    this.#policy = policy
  }

  /** `ask` makes the SDK call `permit` with the final arguments, which other hooks can still change. */
  async before(input: ClaudeHookInput): Promise<ClaudeHookOutput> {
    this.#lastSession = input.session_id
    const hookEventName = "PreToolUse"
    try {
      const { args } = await this.#decide(askedIn(input), input.tool_input)
      return { hookSpecificOutput: { hookEventName, permissionDecision: "ask", updatedInput: { ...args } } }
    } catch (error) {
      const permissionDecisionReason = this.#refuse(input.tool_use_id ?? "", error)
      return { hookSpecificOutput: { hookEventName, permissionDecision: "deny", permissionDecisionReason } }
    }
  }

  /** Arguments that another hook changed are decided again. */
  async permit(...[toolName, input, options]: Parameters<ClaudeCanUseTool>): Promise<ClaudePermission> {
    const { toolUseID: id, agentID: agent, mcpServer: server } = options
    try {
      const known = this.#calls.get(id)
      const isDecided =
        known?.use.toolName === policyToolName(toolName, server?.name) && known.text === JSON.stringify(input)
      if (isDecided) return { behavior: "allow", updatedInput: input }
      const { sessionId = this.#lastSession, cwd } = known?.use ?? {}
      const { args } = await this.#decide(
        { id, toolName, server, sessionId, cwd, agent: known?.use.agent ?? agent },
        input,
      )
      return { behavior: "allow", updatedInput: { ...args } }
    } catch (error) {
      return { behavior: "deny", message: this.#refuse(id, error) }
    }
  }

  /** Everything but a replacement of the same form passes the original on. */
  async after(input: ClaudeHookInput): Promise<ClaudeHookOutput> {
    const call = askedIn(input)
    try {
      await this.#check(call, input.tool_input, input.tool_response)
      this.#mark(call.id, "clean")
      return {}
    } catch (error) {
      const updatedToolOutput = withheldOutput(input.tool_response, reasonOf(error), input.tool_input)
      return { hookSpecificOutput: { hookEventName: "PostToolUse", updatedToolOutput } }
    }
  }

  /** The SDK ignores what is returned here: `batch` checks the output of a failed call. */
  async failed(input: ClaudeHookInput): Promise<ClaudeHookOutput> {
    const { id, sessionId, toolName, server } = askedIn(input)
    this.#mark(id, "failed")
    const facts = { sessionId, toolName: policyToolName(toolName, server?.name), toolUseId: id }
    await this.#policy
      .send?.({ event: "PostToolUseFailure", ...facts, ...failureIn(input.error) })
      .catch(() => undefined)
    return {}
  }

  /** The last place before the model: outputs that are not known to be clean, such as those of failed calls. */
  async batch(input: ClaudeHookInput): Promise<ClaudeHookOutput> {
    const calls = input.tool_calls ?? []
    try {
      for (const { tool_name, tool_input, tool_use_id, tool_response } of calls) {
        const isKnown = this.#calls.get(tool_use_id)?.state === "clean" || this.#refused.has(tool_use_id)
        if (!isKnown) await this.#check(askedIn({ ...input, tool_name, tool_use_id }), tool_input, tool_response)
      }
    } catch (error) {
      return { continue: false, stopReason: reasonOf(error) }
    }
    for (const { tool_use_id } of calls) {
      this.#calls.delete(tool_use_id)
      this.#refused.delete(tool_use_id)
    }
    return {}
  }

  async #decide(call: Asked, input: unknown): Promise<Call> {
    const { id, sessionId, agent, cwd } = call
    const asked = { toolName: policyToolName(call.toolName, call.server?.name), toolUseId: id, agent, cwd }
    const allowed = await inTime(allowCall({ policy: this.#policy, sessionId }, asked, input))
    // The arguments of tools are objects in this SDK; anything else cannot run.
    const args = isJsonObject(allowed.input) ? allowed.input : {}
    // An id that repeats must not inherit the state of another call.
    const state = this.#calls.get(id)?.state === "failed" ? "failed" : "decided"
    const decided: Call = { use: allowed.use, args, text: JSON.stringify(args), state }
    this.#calls.set(id, decided)
    this.#refused.delete(id)
    return decided
  }

  #check(call: Asked, input: unknown, output: unknown): Promise<void> {
    const use = this.#calls.get(call.id)?.use ?? useOf(call, input)
    return inTime(checkOutput(this.#policy, use, output))
  }

  #mark(id: string, state: Call["state"]): void {
    const known = this.#calls.get(id)
    if (known !== undefined && known.state !== "failed") this.#calls.set(id, { ...known, state })
  }

  #refuse(id: string, error: unknown): string {
    if (!this.#calls.has(id)) this.#refused.add(id)
    return reasonOf(error)
  }
}

interface Call {
  readonly use: ToolUse
  readonly args: Readonly<Record<string, unknown>>
  /** The arguments as text: `permit` compares them. */
  readonly text: string
  /** `clean`: the model receives an output that the policy allowed. `failed` stays: ids can repeat. */
  readonly state: "decided" | "clean" | "failed"
}

interface Asked {
  readonly id: string
  readonly toolName: string
  readonly server: ClaudeMcpServer | undefined
  readonly sessionId: string
  readonly agent: string | undefined
  readonly cwd: string | undefined
}

function askedIn(input: ClaudeHookInput): Asked {
  return {
    id: input.tool_use_id ?? "",
    toolName: input.tool_name ?? "",
    server: input.mcp_server,
    sessionId: input.session_id,
    agent: input.agent_id === undefined ? undefined : (input.agent_type ?? input.agent_id),
    cwd: input.cwd,
  }
}

/** The SDK joins the exit code of a command and what it wrote, to stdout and stderr alike, in one text. */
function failureIn(error: unknown): { readonly error: string; readonly output?: string } {
  if (typeof error !== "string") return { error: "The tool failed." }
  const [, code, output] = /^(Exit code \d+)\n(.*)$/s.exec(error) ?? []
  return code === undefined || output === undefined ? { error } : { error: code, output }
}

function useOf({ id, toolName, server, sessionId, cwd }: Asked, input: unknown): ToolUse {
  const toolInput = isJsonObject(input) ? input : {}
  return { sessionId, toolName: policyToolName(toolName, server?.name), toolUseId: id, toolInput, ...(cwd && { cwd }) }
}

/** Far below the timeout of the hooks: an output passes if its hook is late. */
const DEADLINE_MS = 10 * 60_000

async function inTime<Value>(work: Promise<Value>): Promise<Value> {
  const stop = new AbortController()
  try {
    const late = delay(DEADLINE_MS, stop.signal).then(() => undefined)
    const done = await Promise.race([work.then((value) => ({ value })), late])
    if (done === undefined) throw new BlockedError("The policy did not decide in time.")
    return done.value
  } finally {
    stop.abort()
  }
}

/** Only our own messages are for the model. */
function reasonOf(error: unknown): string {
  return LonghaulError.is(error) ? error.message : "The policy failed."
}
