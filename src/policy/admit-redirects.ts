import type { Environment, FetchedBody, FetchOptions } from "../contract/env.ts"
import type { PolicyCall, Rules, RuleVerdict } from "../contract/policy.ts"
import { ToolError } from "../contract/tool.ts"
import { isJsonObject } from "../lib/json.ts"

/**
 * The environment of a call whose URL the rules decided: the target of each redirect is decided as if it were the URL
 * of the call. `verdict` is that of the call; a person who approved it approved that host only.
 */
export function admitRedirects(
  env: Environment,
  rules: Rules,
  call: PolicyCall,
  verdict: RuleVerdict | undefined,
): Environment {
  const { fetch } = env
  const { args } = call
  if (fetch === undefined || !isJsonObject(args) || typeof args.url !== "string") return env
  const given = args.url
  const admit = async (url: string): Promise<void> => {
    const target = await rules.decide({ ...call, args: { ...args, url } })
    if (target.verdict === "allow" || (target.verdict === undefined && verdict === undefined)) return
    if (target.verdict === "ask" && verdict === "ask" && hostOf(url) === hostOf(given)) return
    const why = target.reasons[0]?.text ?? "The policy does not allow it."
    throw new ToolError("denied", `The policy does not allow the redirect to ${url.slice(0, 200)}. ${why}`)
  }
  const options = (own: FetchOptions): FetchOptions => ({ ...own, admit })
  // An environment may follow redirects without asking: then at least nothing from there is returned.
  const checked = async (asked: string, answer: Promise<FetchedBody>): Promise<FetchedBody> => {
    const body = await answer
    if (!isSame(body.url, asked)) await admit(body.url)
    return body
  }
  return {
    ...env,
    fetch: {
      ...fetch,
      get: (url, own) => checked(url, fetch.get(url, options(own))),
      post: (url, body, own) => checked(url, fetch.post(url, body, options(own))),
    },
  }
}

function hostOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).hostname : undefined
}

/** Without the fragment, which is not sent. */
function isSame(left: string, right: string): boolean {
  const [first, second] = [left, right].map((url) =>
    URL.canParse(url) ? new URL(url).href.split("#", 1)[0] : undefined,
  )
  return first !== undefined && first === second
}
