import type { InterruptMode } from "../contract/session.ts"

/**
 * Turns signals into interrupts: the first Ctrl-C stops after the current step, the second immediately; SIGTERM and
 * SIGHUP stop immediately. Returns a function that removes the handlers.
 */
export function onSignals(interrupt: (mode: InterruptMode) => void, say: (text: string) => void): () => void {
  let firstAt: number | undefined
  const onInterrupt = () => {
    const now = performance.now()
    if (firstAt === undefined) {
      firstAt = now
      say("Finishing the current step; press again to stop now.")
      interrupt("graceful")
    } else if (now - firstAt > echoMs) {
      interrupt("immediate")
    }
  }
  const onEnd = () => interrupt("immediate")
  process.on("SIGINT", onInterrupt)
  process.on("SIGTERM", onEnd)
  process.on("SIGHUP", onEnd)
  return () => {
    process.off("SIGINT", onInterrupt)
    process.off("SIGTERM", onEnd)
    process.off("SIGHUP", onEnd)
  }
}

/**
 * Handles Ctrl-C while nothing is running: the first shows how to leave, the second leaves. `isIdle` returns whether
 * that is the case; `reset` resets the count.
 */
export function onIdleInterrupt(
  isIdle: () => boolean,
  hint: () => void,
  leave: () => void,
): { reset(): void; removeHandlers(): void } {
  let firstAt: number | undefined
  const onInterrupt = () => {
    if (!isIdle()) return
    const now = performance.now()
    if (firstAt === undefined) {
      firstAt = now
      hint()
    } else if (now - firstAt > echoMs) leave()
  }
  process.on("SIGINT", onInterrupt)
  return {
    reset() {
      firstAt = undefined
    },
    removeHandlers: () => process.off("SIGINT", onInterrupt),
  }
}

/** npm forwards a Ctrl-C that the terminal has already sent to us: one key press must not count twice. */
const echoMs = 50

/** Aborts on Ctrl-C, for commands that only watch. */
export function interruptSignal(): { readonly signal: AbortSignal; removeHandlers(): void } {
  const controller = new AbortController()
  const stop = () => controller.abort()
  process.once("SIGINT", stop)
  return { signal: controller.signal, removeHandlers: () => process.off("SIGINT", stop) }
}
