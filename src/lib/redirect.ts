/**
 * Whether this runtime's requests can call a redirect an error; those of Cloudflare's workers cannot.
 *
 * `fetch` then need not keep the body to send it once more, on Node about a tenth of what a turn costs.
 */
export function canRefuseRedirects(): boolean {
  refuses ??= acceptsError()
  return refuses
}

/** A browser hides everything about a redirect that it does not follow, its status too. */
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

/** Asked when it is needed first: on Node the question loads all of `fetch`. */
let refuses: boolean | undefined
