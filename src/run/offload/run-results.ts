import type { Environment } from "../../contract/env.ts"
import type { RunRecord } from "../../contract/event.ts"
import type { ProjectedCall } from "../../journal/projected-call.ts"
import { readRow } from "../../journal/reader.ts"
import { MAX_CALLS } from "../../journal/recent-calls.ts"
import { plainText } from "../../lib/content.ts"
import type { FoundResult, ResultSource } from "../../settings/tools/fetch-data.ts"
import type { OpenRun } from "../state/open-run.ts"
import { readBlob } from "./blobs.ts"

/**
 * The results of a run's own calls. A reference is looked up among the calls in the run's journal, so no text of a model can
 * name a file, and none leads to another run.
 */
export class RunResults implements ResultSource {
  readonly #run: OpenRun
  readonly #env: Environment

  /** `env`: in which the run's artifacts can be read. */
  constructor(run: OpenRun, env: Environment) {
    this.#run = run
    this.#env = env
  }

  async find(ref: string): Promise<FoundResult | undefined> {
    const { calls } = this.#run.projection
    // The results of the last turn may still be on their way to the store.
    if (calls.get(ref)?.outcome === undefined) await this.#run.journal.flush()
    const { outcome, stored } = calls.get(ref) ?? (await this.#recorded(ref)) ?? {}
    if (outcome === undefined) return undefined
    const whole = await this.#whole(ref, stored)
    if (whole !== undefined) return { text: whole, isPart: false }
    // The journal keeps what was pruned from the conversation.
    return { text: plainText(outcome.output, "\n"), isPart: stored !== undefined }
  }

  /** The result of a call that is too old to be kept in memory. */
  async #recorded(callId: string): Promise<Pick<ProjectedCall, "outcome" | "stored"> | undefined> {
    const { calls } = this.#run.projection
    if (calls.count <= MAX_CALLS) return undefined
    const { row } = await readRow(this.#run.folder)
    const isIts = (record: RunRecord) => record.type === "tool-result" && record.callId === callId
    const found = row?.records.findLast(isIts)
    return found?.type === "tool-result" ? { outcome: found.outcome, stored: found.stored } : undefined
  }

  async #whole(callId: string, stored: ProjectedCall["stored"]): Promise<string | undefined> {
    if (stored === undefined) return undefined
    if ("bytes" in stored) return readBlob(this.#run.folder, callId, stored.attempt ?? 0)
    try {
      const bytes = await this.#env.files?.read(stored.path, this.#run.input.cwd)
      return bytes && new TextDecoder().decode(bytes)
    } catch {
      // A path of the host's own function need not be readable here.
      return undefined
    }
  }
}
