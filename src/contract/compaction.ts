import type { Json } from "./json.ts"
import type { Message } from "./message.ts"
import type { Model, RecordedModel } from "./provider.ts"
import type { Usage } from "./result.ts"

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
  /** The arguments of `FetchData`. */
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
export interface RecordedCompaction extends Omit<CompactionSettings, "model" | "offload">, RecordedModel {
  readonly offload?: boolean | Omit<OffloadSettings, "summarizer">
}

/** How a conversation was shortened. Applying it needs no model: everything that replaces messages is in it. */
export interface Compaction {
  /** The turn that was about to start, or whose request was refused. */
  readonly turn: number
  /** `threshold`: close to the window. `overflow`: the model refused the request. `asked`: the host asked for it. */
  readonly cause: "threshold" | "overflow" | "asked"
  /** The window that was assumed from then on. */
  readonly window: number
  readonly results?: CutResults
  readonly head?: ConversationHead
  /** True: what it had to replace was too long for one summary, and the next compaction follows at once. */
  readonly isPart?: true
  /** Of the whole request, estimated from what the provider reported last. */
  readonly tokens: { readonly before: number; readonly after: number }
  /** Of the summary. */
  readonly usage?: Usage
  /** The model that wrote the summary. */
  readonly model?: string
  readonly durationMs?: number
}

/** The shortened parts of the run's own turns: results, long arguments of calls, and messages of agents. */
export interface CutResults {
  /** By `callId`: the number of characters that stay, half from each end. 0: only the note. */
  readonly keep: Readonly<Record<string, number>>
  /** In the place of what is missing; `{callId}` stands for the id of the call. */
  readonly note: string
  /** By `callId`: the number of characters that stay of each text in the arguments. */
  readonly args?: Readonly<Record<string, number>>
  /** Messages of agents, by their place from the end of the conversation, the last one being 1: the characters that stay. */
  readonly messages?: Readonly<Record<string, number>>
}

/** Replaces the beginning of a conversation. */
export interface ConversationHead {
  /** The last turn that it replaces. 0: messages before the first turn. */
  readonly through: number
  /** If `through` is 0: how many of the messages before the first turn stay, counted from the last. Default 0. */
  readonly kept?: number
  /** The messages of people, word for word, the task last (unless it stays anyway), and the summary. */
  readonly messages: readonly Message[]
}

/** A message with the turn it belongs to: 0 for the input; a message that follows turn k belongs to k. */
export interface TurnMessage {
  readonly turn: number
  readonly message: Message
}

/** The facts and settings with which a backend keeps a conversation within the model's context. */
export interface ContextSetup extends Pick<CompactionSettings, "keep" | "instructions"> {
  readonly at: number
  readonly window: number
  /** True: nothing is known about the model's window, unless the backend itself knows it. */
  readonly isAssumed: boolean
  /** Writes the summaries. Default: the model of the run. */
  readonly model?: Model
  /** The conversation so far, with the prompt. */
  readonly said: readonly TurnMessage[]
  /** The last request whose size is known. */
  readonly measured?: MeasuredContext
  /** The longest request that the model has accepted: its window is not smaller. */
  readonly accepted?: number
  /** The last compactions with this model, oldest first. */
  readonly recent: readonly PastCompaction[]
  /** True: the host asked for a compaction that was not made yet. */
  readonly isAsked: boolean
}

export interface MeasuredContext {
  readonly tokens: number
  /** The number of messages at the end of the conversation that were not in it. */
  readonly since: number
}

export interface PastCompaction {
  readonly turn: number
  readonly window: number
  readonly after: number
  readonly hasHead: boolean
}
