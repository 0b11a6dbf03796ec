import type { Backend } from "../../../contract/backend.ts"
import type { Capabilities } from "../../../contract/capabilities.ts"
import { LonghaulError } from "../../../contract/error.ts"
import {
  type ExecutionMode,
  parseRuntimeModelReference,
  type RuntimeModelReference,
} from "../../../settings/backends/model-reference.ts"
import { namedBackends } from "./named-backends.ts"

export { meetsRequirements, supports } from "../../../settings/backends/select.ts"
export { type ExecutionMode, parseRuntimeModelReference, type RuntimeModelReference }

/** The names of all backends of this package, in order of preference. */
export function listRuntimeBridges(): readonly string[] {
  return [...namedBackends.names, "native"]
}

/** The backend that a reference to a model names; `native` if it names none. */
export async function resolveRuntimeBridge(
  reference: string | RuntimeModelReference,
  executionMode?: ExecutionMode,
): Promise<Backend> {
  const { backend = "native" } = parseRuntimeModelReference(reference, executionMode)
  if (backend === "native") return (await import("../../../backends/native/index.ts")).native()
  const created = namedBackends.create(backend)
  if (created) return created
  throw new LonghaulError("config_invalid", `There is no backend ${JSON.stringify(backend)}.`, {
    fix: `Use one of ${listRuntimeBridges().join(", ")}.`,
  })
}

/** The capabilities that each backend declares, by name. */
export async function runtimeCapabilities(): Promise<Readonly<Record<string, Capabilities>>> {
  const entries = listRuntimeBridges().map(
    async (name) => [name, (await resolveRuntimeBridge(name)).capabilities] as const,
  )
  return Object.fromEntries(await Promise.all(entries))
}
