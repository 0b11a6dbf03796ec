import type { Backend } from "../../contract/backend.ts"
import type { Feature } from "../../contract/capabilities.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Target } from "../../contract/event.ts"
import type { Model } from "../../contract/provider.ts"
import type { ChainEntry, ResumeInput, RunInput } from "../../contract/run.ts"
import type { RunProjection } from "../../journal/projection.ts"
import { parsedReference } from "./model-reference.ts"
import { nameOf, recalledModel, recordedModel } from "./named-models.ts"

/** A backend with its model, as one entry of a run's chain. */
export interface RunTarget {
  readonly backend: Backend
  /** For a backend that needs a model as a value. */
  readonly model?: Model
  /** The model's name in the journal: `provider:model`, or the vendor's name. */
  readonly modelName?: string
  readonly requires: readonly Feature[]
  readonly reasons: readonly string[]
  /** The runtime chose it, not the caller: a missing login is then no reason to stop. */
  readonly isChosen?: true
  /** It is what the host has under its name, not a value of the caller's. */
  readonly isOfHost?: true
}

/** A chain has at least one entry. */
export type Chain = readonly [RunTarget, ...RunTarget[]]

/** Resolves names of backends and models. */
export interface TargetSource {
  readonly backend: Backend | string | undefined
  readonly chain: readonly ChainEntry[] | undefined
  /** The runtime's own model. */
  readonly model: Model | string | undefined
  /** The model that the host falls back to. */
  readonly defaultModel: string | undefined
  /** Throws `config_invalid` for an unknown name. */
  findBackend(backend: Backend | string | undefined): Promise<Backend>
  isBackend(name: string): boolean
  isOfHost(backend: Backend): boolean
  resolveModel(model: Model | string): Model
}

/** The chain of a run: its own or the runtime's entries, else one entry. */
export async function chainOf(
  source: TargetSource,
  given: Pick<RunInput, "backend" | "chain" | "model">,
): Promise<Chain> {
  const isSingle = given.backend !== undefined || given.model !== undefined
  const entries = given.chain ?? (isSingle ? undefined : source.chain)
  if (entries === undefined) {
    const backend = given.backend ?? source.backend
    const reasons = [given.backend === undefined ? "It is the runtime's backend." : "The run names it."]
    return [await targetOf(source, { backend, model: given.model, reasons })]
  }
  const [first, ...others] = entries
  if (first === undefined) {
    throw new LonghaulError("config_invalid", "chain is empty.", { fix: "Give it at least one entry, or omit it." })
  }
  const resolve = (entry: ChainEntry) => targetOf(source, { ...parsedEntry(source, entry), reasons: [IN_CHAIN] })
  return [await resolve(first), ...(await Promise.all(others.map(resolve)))]
}

const IN_CHAIN = "It is the next entry of the chain."

interface Wanted {
  readonly backend?: Backend | string | undefined
  readonly model?: Model | string | undefined
  readonly requires?: readonly Feature[] | undefined
  readonly reasons: readonly string[]
}

/** A backend that needs a model gets the given one, else the runtime's. Others choose their own if none is given. */
async function targetOf(source: TargetSource, { backend: named, model: given, requires = [], reasons }: Wanted) {
  const backend = await source.findBackend(named)
  const base = baseOf(source, backend, requires, reasons)
  if (backend.capabilities.models === "own") {
    const model = given ?? (named === source.backend ? source.model : undefined)
    const modelName = typeof model === "string" || model === undefined ? model : model.id
    return modelName === undefined ? base : { ...base, modelName }
  }
  const model = given ?? source.model ?? source.defaultModel
  return model === undefined ? base : withModel(base, source.resolveModel(model))
}

/**
 * The chain of a resumed run, and the entry that continues it: the one that it used last, or the backend that the caller names. Its entries are
 * the runtime's own, or `own`, by place and name; others are what their names mean here.
 */
export async function recalledChain(
  source: TargetSource,
  { input, route: { chosen }, error }: Pick<RunProjection, "input" | "route" | "error">,
  given: Pick<ResumeInput, "backend" | "model">,
  own: readonly RunTarget[] = [],
): Promise<{ readonly chain: Chain; readonly entry: number }> {
  if (given.backend !== undefined) {
    const wish = { backend: given.backend, model: given.model, reasons: ["The run is resumed on it."] }
    return { chain: [await targetOf(source, wish)], entry: 0 }
  }
  const configured = source.chain ? await chainOf(source, { chain: source.chain }) : []
  if (input?.chain && given.model === undefined) {
    const entry = error?.code === "providers_exhausted" ? 0 : (chosen?.entry ?? 0)
    const [first, ...others] = await Promise.all(
      input.chain.map((recorded, place) =>
        recalledTarget(source, recorded, [...configured.slice(place, place + 1), ...configured, ...own], [IN_CHAIN]),
      ),
    )
    if (first) return { chain: [first, ...others], entry }
  }
  const { model, endpoint } = (chosen?.model === undefined ? input : chosen) ?? {}
  const { backend, given: isGiven } = chosen ?? input ?? {}
  const recorded = { backend, model, endpoint, given: isGiven }
  const reasons = ["It is the run's backend."]
  if (given.model !== undefined) {
    const wish = { backend: recorded.backend, model: given.model, reasons }
    return { chain: [await targetOf(source, wish)], entry: 0 }
  }
  return { chain: [await recalledTarget(source, recorded, [...own, ...configured], reasons)], entry: 0 }
}

/** An entry of a run's chain, as it is recorded. */
interface RecordedEntry {
  readonly backend: string | undefined
  readonly model?: Target["model"] | undefined
  readonly endpoint?: Target["endpoint"] | undefined
  readonly given?: Target["given"] | undefined
  readonly requires?: readonly Feature[]
}

async function recalledTarget(
  source: TargetSource,
  { backend: named, model, endpoint, given, requires = [] }: RecordedEntry,
  candidates: readonly RunTarget[],
  reasons: readonly string[],
): Promise<RunTarget> {
  const same = candidates.filter(({ backend, modelName }) => backend.name === named && modelName === model)
  const backend = same[0]?.backend ?? (await source.findBackend(named))
  if (given && source.isOfHost(backend)) throw givenElsewhere(backend.name)
  const base = baseOf(source, backend, requires, reasons)
  if (backend.capabilities.models === "own") return model === undefined ? base : { ...base, modelName: model }
  if (model === undefined) return targetOf(source, { backend, requires, reasons })
  const { model: configured, resolveModel } = source
  const models = [...same.map((each) => each.model), typeof configured === "object" ? configured : undefined]
  return withModel(base, recalledModel({ model, endpoint }, models, resolveModel))
}

function baseOf(source: TargetSource, backend: Backend, requires: readonly Feature[], reasons: readonly string[]) {
  return { backend, requires, reasons, ...(source.isOfHost(backend) && { isOfHost: true as const }) }
}

/** Its settings may name another address, key or folder: the conversation must reach only what the run was given. */
function givenElsewhere(name: string): LonghaulError {
  return new LonghaulError(
    "config_invalid",
    `The run began on a backend ${name} that was passed as a value and is not given here.`,
    {
      fix: "Pass the same backend to createRuntime, in `backend`, `backends` or `chain`; or name the one to continue with: resume({ backend }).",
    },
  )
}

/** The same target with a model as a value. */
function withModel(target: Omit<RunTarget, "model" | "modelName">, model: Model): RunTarget {
  return { ...target, model, modelName: nameOf(model) }
}

/** As it is recorded. */
export function recordedTarget({ backend, model, modelName, isOfHost }: RunTarget): Target {
  if (model) return { backend: backend.name, ...recordedModel(model) }
  const given = isOfHost || backend.capabilities.edge ? {} : { given: true as const }
  return { backend: backend.name, ...(modelName !== undefined && { model: modelName }), ...given }
}

function parsedEntry({ isBackend }: TargetSource, entry: ChainEntry): Omit<Wanted, "reasons"> {
  return typeof entry === "string" ? parsedReference(entry, isBackend, "sdk") : entry
}
