import type { Artifact, ArtifactStore } from "../../contract/artifacts.ts"
import type { ToolCall } from "../../contract/backend.ts"
import type { StoredResult } from "../../contract/compaction.ts"
import type { Environment, Shell } from "../../contract/env.ts"
import type { RecordBody } from "../../contract/event.ts"
import type { RunKey } from "../../contract/store.ts"
import { shellWith } from "../../lib/access/shell-with.ts"
import type { Redactor } from "../../policy/redact/redactor.ts"
import type { ResolvedConfig } from "../../settings/config/config.ts"
import type { KeepWhole } from "../../tools/kernel/dispatch.ts"

/** Saves tool results that are too long for the transcript, if the runtime has an artifact store. */
export class Overflow {
  /** The environment of the run's tools, in which they can read saved results. */
  readonly env: Environment
  readonly #artifacts: ArtifactStore | undefined
  readonly #key: RunKey
  /** By the call object, not by its id: a dropped early call may still be running under the same id. */
  readonly #warnings = new WeakMap<ToolCall, RecordBody>()
  readonly #paths = new WeakMap<ToolCall, string>()

  constructor({ artifacts, env }: ResolvedConfig, key: RunKey, redactor: Redactor) {
    this.#artifacts = artifacts
    this.#key = key
    const own = artifacts?.environment?.(env, key) ?? env
    this.env = own.shell ? { ...own, shell: redactedShell(own.shell, redactor) } : own
  }

  /**
   * Returns the function that saves the whole result of a call; undefined without an artifact store. `isOffered`: the model has
   * FetchData.
   */
  keeperOf(call: ToolCall, isOffered: boolean): KeepWhole | undefined {
    const artifacts = this.#artifacts
    if (artifacts === undefined) return undefined
    return async (artifact) => {
      const path = await this.#keep(artifacts, call, artifact)
      return path !== null && isOffered ? `${path}, or from FetchData with ref ${JSON.stringify(call.callId)}` : path
    }
  }

  /** Where the whole result of a call is, for its record. */
  storedOf(call: ToolCall): StoredResult | undefined {
    const path = this.#paths.get(call)
    return path === undefined ? undefined : { path }
  }

  /** The warning to record with the result of a call, if the result was cut. */
  warningOf(call: ToolCall): RecordBody | undefined {
    return this.#warnings.get(call)
  }

  async #keep(artifacts: ArtifactStore, call: ToolCall, artifact: Artifact): Promise<string | null> {
    this.#warnings.set(call, truncated(call, "it could not be saved"))
    const path = await artifacts.save(this.#key, artifact)
    if (path === null) this.#warnings.delete(call)
    else {
      this.#paths.set(call, path)
      this.#warnings.set(call, { ...truncated(call, `all of it is at ${path}`), paths: [path] })
    }
    return path
  }
}

/** Commands save long output themselves, before it is a result. */
export function redactedShell(shell: Shell, redactor: Redactor): Shell {
  return shellWith(shell, { redact: redactor.stream })
}

function truncated({ name, callId }: ToolCall, where: string) {
  const message = `The result of ${name} (call ${callId}) was cut; ${where}.`
  return { type: "warning", code: "tool_payload_truncated", message } as const
}
