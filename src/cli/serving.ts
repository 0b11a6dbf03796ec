import { LonghaulError } from "../contract/error.ts"

/** Reports an address that cannot be used. */
export async function listening<Listening>(
  host: string,
  port: number,
  listen: () => Promise<Listening>,
): Promise<Listening> {
  try {
    return await listen()
  } catch (cause) {
    if (!(cause instanceof Error && "syscall" in cause)) throw cause
    throw new LonghaulError("config_invalid", `Cannot listen on ${host}:${port}: ${cause.message}.`, {
      cause,
      fix: "Choose another --host or --port, or omit them.",
    })
  }
}

/** A token from the environment; undefined: none is set. */
export function givenToken(tokenName: string): string | undefined {
  const token = process.env[tokenName]
  if (!token) return undefined
  if (token.length >= shortestToken && /^[\w.~+/=-]+$/.test(token)) return token
  throw new LonghaulError("config_invalid", `${tokenName} is not a valid token.`, {
    fix: `Use at least ${shortestToken} letters, digits or any of ._~+/=-, or unset it: a new one is then printed.`,
  })
}

/** Aborts on the signals that end a server. */
export function stopSignal(): AbortController {
  const stop = new AbortController()
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => stop.abort())
  return stop
}

export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener("abort", () => resolve(), { once: true })
  })
}

const shortestToken = 16
