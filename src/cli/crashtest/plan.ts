/** The instructions of one child process: it works on the trial's run until the run ends or the process is killed. */
export interface ChildPlan {
  /** `fs`, `create-only` or an address such as `s3://bucket/prefix`. */
  readonly store: string
  /** The trial's own folder: its store on disk, its ledger and its acknowledgements. */
  readonly folder: string
  /** The URL of the webhook receiver. */
  readonly receiver: string
  /** A module with a custom workload. */
  readonly tools?: string | undefined
  readonly blow?: Blow
}

/**
 * Where the process kills itself: the index of the durable operation. `part`: the fraction of a torn write that is
 * written.
 */
export interface Blow {
  readonly at: number
  readonly when: "before" | "after" | "torn"
  readonly part: number
}

/** The report of a child that reached the end. */
export interface ChildReport {
  readonly runId: string
  /** Its durable operations, in order. */
  readonly operations: readonly string[]
}

/** Environment variable with a child's plan as JSON. */
export const PLAN_VARIABLE = "LONGHAUL_CRASHTEST_CHILD"
export const WEBHOOK_SECRET = "whsec_Y3Jhc2h0ZXN0LXNlY3JldC1vZi1ub2JvZHk="
/** The file descriptor on which a child reports. */
export const SAYING = 3
/** A child sends this when it is about to begin: time before it is process start-up. */
export const BEGUN = "begun"
