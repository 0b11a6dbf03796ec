/** How long, and how many per pool, connections are kept for the next request. */
export interface IdleLimits {
  readonly idleMs: number
  readonly mostIdle: number
}

/** Shorter than most servers and network devices keep an idle connection; as many as a busy host has runs. */
export const defaultIdleLimits: IdleLimits = { idleMs: 10_000, mostIdle: 1024 }
