import type { Backend } from "../contract/backend.ts"
import type { ResolvedConfig } from "./config.ts"
import type { OpenRun } from "./open-run.ts"

/** Chooses the backend and records the reasons. */
export function choose(config: ResolvedConfig, run: OpenRun): Backend {
  const { backend } = config
  const { model, form } = run.input
  run.journal.append({
    type: "choice",
    backend: backend.name,
    ...(model && { model: `${model.provider}:${model.id}` }),
    reasons: ["It is the runtime's backend."],
    ...(form && { schemaEnforced: model?.enforcesSchema === true }),
  })
  return backend
}
