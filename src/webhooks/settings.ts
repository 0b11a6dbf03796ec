import type { RuntimeConfig } from "../contract/run.ts"
import type { RecordedWebhook } from "../contract/webhook.ts"
import { allowedHosts } from "../lib/target-host.ts"
import { type CheckedWebhook, checkHeaderValue, checkWebhook, type InlineValues, type WebhookRules } from "./check.ts"
import type { WebhookPost } from "./deliver.ts"
import { fetchPost } from "./post.ts"
import { secretBytes } from "./sign.ts"

/** What a runtime sends webhooks with. */
export interface WebhookSettings {
  readonly rules: WebhookRules
  readonly post: WebhookPost
  /** Of runs that name no other. */
  readonly own?: CheckedWebhook
  /** What is sent beside ours, or null where some of it is not there now. `inline`: what is in memory for it. */
  resolve(webhook: RecordedWebhook, inline: InlineValues | undefined): SentValues | null
}

export type SentValues = Required<InlineValues>

/** `postOf`: how a host sends, where it can do better than `fetch`. */
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
    // Only what it was asked with: anything else may be meant for another receiver.
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
        // What a host's own function throws, or a value that no header can have: it may be right the next time.
        return null
      }
    },
  }
}
