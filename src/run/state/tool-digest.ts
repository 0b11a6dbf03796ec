import type { ToolSpec } from "../../contract/tool.ts"
import { canonicalJson } from "../../lib/json.ts"
import type { ResolvedConfig } from "../../settings/config/config.ts"

/** Identifies the version of a tool, to detect changes between start and resume. Specs are frozen, so each is hashed once. */
export function toolDigest(config: ResolvedConfig, spec: ToolSpec): string {
  let digest = digests.get(spec)
  if (digest === undefined) {
    digest = config.digest(canonicalJson([spec.name, spec.description, spec.inputSchema]))
    digests.set(spec, digest)
  }
  return digest
}

const digests = new WeakMap<ToolSpec, string>()
