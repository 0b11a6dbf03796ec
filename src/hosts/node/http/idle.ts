/** How long, and how many of one pool, connections are kept for the next request. */
export interface IdleLimits {
  readonly idleMs: number
  readonly mostIdle: number
}

/** Shorter than most servers and the devices on the way keep a silent connection; as many as a busy host has runs. */
export const defaultIdleLimits: IdleLimits = { idleMs: 10_000, mostIdle: 1024 }
