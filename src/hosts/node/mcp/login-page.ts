import type { LoginPage } from "../../../extensions/mcp/oauth.ts"
import { serve } from "../http/serve.ts"

/** The way back from a login in a browser: an address of this computer that waits for one redirect. */
export interface LoopbackPage extends LoginPage {
  close(): Promise<void>
}

/** `show`: tells the person which address to open. */
export async function loopbackPage(show: (url: URL) => void, signal: AbortSignal): Promise<LoopbackPage> {
  const waiting = new Map<string, (params: URLSearchParams) => void>()
  const early = new Map<string, URLSearchParams>()
  const served = await serve((request) => {
    const { pathname, searchParams } = new URL(request.url)
    const state = searchParams.get("state") ?? ""
    if (request.method !== "GET" || pathname !== CALLBACK || !searchParams.has("state"))
      return answer(404, "Not found.")
    const resolve = waiting.get(state)
    // A redirect with another state belongs to nobody here: another page must not be able to end this login.
    if (!resolve) return answer(400, "This login was not started here, or is over.")
    waiting.delete(state)
    resolve(searchParams)
    return answer(200, "You can close this page and return to the terminal.")
  })
  return {
    redirectUrl: `${served.url}${CALLBACK}`,
    open(url) {
      const state = url.searchParams.get("state") ?? ""
      const returned = new Promise<URLSearchParams>((resolve) => waiting.set(state, resolve))
      void returned.then((params) => early.set(state, params))
      show(url)
    },
    returned(state) {
      return new Promise((resolve, reject) => {
        const done = early.get(state)
        if (done) return resolve(done)
        const first = waiting.get(state)
        waiting.set(state, (params) => {
          first?.(params)
          resolve(params)
        })
        signal.addEventListener("abort", () => reject(signal.reason), { once: true })
      })
    },
    close: () => served.close(),
  }
}

function answer(status: number, text: string): Response {
  // Nothing of the request is repeated, and the code in the address must not reach another site.
  const headers = { "content-type": "text/plain; charset=utf-8", "referrer-policy": "no-referrer" }
  return new Response(text, { status, headers })
}

const CALLBACK = "/callback"
