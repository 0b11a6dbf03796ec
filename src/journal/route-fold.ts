import type { Told, ToolEnforcement } from "../contract/capabilities.ts"
import type { RunRecord, Target } from "../contract/event.ts"
import type { FailedAttempt } from "../contract/result.ts"
import type { SessionRef } from "../contract/session.ts"
import { failedAttempt } from "./parts.ts"

/** The backend and the model that work on a run, and those that failed before. */
export class RouteFold {
  backend = ""
  model: string | undefined
  /** The last choice: `model` is then updated by what the backend reports. */
  chosen: (Target & { readonly entry: number | undefined }) | undefined
  /** The last session of the run's backend, and the `seq` of its record. */
  session: SessionRef | undefined
  sessionAt = -1
  enforcement: readonly ToolEnforcement[] | undefined
  /** The actions that the backend's vendor may have taken without reporting them. */
  readonly untold = new Set<Told>()
  /** True if the provider enforced a schema. */
  schemaEnforced = false
  readonly failover: FailedAttempt[] = []

  /** Returns true if another backend or model works on the run from here on. */
  choose(record: RunRecord & { readonly type: "choice" }): boolean {
    const { backend, model, endpoint, given, entry, schemaEnforced = false } = record
    const before = this.chosen
    this.backend = backend
    this.model = model
    this.chosen = {
      backend,
      entry,
      ...(model !== undefined && { model }),
      ...(endpoint !== undefined && { endpoint }),
      ...(given && { given }),
    }
    this.schemaEnforced = schemaEnforced
    this.enforcement = undefined
    return before !== undefined && (before.backend !== backend || before.model !== model)
  }

  open(record: RunRecord & { readonly type: "session" }): void {
    this.session = record.ref
    this.sessionAt = record.seq
    this.enforcement = record.enforcement ?? this.enforcement
    this.model = record.model ?? this.model
    for (const each of record.untold ?? []) this.untold.add(each)
  }

  fail(record: RunRecord & { readonly type: "failover" }): void {
    this.failover.push(failedAttempt(record))
  }
}
