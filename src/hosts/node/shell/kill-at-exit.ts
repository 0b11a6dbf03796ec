const kills = new Set<() => void>()

/**
 * Has something killed when this process exits; the answer takes it back. A process that is killed itself leaves that to
 * the next one. One listener for all, since each of many would be taken for a leak.
 */
export function killAtExit(kill: () => void): () => void {
  if (kills.size === 0) process.on("exit", killAll)
  kills.add(kill)
  return () => {
    kills.delete(kill)
    if (kills.size === 0) process.off("exit", killAll)
  }
}

function killAll(): void {
  for (const kill of kills) kill()
}
