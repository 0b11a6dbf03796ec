/** `graceful`: the current step finishes, nothing new starts. `immediate`: stop. */
export type InterruptMode = "graceful" | "immediate"

/** Small, JSON, no secrets. Journalled before the first tool intent and whenever it changes. */
export interface SessionRef {
  readonly backend: string
  readonly version: string
  readonly id: string
  readonly cwd: string
  /** False until it is really stored where another process can find it. */
  readonly resumable: boolean
}
