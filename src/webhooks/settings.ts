import type { RuntimeConfig } from "../contract/run.ts"
import type { RecordedWebhook } from "../contract/webhook.ts"
import { allowedHosts } from "../lib/http/target-host.ts"
import { type CheckedWebhook, checkHeaderValue, checkWebhook, type InlineValues, type WebhookRules } from "./check.ts"
import type { WebhookPost } from "./deliver.ts"
import { fetchPost } from "./post.ts"
import { secretBytes } from "./sign.ts"

/** The webhook settings of a runtime. */
export interface WebhookSettings {
  readonly rules: WebhookRules
  readonly post: WebhookPost
  /** Default webhook of runs. */
  readonly own?: CheckedWebhook
  /** Headers and secrets to send, or null if some are unavailable now. `inline`: values in memory for it. */
  resolve(webhook: RecordedWebhook, inline: InlineValues | undefined): SentValues | null
}

export type SentValues = Required<InlineValues>

/** `postOf`: a host's own way to send, if better than `fetch`. */
export function webhookSettings(
  { webhook, webhookAllow = [], secrets = {}, fetch }: RuntimeConfig,
  postOf?: (allow: readonly string[]) => WebhookPost,
): WebhookSettings {
  const isAllowed = allowedHosts(webhookAllow)
  const rules: WebhookRules = { isAllowed, hasSecret: (name) => Object.hasOwn(secrets, name) }
  const own = webhook && checkWebhook(webhook, rules)
  const secret = (name: string): string => {
    const value = Object.hasOwn(secrets, name) ? secrets[name] : undefined
    if (value === undefined) throw new Error("It does not exist.")
    return typeof value === "function" ? value() : value
  }

  function resolved({ url, secretRef = [], headerRefs = {}, inline = [] }: RecordedWebhook, kept?: InlineValues) {
    const given = kept ?? (own?.recorded.url === url ? own.inline : {})
    // Only the values of this webhook: others may be meant for another receiver.
    const inlineSecrets = inline.includes("secret") ? given.secrets : []
    const inlineHeaders = inline.includes("headers") ? given.headers : {}
    if (!inlineSecrets || !inlineHeaders) return null
    const values = [...inlineSecrets, ...secretRef.map(secret)]
    for (const value of values) secretBytes(value)
    const headers = { ...inlineHeaders }
    for (const [name, ref] of Object.entries(headerRefs)) headers[name] = secret(ref)
    for (const [name, value] of Object.entries(headers)) checkHeaderValue(name, value)
    return { secrets: values, headers }
  }

  return {
    rules,
    post: postOf?.(webhookAllow) ?? fetchPost(isAllowed, fetch),
    ...(own && { own }),
    resolve(recorded, kept) {
      try {
        return resolved(recorded, kept)
      } catch {
        // An exception of a host function, or an invalid header value: it may succeed the next time.
        return null
      }
    },
  }
}
