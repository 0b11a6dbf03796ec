import type { ToolCall } from "../../contract/backend.ts"
import type { Json } from "../../contract/json.ts"
import type { Ruled } from "../../contract/policy.ts"
import type { ProjectedCall } from "../../journal/projected-call.ts"
import type { OpenRun } from "../state/open-run.ts"
import {
  callDigest,
  type DecideAgain,
  type DecideOptions,
  decide,
  type IdentifiedCall,
  type Question,
} from "./decide.ts"

/** Identifies exactly one call of a run: approvals and intents are bound to it. */
export function digestOf(run: OpenRun, call: IdentifiedCall): string {
  return callDigest(run.config, call, run.input.recordedCwd)
}

/** The arguments that the intent on record is for. Undefined: they, or the working directory, are others now. */
export function begunArgs(
  run: OpenRun,
  { name, args, finalArgs = args, intentDigest }: ProjectedCall,
): Json | undefined {
  return [finalArgs, args].find((each) => digestOf(run, { name, args: each }) === intentDigest)
}

/** `changed`: the rules would run the call with other arguments. */
export type Confirmed =
  | { readonly kind: "holds"; readonly ruled?: Ruled | undefined }
  | { readonly kind: "changed"; readonly args: Json }
  | { readonly kind: "deny"; readonly reason: string }
  | Question

/** Whether a person approved exactly these arguments of a recorded call. If nobody did, the policy may ask a person now. */
export function approvalOf(run: OpenRun, { approvedDigest }: ProjectedCall, call: IdentifiedCall): DecideOptions {
  return { isApproved: approvedDigest === digestOf(run, call) }
}

/**
 * Checks whether a decision still holds for a call: the policy may have changed since, a deny precedes an approval, and what runs is
 * exactly what was decided.
 */
export async function confirm(
  run: OpenRun,
  call: ToolCall,
  options: DecideOptions,
  decideAgain: DecideAgain = (same, how) => decide(run, same, how),
): Promise<Confirmed> {
  const verdict = await decideAgain(call, options)
  if (verdict.kind !== "allow") return verdict
  const { args, ruled } = verdict
  return digestOf(run, { ...call, args }) === digestOf(run, call) ? { kind: "holds", ruled } : { kind: "changed", args }
}
