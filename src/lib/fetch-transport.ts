import { LonghaulError } from "../contract/error.ts"
import type { Transport } from "../contract/provider.ts"
import { onAbort } from "./abort.ts"

/** The portable transport, and how a user's own `fetch` (header rewriting, proxies) becomes one. */
export function fetchTransport(fetchLike: typeof fetch = fetch): Transport {
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
        })
        sink.head(response.status, (name) => response.headers.get(name) ?? undefined)
        if (response.body === null) return
        const reader = response.body.getReader()
        for (let part = await reader.read(); !part.done; part = await reader.read()) sink.chunk(part.value)
      } catch (cause) {
        if (LonghaulError.is(cause)) throw cause
        throw new LonghaulError("network", `The connection to ${new URL(url).host} failed.`, { cause })
      } finally {
        unlink()
      }
    },
  }
}
