import { LonghaulError } from "../../contract/error.ts"
import type { Endpoint, Model, RecordedModel } from "../../contract/provider.ts"

/** The name of a model in the journal. */
export function nameOf({ provider, id }: Model): string {
  return `${provider}:${id}`
}

/** A model as the journal can have it: its name, and where its requests go. */
export function recordedModel(model: Model): Required<RecordedModel> {
  return { model: nameOf(model), endpoint: model.endpoint ?? null }
}

/**
 * The model that a run had: one of the candidates, else the one that its name means here. Throws `config_invalid` if its requests would
 * go to another address or carry the key of another source: the conversation must reach only servers that the run was given.
 */
export function recalledModel(
  recorded: { readonly model: string; readonly endpoint: RecordedModel["endpoint"] | undefined },
  candidates: readonly (Model | undefined)[],
  resolve: (name: string) => Model,
): Model {
  const named = candidates.filter((each): each is Model => each !== undefined && nameOf(each) === recorded.model)
  const found = named.find((each) => isSame(recorded.endpoint, each.endpoint))
  if (found) return found
  const other = named[0] ?? (recorded.endpoint === null ? undefined : resolve(recorded.model))
  if (other === undefined || !isSame(recorded.endpoint, other.endpoint)) throw elsewhere(recorded, other)
  return other
}

/** Runs of older versions have no address. */
function isSame(recorded: Endpoint | null | undefined, now: Endpoint | undefined): boolean {
  if (recorded === undefined) return true
  return recorded?.url === now?.url && recorded?.keyFrom === now?.keyFrom
}

function elsewhere({ model, endpoint }: Parameters<typeof recalledModel>[0], other: Model | undefined): LonghaulError {
  const began = `The run began with ${model} at ${shown(endpoint ?? undefined)}`
  const now = other ? `here it would use ${shown(other.endpoint)}` : "which was passed as a value and is not given here"
  return new LonghaulError("config_invalid", `${began}; ${now}.`, {
    fix: "Pass the same model to createRuntime, in `model`, `chain` or where the run had it; or name the one to continue with: resume({ model }).",
  })
}

function shown(endpoint: Endpoint | undefined): string {
  if (endpoint === undefined) return "an address that is not known"
  return `${endpoint.url} (key: ${endpoint.keyFrom ?? "given in code"})`
}
