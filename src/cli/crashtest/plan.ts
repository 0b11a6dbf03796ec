/** What one child process is told to do. It goes on with the trial's run until that is done, or until it is killed. */
export interface ChildPlan {
  /** `fs`, `create-only` or an address such as `s3://bucket/prefix`. */
  readonly store: string
  /** The trial's own: its store on disk, its ledger and its acknowledgements. */
  readonly folder: string
  /** Where it says what it tells the world: the receiver of its webhooks. */
  readonly receiver: string
  /** A module with a workload of its own. */
  readonly tools?: string
  readonly blow?: Blow
}

/** Where the process kills itself: at which durable operation, counted from 0. `part`: how much of a torn write is written. */
export interface Blow {
  readonly at: number
  readonly when: "before" | "after" | "torn"
  readonly part: number
}

/** What a child that got to the end tells the one that started it. */
export interface ChildReport {
  readonly runId: string
  /** Its durable operations, in order. */
  readonly operations: readonly string[]
}

/** Holds a child's plan as JSON. */
export const PLAN_VARIABLE = "LONGHAUL_CRASHTEST_CHILD"
export const WEBHOOK_SECRET = "whsec_Y3Jhc2h0ZXN0LXNlY3JldC1vZi1ub2JvZHk="
/** The descriptor on which a child speaks. */
export const SAYING = 3
/** A child says this once it is about to begin: what came before is the start of a process. */
export const BEGUN = "begun"
