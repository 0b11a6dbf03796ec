import { onAbort } from "../../lib/abort.ts"
import type { RunControls } from "../state/controls.ts"

/**
 * Passes stops and releases of a run on to its agent. Where the run is lost, another process has the agent, too. Returns a
 * function that ends it.
 */
export function linkControls(above: RunControls, below: RunControls): () => void {
  const pass = () => {
    const { cause, mode } = above
    if (cause?.kind === "lost") below.lose(cause.error)
    else if (mode) below.stop({ kind: "cancel" }, mode)
    else below.release()
  }
  if (above.stopping || above.releasing) pass()
  const unlinks = [onAbort(above.halting, pass), onAbort(above.signal, pass)]
  return () => {
    for (const unlink of unlinks) unlink()
  }
}
