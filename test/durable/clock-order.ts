/** What a process whose clock is set by somebody else is to do. */
export type ClockOrder = {
  readonly root: string
  readonly workspace: string
} /** Owns a run of so many steps; each takes this long, or until the clock jumps and then this long. */ & (
  | {
      readonly role: "owner"
      readonly runId: string
      readonly steps: number
      readonly stepMs: number
      readonly until?: "jump"
    }
  /** Runs against a model server. */
  | { readonly role: "caller"; readonly url: string }
  /** Looks for runs that lost their process. */
  | { readonly role: "watcher"; readonly staleMs: number }
  /** Wants a run before the clock jumps, and again after it. */
  | { readonly role: "resumer"; readonly runId: string }
)
