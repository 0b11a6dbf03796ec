import type { ToolCall } from "../../contract/backend.ts"
import type { Json } from "../../contract/json.ts"
import type { DecisionReason, PolicyCall, ServiceOutput } from "../../contract/policy.ts"
import type { ToolOutcome } from "../../contract/tool.ts"
import { plainText } from "../../lib/content.ts"
import * as pipeline from "../../policy/pipeline.ts"
import type { KeepWhole } from "../../tools/kernel/dispatch.ts"
import type { OpenRun } from "../state/open-run.ts"
import { realCall, seenCall } from "./decide.ts"
import { digestOf } from "./same-call.ts"

/** True if the policy may withhold outputs of a tool, so that nothing of them is passed on before it has decided. */
export function scansOutput(run: OpenRun, call: ToolCall): boolean {
  const { services, rules } = run.policy
  return services.length > 0 || rules.scansOutput(seenCall(run, call).policyName)
}

/** Applies the policy to the output of one call. */
export class OutputScan {
  readonly #run: OpenRun
  readonly #call: ToolCall
  readonly #seen: PolicyCall
  readonly #keep: KeepWhole | undefined
  #blocked: DecisionReason | undefined
  /** True if the whole output was scanned before it was stored. */
  #hasPassed = false

  /**
   * `real`: the arguments with the values of their secrets, which this process may have dropped when the call ends. `keep` saves an
   * output that is too long.
   */
  constructor(run: OpenRun, call: ToolCall, real: Json, keep: KeepWhole | undefined) {
    this.#run = run
    this.#call = call
    this.#seen = { ...realCall(run, { ...call, args: real }), args: seenCall(run, call).args }
    this.#keep = keep
  }

  /** Scans an output before it is cut. A blocked one is not saved: another tool could read it. */
  readonly keep: KeepWhole = async (artifact) => {
    this.#blocked = await this.#scan({ outcome: "ok", text: new TextDecoder().decode(artifact.bytes) })
    return this.#blocked ? null : ((await this.#keep?.(artifact)) ?? null)
  }

  /** Scans an output before it is stored. False for a blocked one. */
  readonly passes = async (text: string): Promise<boolean> => {
    this.#blocked = await this.#scan({ outcome: "ok", text })
    this.#hasPassed = this.#blocked === undefined
    return this.#hasPassed
  }

  /** The outcome to pass on. An output that is withheld becomes an error that states the reason. */
  async release(outcome: ToolOutcome, durationMs: number): Promise<ToolOutcome> {
    if (this.#hasPassed) return outcome
    const text = plainText(outcome.output, "\n")
    const status = outcome.status === "ok" ? "ok" : "error"
    const blocked = this.#blocked ?? (await this.#scan({ outcome: status, text, durationMs }))
    if (blocked === undefined) return outcome
    const { name } = this.#call
    this.#record("block", [blocked])
    const withheld = this.#run.redactor.again(`${name} ran, but its output was withheld: ${blocked.text}`)
    return { status: "error", output: [{ type: "text", text: withheld }] }
  }

  /** The reason to withhold an output. */
  async #scan(output: ServiceOutput): Promise<DecisionReason | undefined> {
    const { name } = this.#call
    const digest = (value: Json) => digestOf(this.#run, { name, args: value })
    const facts = { digest, signal: this.#run.controls.signal }
    const { blocked, opened } = await pipeline.scanOutput(this.#run.policy, this.#seen, output, facts)
    if (opened.length > 0) this.#record("allow", opened)
    return blocked
  }

  #record(verdict: "allow" | "block", reasons: readonly DecisionReason[]): void {
    const { journal, redactor } = this.#run
    journal.append({ type: "policy-decision", callId: this.#call.callId, verdict, reasons: redactor.again(reasons) })
  }
}
