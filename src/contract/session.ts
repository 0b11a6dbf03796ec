import type { Json } from "./json.ts"

/** `graceful`: the current step finishes, nothing new starts. `immediate`: stop. */
export type InterruptMode = "graceful" | "immediate"

/** A message for the model of a running session: from a person, or the answer of an agent. */
export interface SteerMessage {
  readonly id: string
  readonly text: string
}

/** Small, JSON, no secrets. Journalled before the first tool intent and whenever it changes. */
export interface SessionRef {
  readonly backend: string
  /** Of the vendor's program. */
  readonly version: string
  readonly id: string
  readonly cwd: string
  /** False until it is really stored where another process can find it. */
  readonly resumable: boolean
  /** The state that the backend itself needs to open it again. */
  readonly data?: Json
}

/**
 * How a suspended call continues in the resumed session. `settle`: the runtime settles it, and the vendor takes its result.
 * `replay`: the vendor presents the same call again. `repeat`: the model has to make the call again.
 */
export type ResumeBy = "settle" | "replay" | "repeat"
