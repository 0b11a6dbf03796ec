import { checkArgument, required, type Shape, shapeOf, words } from "../../lib/schema/shape.ts"
import { isBackendName } from "./vendors.ts"

/** A model by the agent that runs it: `claude`, `pi` or `codex`. */
export interface RuntimeModelReference {
  readonly sdk: "claude" | "pi" | "codex"
  readonly model: string
  /** The provider of the model, for Pi. */
  readonly provider?: string
}

/** Which of two backends of one vendor: its library or its program. */
export type ExecutionMode = "sdk" | "cli"

/**
 * The backend and the model that a reference names, as an entry of a chain: `backend/model`, the name of a backend, `claude:…`,
 * `pi:…` or `codex:…`, an object, or the name of a model.
 */
export function parseRuntimeModelReference(
  reference: string | RuntimeModelReference,
  executionMode: ExecutionMode = "sdk",
): { readonly backend?: string; readonly model?: string } {
  checkArgument("reference", reference, ["text", shapeOf<RuntimeModelReference>(referenceShape)])
  checkArgument("executionMode", executionMode, words("sdk", "cli"))
  if (typeof reference === "string") return parsedReference(reference, () => false, executionMode)
  const { sdk, model, provider } = reference
  const id = provider === undefined ? model : `${provider}:${model}`
  return { backend: backendOf(sdk, executionMode), model: id }
}

const referenceShape: Shape<RuntimeModelReference> = {
  sdk: required(words("claude", "pi", "codex")),
  model: required("text"),
  provider: "text",
}

function backendOf(sdk: string, executionMode: ExecutionMode): string {
  return sdk === "claude" ? `claude-${executionMode}` : sdk
}

/** The same; `isBackend`: the backends that the runtime has in addition to the known ones. */
export function parsedReference(
  reference: string,
  isBackend: (name: string) => boolean,
  executionMode: ExecutionMode,
): { readonly backend?: string; readonly model?: string } {
  const slash = reference.indexOf("/")
  const before = reference.slice(0, slash)
  if (slash > 0 && (isBackend(before) || isBackendName(before))) {
    return { backend: before, model: reference.slice(slash + 1) }
  }
  if (isBackend(reference) || isBackendName(reference)) return { backend: reference }
  const [, sdk = "", model = ""] = /^(claude|pi|codex):(.+)$/.exec(reference) ?? []
  if (sdk === "") return { model: reference }
  return { backend: backendOf(sdk, executionMode), model }
}
