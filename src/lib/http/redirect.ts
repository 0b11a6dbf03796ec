/**
 * True if requests of this runtime can treat a redirect as an error; Cloudflare workers cannot.
 *
 * `fetch` then need not keep the body for a second request, on Node about a tenth of the cost of a turn.
 */
export function canRefuseRedirects(): boolean {
  refuses ??= acceptsError()
  return refuses
}

/** A browser hides everything about a redirect that it does not follow, including its status. */
export function statusOf(response: Response): number {
  return response.status || HIDDEN_REDIRECT
}

export function isRedirect(status: number): boolean {
  return status >= 300 && status < 400
}

function acceptsError(): boolean {
  try {
    new Request("https://example.com/", { redirect: "error" })
    return true
  } catch {
    return false
  }
}

const HIDDEN_REDIRECT = 302

/** Evaluated on first use: on Node the check loads all of `fetch`. */
let refuses: boolean | undefined
