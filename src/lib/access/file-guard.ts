import type { FileGuard } from "../../contract/env.ts"

/** True if the guard lets a path be read. */
export function mayRead(guard: FileGuard, real: string): boolean {
  try {
    guard(real, "read")
    return true
  } catch {
    return false
  }
}

/** Refuses what one of the two refuses. */
export function bothGuards(first: FileGuard, second: FileGuard): FileGuard {
  return (real, access) => {
    first(real, access)
    second(real, access)
  }
}

export const noGuard: FileGuard = () => {}
