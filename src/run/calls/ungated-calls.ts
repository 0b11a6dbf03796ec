import type { BackendEvent, Permit, ToolCall } from "../../contract/backend.ts"
import type { OwnTool } from "../../contract/capabilities.ts"
import { LonghaulError } from "../../contract/error.ts"
import { dropOldest } from "../../journal/recent-calls.ts"
import { canonicalJson } from "../../lib/json.ts"
import { readers, writers } from "../../policy/rules/known-tools.ts"
import { mayUseOwn } from "../../settings/options/extensions.ts"
import type { OpenRun } from "../state/open-run.ts"
import { decideOwn } from "./decide.ts"

type Finished = BackendEvent & { readonly type: "tool-result" }

/** How a call came to run without a permission: no one was asked, or it was refused. */
export type Ungated = "unasked" | "refused"

/**
 * Finds the calls that a backend ran without a permission. The run fails if the policy would not have let such a call
 * run as it did: whatever a gate promises, what has happened counts.
 */
export class UngatedCalls {
  readonly #run: OpenRun
  /** Calls of the backend's own tools, and what was answered about them. */
  readonly #calls = new Map<string, { readonly call: ToolCall; answer?: Permit["kind"] }>()
  readonly #checks: Promise<void>[] = []
  #violation: LonghaulError | undefined
  readonly #onViolation: () => void

  /** `onViolation`: the session must not continue. Called once. */
  constructor(run: OpenRun, onViolation: () => void) {
    this.#run = run
    this.#onViolation = onViolation
  }

  announced({ callId, name, args, executor }: ToolCall & { readonly executor?: "backend" | undefined }): void {
    if (executor !== "backend") return
    this.#calls.set(callId, { call: { callId, name, args } })
    dropOldest(this.#calls)
  }

  answered({ callId }: ToolCall, { kind }: Permit): void {
    const known = this.#calls.get(callId)
    // A permission counts: the same id is refused while its call runs and afterwards.
    if (known && known.answer !== "run") known.answer = kind
  }

  /** Undefined: the call was permitted, or has not run. A refused call is often reported as one that failed. */
  take({ callId, outcome, rejected }: Finished): Ungated | undefined {
    const known = this.#calls.get(callId)
    // The backend itself refuses a call that it cannot run as it was permitted.
    if (known && outcome.status === "denied") known.answer = "refuse"
    if (known === undefined || known.answer === "run" || rejected || outcome.status === "denied") return undefined
    if (known.answer !== undefined && outcome.status !== "ok") return undefined
    const how = known.answer === undefined ? "unasked" : "refused"
    if (outcome.status !== "error" || !this.#didNothing(known.call)) this.#checks.push(this.#check(known.call, how))
    return how
  }

  /** Why the run has to fail, when all calls so far are checked. */
  async violation(): Promise<LonghaulError | undefined> {
    await Promise.all(this.#checks.splice(0))
    return this.#violation
  }

  /**
   * A call that failed: programs report in this way those of tools that they must not offer, and those of file tools whose
   * arguments they checked before asking. A command, a request or an unknown tool may have done something anyway.
   */
  #didNothing({ name }: ToolCall): boolean {
    const tool = ownToolOf(this.#run, name)
    return !mayUseOwn(this.#run.input.extensions.filter, tool) || readers.includes(name) || writers.includes(name)
  }

  async #check(call: ToolCall, how: Ungated): Promise<void> {
    const { target, journal } = this.#run
    const tool = ownToolOf(this.#run, call.name)
    const isAllowed = how === "unasked" && (await this.#wouldAllow(call, tool).catch(() => false))
    if (!isAllowed) {
      this.#violation ??= violationOf(target.backend.name, call, how)
      this.#onViolation()
      return
    }
    const { enforcement } = target.backend.capabilities
    if (enforcement.find(({ tools }) => tools === call.name || tools === "*")?.gate !== "ours") return
    const message = `${target.backend.name} ran ${call.name} without asking: its own settings allow it. The policy allows this call, too.`
    journal.append({ type: "warning", code: "call_not_asked", message })
  }

  /** A question to a person counts as a refusal: no one has answered it. */
  async #wouldAllow(call: ToolCall, tool: OwnTool): Promise<boolean> {
    if (!mayUseOwn(this.#run.input.extensions.filter, tool)) return false
    const decided = await decideOwn(this.#run, call, tool)
    return decided.kind === "allow" && canonicalJson(decided.args) === canonicalJson(call.args)
  }
}

/** The backend's declaration of a tool of its own. Unknown ones are treated with the greatest care. */
export function ownToolOf({ target }: OpenRun, name: string): OwnTool {
  const known = target.backend.capabilities.ownTools.find((tool) => tool.name === name)
  return known ?? { name, nativeName: name, effect: "once", risk: "high" }
}

function violationOf(backend: string, { name, callId }: ToolCall, how: Ungated): LonghaulError {
  const when = how === "unasked" ? "without asking, and the policy does not allow this call" : "although it was refused"
  return new LonghaulError("policy_denied", `${backend} ran ${name} ${when}.`, {
    fix: "Check what the call has done, and the backend's own settings; or use a backend that asks about this tool.",
    data: { callId, how },
  })
}
