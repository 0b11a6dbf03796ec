import type { Json } from "./json.ts"
import type { Model } from "./provider.ts"

/** How a conversation is kept within the model's context. */
export interface CompactionSettings {
  /** The share of the window at which the conversation is shortened. Default 0.8. */
  readonly at?: number
  /** Tokens of the newest turns that stay as they are. Default: a tenth of the window, between 4,000 and 40,000. */
  readonly keep?: number
  /** Tokens that fit in the model's context. Default: the model's own figure, else 128,000. */
  readonly window?: number
  /** Writes the summaries. Default: the model of the run. */
  readonly model?: Model | string
  /** Added to the instructions for a summary. */
  readonly instructions?: string
  /** Stores long tool results next to the run: the model gets a preview, and the tool `FetchData`. Default: off. */
  readonly offload?: boolean | OffloadSettings
}

/** Which tool results are stored, and what the model gets instead. */
export interface OffloadSettings {
  /** Results with more bytes are stored. Default 2048. */
  readonly thresholdBytes?: number
  /** Length of a preview. Default 500. */
  readonly maxPreviewChars?: number
  /** Writes the preview. One that does not contain `ref` gets it appended; if it throws, the built-in preview is used. */
  readonly summarizer?: (result: OffloadedResult) => string
}

/** A tool result that is stored next to the run. */
export interface OffloadedResult {
  readonly toolName: string
  readonly toolInput: Json
  readonly rawContent: string
  readonly rawBytes: number
  /** What `FetchData` takes. */
  readonly ref: string
  readonly maxPreviewChars: number
}

/** Where the whole of a shortened result is: in a file next to the run, or at a path of the artifact store. */
export type StoredResult =
  | {
      /** Of the result's text. */
      readonly bytes: number
      /** The file that it is in, if earlier attempts at the call left others. Absent: 0. */
      readonly attempt?: number
    }
  | { readonly path: string }

/** The settings of a run in its journal: without values that cannot be stored. */
export interface RecordedCompaction extends Omit<CompactionSettings, "model" | "offload"> {
  readonly model?: string
  readonly offload?: boolean | Omit<OffloadSettings, "summarizer">
}
