import { recordedTarget } from "../../settings/backends/targets.ts"
import type { OpenRun } from "../state/open-run.ts"

/** Records the backend that is used from here on, and why. */
export function recordChoice({ input, journal, target }: OpenRun, entry: number): void {
  const { chain, form } = input
  journal.append({
    type: "choice",
    ...recordedTarget(target),
    reasons: target.reasons,
    ...(chain.length > 1 && { entry }),
    ...(form && { schemaEnforced: enforcesSchema(target) }),
  })
}

/** True if the model cannot answer in another form. */
export function enforcesSchema({ backend, model }: OpenRun["target"]): boolean {
  return model ? model.enforcesSchema === true : backend.capabilities.structured === "vendor"
}
