/** How long a kept connection waits for its next request: below what most servers and the devices on the way allow. */
export const IDLE_MS = 10_000

/** How many connections of one pool may wait. */
export const MOST_IDLE = 1024
