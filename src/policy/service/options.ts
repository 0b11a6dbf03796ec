import type { Json } from "../../contract/json.ts"
import { textsByName } from "../../lib/schema/contract-shapes.ts"
import { required, type Shape, shapeOf, words } from "../../lib/schema/shape.ts"
import type { PolicyCredentials } from "./credentials.ts"
import type { EnforcementScope } from "./skip.ts"

export interface PolicyClientOptions extends PolicyCredentials {
  /** The address of the policy service. It must use https. */
  readonly baseUrl: string
  /** Allows http, for a service on this machine. Default false. */
  readonly allowInsecureTransport?: boolean
  /** Names the software that asks. Default `typescript-sdk`. */
  readonly client?: string
  readonly clientVersion?: string
  /** Time limit of each request. Default 10 s. */
  readonly timeoutMs?: number
  /** Longer outputs are cut before they are sent. Default 64 KB. */
  readonly maxToolOutputBytes?: number
  /** `closed` (default): an outage blocks the call. `open`: no answer allows it; an answer that is not understood never does. */
  readonly enforcementFailureMode?: "closed" | "open"
  /** Which tools need no enforcement. */
  readonly toolEnforcement?: Omit<EnforcementScope, "baseUrl">
  /** The path for `enforceMcpSource`. Default `/api/v1/hooks/direct-mcp-source`. */
  readonly directMcpSourceEnforcementPath?: string
  /** Removes secrets from everything that is sent. Default: nothing is removed. */
  readonly redact?: (value: Json) => Json
  /** Receives the reasons of lost events, which are not reported otherwise. */
  readonly onLostEvent?: (message: string) => void
  readonly fetch?: typeof fetch
}

export type Variables = Readonly<Record<string, string | undefined>>

/** Fills in options from `LONGHAUL_POLICY_*` variables. */
export function optionsFromEnvironment(
  given: Partial<PolicyClientOptions>,
  variables: Variables = environment(),
): PolicyClientOptions {
  const named = (name: string) => variables[`LONGHAUL_POLICY_${name}`] || undefined
  const texts = {
    baseUrl: named("BASE_URL"),
    apiKey: named("API_KEY"),
    clientId: named("CLIENT_ID"),
    clientSecret: named("CLIENT_SECRET"),
    subjectToken: named("SUBJECT_TOKEN"),
    subjectTokenType: named("SUBJECT_TOKEN_TYPE"),
    client: named("CLIENT"),
    timeoutMs: numberIn(named("TIMEOUT_MS")),
    maxToolOutputBytes: numberIn(named("MAX_TOOL_OUTPUT_BYTES")),
    enforcementFailureMode: named("FAILURE_MODE") === "open" ? "open" : undefined,
    allowInsecureTransport: named("ALLOW_INSECURE_TRANSPORT") === "1" ? true : undefined,
    directMcpSourceEnforcementPath: named("DIRECT_MCP_SOURCE_PATH"),
    // biome-ignore lint/suspicious/noConsole: the user asked for it by LONGHAUL_POLICY_DEBUG.
    onLostEvent: named("DEBUG") === "1" ? (message: string) => console.error(message) : undefined,
  }
  const found = Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== undefined))
  // Safe: the constructor rejects a missing address.
  return { ...found, ...given } as PolicyClientOptions
}

/** An invalid number stays one, and the constructor rejects it. */
function numberIn(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text)
}

/** Empty where the platform has no environment variables. */
function environment(): Variables {
  // Safe: every step may be missing.
  const host = globalThis as { readonly process?: { readonly env?: Variables } }
  return host.process?.env ?? {}
}

export const clientShape: Shape<PolicyClientOptions> = {
  baseUrl: required("text"),
  apiKey: "text",
  clientId: "text",
  clientSecret: "text",
  subjectToken: "text",
  subjectTokenType: "text",
  allowInsecureTransport: "boolean",
  client: "text",
  clientVersion: "text",
  timeoutMs: "number",
  maxToolOutputBytes: "number",
  enforcementFailureMode: words("closed", "open"),
  toolEnforcement: shapeOf<Omit<EnforcementScope, "baseUrl">>({ ignoredMcpServers: textsByName }),
  directMcpSourceEnforcementPath: "text",
  redact: "function",
  onLostEvent: "function",
  fetch: "function",
}
