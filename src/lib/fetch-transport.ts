import { LonghaulError } from "../contract/error.ts"
import type { Transport } from "../contract/provider.ts"
import { onAbort } from "./abort.ts"
import { canRefuseRedirects, isRedirect, statusOf } from "./http/redirect.ts"

/** The portable transport, also for a user's own `fetch` (header rewriting, proxies). */
export function fetchTransport(fetchLike: typeof fetch = fetch): Transport {
  // Redirects are not followed, because they would receive the key. As a response, a redirect is visible to the caller;
  // as an error, `fetch` need not keep the body. So it is an error only after a response that was not a redirect.
  let redirect: "manual" | "error" = "manual"
  return {
    async stream({ url, headers, body, signal }, sink) {
      // One signal per request: `fetch` never removes its listener from a long-lived one.
      const abort = new AbortController()
      const unlink = onAbort(signal, () => abort.abort(signal?.reason))
      try {
        const response = await fetchLike(url, {
          method: "POST",
          headers,
          // A copy: our buffer is valid until the next request, and a custom `fetch` may keep its input.
          body: body.slice(),
          signal: abort.signal,
          redirect,
        })
        const status = statusOf(response)
        redirect = !isRedirect(status) && canRefuseRedirects() ? "error" : "manual"
        sink.head(status, (name) => response.headers.get(name) ?? undefined)
        if (response.body === null) return
        const reader = response.body.getReader()
        for (let part = await reader.read(); !part.done; part = await reader.read()) sink.chunk(part.value)
      } catch (cause) {
        redirect = "manual"
        if (LonghaulError.is(cause)) throw cause
        throw new LonghaulError("network", `The connection to ${new URL(url).host} failed.`, { cause })
      } finally {
        unlink()
      }
    },
  }
}
