/** The task of a process whose clock is set by the test. */
export type ClockOrder = {
  readonly root: string
  readonly workspace: string
} /** Owns a run with this many steps; each takes this long, or until the clock jumps and then this long. */ & (
  | {
      readonly role: "owner"
      readonly runId: string
      readonly steps: number
      readonly stepMs: number
      readonly until?: "jump"
    }
  /** Runs against a model server. */
  | { readonly role: "caller"; readonly url: string }
  /** Finds runs whose process died. */
  | { readonly role: "watcher"; readonly staleMs: number }
  /** Tries to take a run before the clock jumps, and again after it. */
  | { readonly role: "resumer"; readonly runId: string }
)
