import { ToolError } from "../contract/tool.ts"
import { onAbort } from "../lib/abort.ts"
import { statusOf } from "../lib/redirect.ts"
import { isPrivateHost } from "../lib/target-host.ts"
import type { WebhookPost } from "./deliver.ts"

/**
 * Sends over `fetch`. What a URL says by itself to be private is refused; where a name leads is known to `fetch` alone, so
 * a host that can look must bring a post of its own.
 */
export function fetchPost(isAllowed: (url: URL) => boolean, fetchLike: typeof fetch = fetch): WebhookPost {
  return async (url, body, { headers = {}, signal, timeoutMs }) => {
    const target = new URL(url)
    if (isPrivateHost(target) && !isAllowed(target)) {
      throw new ToolError("denied", `${target.host} is not on the public internet and is not in the allow list.`)
    }
    const ending = new AbortController()
    const unlink = onAbort(signal, () => ending.abort())
    const timer = setTimeout(() => ending.abort(), timeoutMs)
    try {
      const request = { method: "POST", headers, body, redirect: "manual", signal: ending.signal } as const
      const response = await fetchLike(target, request)
      // What it says beside its status is of no use here; an open body would hold the connection.
      await response.body?.cancel()
      const retryAfter = response.headers.get("retry-after")
      return { status: statusOf(response), ...(retryAfter !== null && { retryAfter }) }
    } catch (cause) {
      if (signal.aborted) throw new ToolError("aborted", "The delivery is being stopped.")
      if (ending.signal.aborted) throw new ToolError("timeout", `No response within ${timeoutMs} ms.`)
      throw new ToolError("io", `No usable response from ${target.host}.`, { cause })
    } finally {
      clearTimeout(timer)
      unlink()
    }
  }
}
