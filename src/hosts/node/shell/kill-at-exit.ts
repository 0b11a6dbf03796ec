const kills = new Set<() => void>()

/**
 * Kills something when this process exits; the returned function cancels that. If this process is itself killed, the
 * next one does it. One listener for all, since many would look like a leak.
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
