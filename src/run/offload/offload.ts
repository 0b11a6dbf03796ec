import type { ToolCall } from "../../contract/backend.ts"
import type { OffloadSettings, StoredResult } from "../../contract/compaction.ts"
import type { ContentPart } from "../../contract/content.ts"
import type { Environment } from "../../contract/env.ts"
import type { RecordBody } from "../../contract/event.ts"
import type { ToolContext } from "../../contract/tool.ts"
import { startOf, utf8Length } from "../../lib/truncate.ts"
import { type FetchContext, fetchData } from "../../settings/tools/fetch-data.ts"
import { offloadSettings } from "../../settings/tools/offload.ts"
import { wellFormed } from "../../tools/kernel/content-parts.ts"
import type { OffloadResult } from "../../tools/kernel/dispatch.ts"
import type { OpenRun } from "../state/open-run.ts"
import { storeBlob } from "./blobs.ts"
import { namesRef, previewOf, withRef } from "./preview.ts"
import { RunResults } from "./run-results.ts"

/** Stores the long results of a run's calls next to the run, if its settings ask for it and its model can fetch them. */
export class Offload {
  readonly #run: OpenRun
  readonly #settings: OffloadSettings | undefined
  readonly #results: RunResults | undefined
  /** By the call object, not by its id: a dropped early call may still be running under the same id. */
  readonly #stored = new WeakMap<ToolCall, StoredResult>()
  readonly #warnings = new WeakMap<ToolCall, RecordBody>()

  /** `env`: in which the run's artifacts can be read. */
  constructor(run: OpenRun, env: Environment) {
    this.#run = run
    const isOffered = run.input.dispatcher.tool(fetchData.name) === fetchData
    this.#results = isOffered ? new RunResults(run, env) : undefined
    // A result that the model could not fetch again stays in the conversation.
    this.#settings = isOffered ? offloadSettings(run.input.compaction) : undefined
  }

  /** True if the model can fetch results. */
  get isOffered(): boolean {
    return this.#results !== undefined
  }

  /** Returns the function that stores a long result of a call. `passes`: false for a text that must not be stored. */
  of(call: ToolCall, passes?: (text: string) => Promise<boolean>): OffloadResult | undefined {
    const settings = this.#settings
    if (settings === undefined || call.name === fetchData.name) return undefined
    return (parts) => {
      const text = longText(parts, settings.thresholdBytes ?? 2048)
      return text === undefined ? null : this.#shorten(call, parts, text, settings, passes)
    }
  }

  /** The stored result of a call, for its record. */
  storedOf(call: ToolCall): StoredResult | undefined {
    return this.#stored.get(call)
  }

  /** The warning to record with the result of a call. */
  warningOf(call: ToolCall): RecordBody | undefined {
    return this.#warnings.get(call)
  }

  /** Adds the run's results to the context of a call of FetchData. */
  context(context: ToolContext, { name }: ToolCall): FetchContext {
    const results = this.#results
    if (results === undefined || name !== fetchData.name) return context
    return { ...context, results }
  }

  async #shorten(
    call: ToolCall,
    parts: readonly ContentPart[],
    text: string,
    settings: OffloadSettings,
    passes: ((text: string) => Promise<boolean>) | undefined,
  ): Promise<readonly ContentPart[] | null> {
    if (passes && !(await passes(text))) return null
    const { callId, name } = call
    let attempt: number
    try {
      attempt = await storeBlob(this.#run.folder, { callId, tool: name, text })
    } catch {
      const message = `The result of ${name} (call ${callId}) could not be stored; it stays in the conversation.`
      this.#warnings.set(call, { type: "warning", code: "offload_failed", message })
      return null
    }
    // Several times as fast as counting.
    const bytes = new TextEncoder().encode(text).length
    this.#stored.set(call, { bytes, ...(attempt > 0 && { attempt }) })
    return [{ type: "text", text: this.#preview(call, text, bytes, settings) }, ...parts.filter(isMedia)]
  }

  #preview(call: ToolCall, text: string, rawBytes: number, settings: OffloadSettings): string {
    const { callId: ref, name: toolName, args: toolInput } = call
    const { summarizer } = settings
    const maxPreviewChars = Math.min(settings.maxPreviewChars ?? 500, MAX_PREVIEW_LENGTH)
    const result = { toolName, toolInput, rawContent: text, rawBytes, ref, maxPreviewChars }
    const own = summarizer && this.#summary(call, () => summarizer(result))
    if (own === undefined) return previewOf(result)
    const summary = startOf(own, MAX_PREVIEW_LENGTH)
    return namesRef(summary, ref) ? summary : withRef(summary, ref, rawBytes)
  }

  /** The host's own preview; undefined if its function failed. */
  #summary(call: ToolCall, summarize: () => unknown): string | undefined {
    try {
      const summary = summarize()
      if (typeof summary === "string") return this.#run.redactor.text(wellFormed(summary))
      // An async function is refused. Its rejection must not end the process.
      Promise.resolve(summary).catch(() => {})
    } catch {}
    const message = `compaction.offload.summarizer failed for the result of ${call.name} (call ${call.callId}).`
    this.#warnings.set(call, { type: "warning", code: "summarizer_failed", message })
    return undefined
  }
}

/** The text of a result that has more bytes than the threshold. */
function longText(parts: readonly ContentPart[], thresholdBytes: number): string | undefined {
  const only = parts.length === 1 ? parts[0] : undefined
  const text =
    only?.type === "text" ? only.text : parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")
  // A UTF-16 unit has one to three bytes, so most texts need no counting.
  if (text.length * 3 <= thresholdBytes) return undefined
  return text.length > thresholdBytes || utf8Length(text) > thresholdBytes ? text : undefined
}

function isMedia(part: ContentPart): boolean {
  return part.type !== "text"
}

/** In UTF-16 units, of which each has at most three bytes: below the limits of a result, so that no preview is cut. */
const MAX_PREVIEW_LENGTH = 80_000
