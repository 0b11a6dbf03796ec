import type { BackendEnv } from "./backend-env.ts"
import type { Environment } from "./env.ts"
import type { Json } from "./json.ts"
import type { Message } from "./message.ts"
import type { RunResult } from "./result.ts"
import type { Store } from "./store.ts"
import type { Tool } from "./tool.ts"

/**
 * A source of tools and instructions: MCP servers, APIs, skills, memory, knowledge. It is opened for each run, after the run's
 * first record and before its first turn.
 */
export interface Extension {
  /** Among those of a run and its runtime, the last one of a name is used. */
  readonly name: string
  /** It holds the choice or the secrets of one caller: a run may have it, a runtime, whose runs would share it, may not. */
  readonly perRun?: boolean
  /** The secrets that it sends, by name. The runtime masks these values. */
  credentials?(): Readonly<Record<string, string>>
  /** A rejection fails the run. */
  open(run: ExtensionRun): OpenedExtension | Promise<OpenedExtension>
}

/** The run that an extension is opened for. */
export interface ExtensionRun {
  /** The tenant. */
  readonly workspaceId: string
  /** A digest of the store and the tenant: the key of what an extension keeps for the tenant outside `shared`. Safe in paths. */
  readonly tenant: string
  readonly runId: string
  readonly nodeId: string
  /** The text of the task. */
  readonly task: string
  /** The working directory of the tools. */
  readonly cwd: string
  /** The tools' access to files, commands and the web. */
  readonly env: Environment
  /** Processes, sockets and variables, as far as the host has them. */
  readonly host: BackendEnv
  /** The part of the store that belongs to the run's workspace and is shared by its runs. */
  readonly shared: Pick<Store, "location" | "folder" | "list" | "within">
  /** Aborted when the run is stopped, and when it has ended. */
  readonly signal: AbortSignal
  /** The tokens that the model can take, if they are known. */
  readonly contextTokens?: number
  /** The value that it returned when the run began. Absent: the run begins, or the caller passed the extension again. */
  readonly recorded?: RecordedExtension
  /** Asks the run's model something, apart from its conversation and within its budget. Absent: its backend has no such model. */
  readonly sample?: (request: SampleRequest) => Promise<SampleAnswer>
  /** Records a warning of the run. */
  warn(code: string, message: string): void
}

/** A question to the model. */
export interface SampleRequest {
  /** Who asks, for the journal. */
  readonly source: string
  readonly system?: string
  readonly messages: readonly Message[]
  readonly maxOutputTokens: number
}

export interface SampleAnswer {
  readonly text: string
  /** As the provider calls it. */
  readonly model: string
}

/** The contributions of an extension to a run. */
export interface OpenedExtension {
  /** Added to the run's system prompt. A resumed run keeps the text that it began with. */
  readonly instructions?: string
  /** A resumed run keeps the tools that it began with, as far as they still exist. */
  readonly tools?: readonly Tool[]
  /** Facts that it gets back as `recorded.facts` when the run is resumed. Never a secret. */
  readonly facts?: Json
  /** Called when this process has finished with the run. `result`: as it ended or paused; absent if the process lost it. */
  close?(result?: RunResult): Promise<void>
}

/** An extension of a run, as its journal has it. */
export interface RecordedExtension {
  readonly name: string
  readonly instructions?: string
  readonly tools: readonly { readonly name: string; readonly digest: string }[]
  readonly facts?: Json
}

/** The tools that a run may use. */
export interface ToolFilter {
  readonly allowed?: readonly string[]
  readonly disabled?: readonly string[]
}
