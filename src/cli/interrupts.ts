import type { InterruptMode } from "../contract/session.ts"

/**
 * Turns signals into interrupts: Ctrl-C once lets the current step finish, twice stops it; SIGTERM and SIGHUP stop it.
 * Answers with a function that gives the signals back.
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
 * Ctrl-C where nothing is under way: once it says how to leave, twice it leaves. `isIdle` tells whether that is so;
 * `calm` makes the next one the first again.
 */
export function onIdleInterrupt(
  isIdle: () => boolean,
  hint: () => void,
  leave: () => void,
): { calm(): void; giveBack(): void } {
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
    calm() {
      firstAt = undefined
    },
    giveBack: () => process.off("SIGINT", onInterrupt),
  }
}

/** npm passes on a Ctrl-C that the terminal has already sent to us: one key press must not count twice. */
const echoMs = 50

/** Aborts with Ctrl-C, for what only looks on. */
export function interruptSignal(): { readonly signal: AbortSignal; giveBack(): void } {
  const controller = new AbortController()
  const stop = () => controller.abort()
  process.once("SIGINT", stop)
  return { signal: controller.signal, giveBack: () => process.off("SIGINT", stop) }
}
