import { LonghaulError } from "../contract/error.ts"
import type { Transport } from "../contract/provider.ts"
import { onAbort } from "./abort.ts"
import { canRefuseRedirects, isRedirect, statusOf } from "./redirect.ts"

/** The portable transport, and how a user's own `fetch` (header rewriting, proxies) becomes one. */
export function fetchTransport(fetchLike: typeof fetch = fetch): Transport {
  // No redirect is followed: it would take the key along. Where it is an answer, whoever asked learns of it; where it is an
  // error, nobody keeps the body for a second time. So it is an error only after an answer that was no redirect.
  let redirect: "manual" | "error" = "manual"
  return {
    async stream({ url, headers, body, signal }, sink) {
      // One signal for each request: `fetch` never takes its listener back from one that lives as long as a run.
      const abort = new AbortController()
      const unlink = onAbort(signal, () => abort.abort(signal?.reason))
      try {
        const response = await fetchLike(url, {
          method: "POST",
          headers,
          // A copy: ours is valid until the next request, and whoever wrote this `fetch` may keep what it was given.
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
