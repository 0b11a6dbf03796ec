import type { Logger } from "../contract/run.ts"

/** Calls host code whose failure must not reach the run: neither exceptions nor rejections. */
export function contain(call: () => unknown): void {
  try {
    containPromise(call())
  } catch {
    // The failure is the host's own.
  }
}

/** An unhandled rejection would end the process. */
export function containPromise(returned: unknown): void {
  if (returned instanceof Promise) returned.catch(() => {})
}

/** The same logger, which can no longer throw or reject. */
export function containedLogger(logger: Logger): Logger {
  return {
    ...(logger.debug && { debug: (message, data) => contain(() => logger.debug?.(message, data)) }),
    info: (message, data) => contain(() => logger.info?.(message, data)),
    warn: (message, data) => contain(() => logger.warn(message, data)),
    error: (message, data) => contain(() => logger.error?.(message, data)),
  }
}
