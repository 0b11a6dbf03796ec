import { LonghaulError } from "../../../contract/error.ts"
import type { LoginPage } from "../../../extensions/mcp/oauth.ts"
import { orAborted } from "../../../lib/abort.ts"
import { serve } from "../http/serve.ts"

/** The way back from a login in a browser: an address of this computer that waits for one redirect. */
export interface LoopbackPage extends LoginPage {
  close(): Promise<void>
}

/** `show`: shows the person which address to open. `port`: for servers that know the exact address of the redirect; default any. */
export async function loopbackPage(
  show: (url: URL) => void,
  signal: AbortSignal,
  { port = 0 }: { readonly port?: number | undefined } = {},
): Promise<LoopbackPage> {
  /** The logins under way, by state. */
  const logins = new Map<string, Login>()
  const served = await serve(
    (request) => {
      const { pathname, searchParams } = new URL(request.url)
      const state = searchParams.get("state")
      if (request.method !== "GET" || pathname !== CALLBACK || state === null) return answer(404, "Not found.")
      const login = logins.get(state)
      // A redirect with another state belongs to no login here: another page must not be able to end this one.
      if (login === undefined || login.isOver) return answer(400, "This login was not started here, or has ended.")
      login.isOver = true
      login.resolve(searchParams)
      return answer(200, "You can close this page and return to the terminal.")
    },
    { port },
  )
  return {
    redirectUrl: `${served.url}${CALLBACK}`,
    open(url) {
      let resolve: Login["resolve"] = () => {}
      const returned = new Promise<URLSearchParams>((settle) => {
        resolve = settle
      })
      logins.set(url.searchParams.get("state") ?? "", { resolve, returned, isOver: false })
      show(url)
    },
    async returned(state) {
      const params = await orAborted(logins.get(state)?.returned, signal)
      const refused = params?.get("error")
      if (refused) throw loginRefused(refused)
      if (params) return params
      throw new LonghaulError("cancelled", "The login was stopped.")
    },
    close: () => served.close(),
  }
}

/** By the person, or by the server. */
function loginRefused(error: string): LonghaulError {
  const code = /^[\w-]{1,60}$/.test(error) ? error : "an error"
  return new LonghaulError("auth", `The login was refused (${code}).`, { fix: "Log in again, and accept the request." })
}

interface Login {
  readonly returned: Promise<URLSearchParams>
  resolve(params: URLSearchParams): void
  isOver: boolean
}

function answer(status: number, text: string): Response {
  // Nothing of the request is repeated, and the code in the address must not reach another site.
  const headers = { "content-type": "text/plain; charset=utf-8", "referrer-policy": "no-referrer" }
  return new Response(text, { status, headers })
}

const CALLBACK = "/callback"
