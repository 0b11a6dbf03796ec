import { LonghaulError } from "../contract/error.ts"
import type { RecordedWebhook, Webhook, WebhookEvent } from "../contract/webhook.ts"
import { isPrivateHost } from "../lib/http/target-host.ts"
import { webhookShape } from "../lib/schema/contract-shapes.ts"
import { checkShape } from "../lib/schema/shape.ts"
import { secretBytes } from "./sign.ts"

/** The parts of a webhook that must not be recorded. */
export interface InlineValues {
  readonly secrets?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

export interface CheckedWebhook {
  readonly recorded: RecordedWebhook
  readonly inline: InlineValues
}

/** The host's permissions and secrets. */
export interface WebhookRules {
  isAllowed(url: URL): boolean
  hasSecret(name: string): boolean
}

/** Rejects a webhook that can never be sent, before a run relies on it. */
export function checkWebhook(webhook: Webhook, rules: WebhookRules): CheckedWebhook {
  checkShape<Webhook>("webhook", webhook, webhookShape, "webhook.")
  const secretRef = listed(webhook.secretRef)
  const secrets = listed(webhook.secret)
  const { headers, headerRefs } = webhook
  for (const name of [...secretRef, ...Object.values(headerRefs ?? {})]) {
    if (!rules.hasSecret(name))
      throw invalidWebhook(`names ${JSON.stringify(name)}, which is not in \`secrets\``, "Add it to `secrets`.")
  }
  for (const secret of secrets) secretBytes(secret)
  for (const name of Object.keys({ ...headers, ...headerRefs })) checkHeaderName(name)
  for (const [name, value] of Object.entries(headers ?? {})) checkHeaderValue(name, value)
  const inline = [...(secrets.length > 0 ? ["secret" as const] : []), ...(headers ? ["headers" as const] : [])]
  return {
    recorded: {
      url: checkedUrl(webhook.url, rules),
      events: checkedEvents(webhook.events ?? defaultEvents),
      ...(secretRef.length > 0 && { secretRef }),
      ...(headerRefs && { headerRefs }),
      ...(inline.length > 0 && { inline }),
    },
    inline: { ...(secrets.length > 0 && { secrets }), ...(headers && { headers }) },
  }
}

/** Referenced values are checked only at sending time. */
export function checkHeaderValue(name: string, value: string): void {
  if (typeof value === "string" && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return
  throw invalidWebhook(`sets ${name} to a value that is not valid in a header`, "Use text without line breaks.")
}

function checkHeaderName(name: string): void {
  if (/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && !reserved.includes(name.toLowerCase())) return
  throw invalidWebhook(
    `names the forbidden header ${JSON.stringify(name.slice(0, 80))}`,
    "Use header names that any request may carry.",
  )
}

/** They control how a request is parsed, which is up to the transport. */
const reserved: readonly string[] = [
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "te",
  "trailer",
  "upgrade",
  "keep-alive",
  "expect",
]

function checkedUrl(text: string, rules: WebhookRules): string {
  const url = typeof text === "string" && URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw invalidWebhook("has an invalid url", "Use an absolute URL that starts with http:// or https://.")
  }
  if (url.username !== "" || url.password !== "") {
    throw invalidWebhook("has a url with a user or a password", "Send credentials in a header with headerRefs.")
  }
  if (isPrivateHost(url) && !rules.isAllowed(url)) {
    throw invalidWebhook(
      `targets ${url.host}, which is not public`,
      "Add the host to webhookAllow if it may be reached.",
    )
  }
  url.hash = ""
  return url.href
}

function checkedEvents(events: readonly WebhookEvent[]): readonly WebhookEvent[] {
  const unknown = events.find((event) => !knownEvents.includes(event))
  if (unknown === undefined && events.length > 0) return events
  throw invalidWebhook("asks for unknown events", `Use any of: ${knownEvents.join(", ")}.`)
}

function listed(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return []
  return typeof value === "string" ? [value] : value
}

function invalidWebhook(what: string, fix: string): LonghaulError {
  return new LonghaulError("config_invalid", `The webhook ${what}.`, { fix })
}

const knownEvents: readonly WebhookEvent[] = ["paused", "done", "failed", "cancelled"]
const defaultEvents: readonly WebhookEvent[] = ["paused", "done", "failed"]
