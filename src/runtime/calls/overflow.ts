import type { Artifact, ArtifactStore } from "../../contract/artifacts.ts"
import type { ToolCall } from "../../contract/backend.ts"
import type { Environment } from "../../contract/env.ts"
import type { RecordBody } from "../../contract/event.ts"
import type { ToolContext, ToolOutcome } from "../../contract/tool.ts"
import type { ResolvedConfig } from "../config.ts"
import type { OpenRun } from "../open-run.ts"

/** What the calls of one run return beyond what can be shown of it. */
export class Overflow {
  /** What the run's tools act on: they may read what was kept for them. */
  readonly env: Environment
  readonly #artifacts: ArtifactStore | undefined
  readonly #run: Pick<OpenRun, "key" | "input" | "journal">

  constructor({ artifacts, env }: ResolvedConfig, run: OpenRun) {
    this.#artifacts = artifacts
    this.#run = run
    this.env = artifacts?.environment?.(env, run.key) ?? env
  }

  /** Dispatches a call; what is cut from its result is kept where there is a place for it. */
  dispatch(call: ToolCall, context: ToolContext): Promise<ToolOutcome> {
    const { dispatcher } = this.#run.input
    if (this.#artifacts === undefined) return dispatcher.dispatch(call, context)
    return dispatcher.dispatch(call, context, (artifact) => this.#keep(call, artifact))
  }

  /** The call's result goes on record: what was cut from it is told beside it. */
  recorded(call: ToolCall): void {
    const warning = warnings.get(call)
    if (warning) this.#run.journal.append(warning)
  }

  async #keep(call: ToolCall, artifact: Artifact): Promise<string | null> {
    warnings.set(call, truncated(call, "it could not be saved"))
    const path = await (this.#artifacts as ArtifactStore).save(this.#run.key, artifact)
    if (path === null) warnings.delete(call)
    else warnings.set(call, { ...truncated(call, `all of it is at ${path}`), paths: [path] })
    return path
  }
}

/** What is to be told of a call. By the very call, not by its id: one that was dropped may still be at it. */
const warnings = new WeakMap<ToolCall, RecordBody>()

function truncated({ name, callId }: ToolCall, where: string) {
  const message = `What ${name} returned (call ${callId}) was cut; ${where}.`
  return { type: "warning", code: "tool_payload_truncated", message } as const
}
