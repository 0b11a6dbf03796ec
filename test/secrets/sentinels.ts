/** A secret of one kind, recognisable wherever it turns up. */
export interface Sentinel {
  readonly kind: string
  readonly value: string
  /** Every spelling in which it is sent around. */
  readonly sent: readonly string[]
  /** What is looked for afterwards: of base64 only the part that depends on nothing else. */
  readonly spellings: readonly string[]
}

const encoder = new TextEncoder()
const base64 = (text: string) => btoa(String.fromCharCode(...encoder.encode(text)))
const inQuotes = (text: string) => JSON.stringify(text).slice(1, -1)
const x = (length: number) => "aB3dE5gH1jK2mN4pQ6rS7tU8vW9xY0zZ".repeat(8).slice(0, length)

/** All encodings that are covered. */
export function known(kind: string, value: string): Sentinel {
  const plain = [value, inQuotes(value), inQuotes(inQuotes(value)), encodeURIComponent(value)]
  const hex = Array.from(encoder.encode(value), (byte) => byte.toString(16).padStart(2, "0")).join("")
  const sent = [...plain, base64(value), base64(`ab${value}c`), hex, hex.toUpperCase()]
  const encoded = [base64(value).slice(0, -4), base64(`ab${value}`).slice(3, -4), hex, hex.toUpperCase()]
  return value.length < 8
    ? { kind, value, sent: plain, spellings: plain }
    : { kind, value, sent, spellings: [...plain, ...encoded] }
}

function token(kind: string, value: string): Sentinel {
  return { kind, value, sent: [value], spellings: [value] }
}

export const declared: Readonly<Record<string, Sentinel>> = {
  PLAIN: known("a declared secret", "declared-7f3a9c1e55d0"),
  SPECIAL: known("a declared secret with quotes, slashes and other characters", 'p@ss "w\\rd"/é&<漢>=+ 91'),
  LINES: known("a declared secret of several lines", "first-line-of-the-secret\nsecond-line-of-the-secret"),
  SHORT: known("a declared secret of six characters", 'z7/"q#'),
  RETURNED: known("a declared secret that a function returns", "returned-0b1c2d3e4f"),
}

export const ofModel: Readonly<Record<string, Sentinel>> = {
  "x-api-key": known("a provider key", "provider-key-a81b72c63d"),
  authorization: known("a bearer token", "bearer-token-5e4f3a2b1c"),
  "x-tenant": known("a custom header", "custom header value 0f9e8d7c"),
  "url/password": known("the password of a base address", "base:address/password-771"),
  "url/key": known("the query of a base address", "query-value-66aa55bb44"),
  short: known("a provider key of five characters", "k3-y!"),
}

export const ofStore: Readonly<Record<string, Sentinel>> = {
  secretAccessKey: known("the secret key of a bucket", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
  sessionToken: known("the session token of a bucket", "session-token-of-a-bucket-1234=="),
}

export const ofWebhook = {
  secret: known("the secret of a webhook", `whsec_${base64("signing-secret-of-a-webhook")}`),
  header: known("a header of a webhook", "header-of-a-webhook-992"),
}

/** Of the webhook that a single run is given. */
export const ofRunWebhook = {
  secret: known("the secret of a run's own webhook", "signing-secret-of-one-run-4471"),
  header: known("a header of a run's own webhook", "header-0f-1run-x5z82k9q4w"),
  bearer: known("the bearer token of a run's own webhook", "bearer-of-one-run-6693"),
}

export const ofEnvironment = {
  SERVICE_TOKEN: known("a variable with a secret name", "variable-token-8c7b6a5d"),
  DATABASE_URL: known("the password of an address in a variable", "database-password-31"),
}

/** Declared nowhere: only the format gives them away. */
export const tokens: readonly Sentinel[] = [
  token("an undeclared GitHub token", `ghp_${x(36)}`),
  token("an undeclared AWS key id", "AKIAIOSFODNN7EXAMPLE"),
  token("an undeclared JWT", `eyJ${x(30)}.eyJ${x(90)}.${x(43)}`),
  token("an undeclared private key", `-----BEGIN PRIVATE KEY-----\n${x(64)}\n${x(64)}\n-----END PRIVATE KEY-----`),
  token("an undeclared Slack token", `xoxb-123456789012-${x(24)}`),
  token("an undeclared Stripe key", `sk_live_${x(24)}`),
  token("an undeclared Google key", `AIza${x(35)}`),
  token("an undeclared Anthropic key", `sk-ant-api03-${x(80)}`),
  token("an undeclared GitLab token", `glpat-${x(20)}`),
  token("an undeclared npm token", `npm_${x(36)}`),
]

export const sentinels: readonly Sentinel[] = [
  ...Object.values(declared),
  ...Object.values(ofModel),
  ...Object.values(ofStore),
  ...Object.values(ofWebhook),
  ...Object.values(ofEnvironment),
  ...tokens,
]

/** The parts of a secret, of 8 characters each, that a text contains: what a cut or an offset may leave of it. */
export function partsIn(text: string, secret: string): readonly string[] {
  const parts = Array.from({ length: secret.length - SHOWN_PART + 1 }, (_, at) => secret.slice(at, at + SHOWN_PART))
  return parts.filter((part) => text.includes(part))
}

const SHOWN_PART = 8

/** The spellings of a sentinel that a text contains. */
export function leaksIn(text: string, { spellings }: Sentinel): readonly string[] {
  const looked = spellings.flatMap((spelling) => [spelling, inQuotes(spelling), inQuotes(inQuotes(spelling))])
  return looked.filter((spelling) => text.includes(spelling))
}
