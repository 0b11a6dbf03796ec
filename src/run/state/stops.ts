import type { Stop } from "../../contract/backend.ts"
import type { RecordBody } from "../../contract/event.ts"
import type { ResumeBy } from "../../contract/session.ts"

/** Why a run stops here. */
export type RunStop =
  | Exclude<Stop, { readonly reason: "suspended" }>
  /** `pause` absent: the backend stopped for a decision that was not requested. */
  | { readonly reason: "suspended"; readonly pause?: Suspension | undefined; readonly resumeBy?: ResumeBy }

/** Why a call, or an agent, stays open until the run is resumed. */
export type Suspension =
  /** It waits for a person's decision. The request is recorded. */
  | { readonly kind: "asked"; readonly request: RecordedApprovalRequest }
  /** A file that it used has changed, so that no other backend may continue it. */
  | { readonly kind: "handover"; readonly text: string }
  /** Another process continues it. */
  | { readonly kind: "released" }

export type RecordedApprovalRequest = RecordBody & { readonly type: "approval-request" }

/** The reason that the run pauses for: a question precedes a changed file, and that a release. Of equal ones the first. */
export function moreUrgent(one: Suspension | undefined, other: Suspension): Suspension {
  return one && order.indexOf(one.kind) <= order.indexOf(other.kind) ? one : other
}

const order: readonly Suspension["kind"][] = ["asked", "handover", "released"]
