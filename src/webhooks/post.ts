import { ToolError } from "../contract/tool.ts"
import { onAbort } from "../lib/abort.ts"
import { statusOf } from "../lib/http/redirect.ts"
import { isPrivateHost } from "../lib/http/target-host.ts"
import type { WebhookPost } from "./deliver.ts"

/**
 * Sends over `fetch`. Rejects a visibly private URL; only `fetch` knows where a name resolves to, so a host that can
 * check must provide its own post.
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
      // The response body is not needed; an open body would hold the connection.
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
