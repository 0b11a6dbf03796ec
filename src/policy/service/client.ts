import { LonghaulError } from "../../contract/error.ts"
import type { JsonObject } from "../../contract/json.ts"
import type { ServiceVerdict } from "../../contract/policy.ts"
import { newNonce } from "../../lib/id.ts"
import { canonicalJson } from "../../lib/json.ts"
import { checkArgument, checkShape, having, required } from "../../lib/schema/shape.ts"
import { sha256 } from "../../lib/sha256.ts"
import { adviceOn } from "./advice.ts"
import { type TokenSource, tokenSource } from "./credentials.ts"
import { exchange, jsonObjectIn, type ServiceClientSettings, ServiceFailure, type ServiceResponse } from "./exchange.ts"
import { callVerdict, checkAccepted, outputVerdict, withCapped } from "./messages.ts"
import { clientShape, optionsFromEnvironment, type PolicyClientOptions, type Variables } from "./options.ts"
import { blocked, messageOf, runTool } from "./run-tool.ts"
import { shouldEnforceTool } from "./skip.ts"
import type { PolicyEvent, RunToolOptions, ToolPolicy, ToolUse, ToolUseOutput } from "./tool-use.ts"

/** Asks a policy service about tool calls. docs/policy-service.md describes the protocol. */
export class PolicyClient implements ToolPolicy {
  readonly #options: PolicyClientOptions
  readonly #base: URL
  readonly #via: ServiceClientSettings
  readonly #tokens: TokenSource
  readonly #maxBytes: number

  /** Throws `config_invalid` for options that cannot work. */
  constructor(options: PolicyClientOptions) {
    checkShape<PolicyClientOptions>("PolicyClient", options, clientShape)
    this.#options = options
    this.#base = serviceAddress(options)
    checkPath(options.directMcpSourceEnforcementPath)
    const { timeoutMs = 10_000, maxToolOutputBytes = 65_536 } = options
    checkNumber("timeoutMs", timeoutMs)
    checkNumber("maxToolOutputBytes", maxToolOutputBytes)
    this.#maxBytes = maxToolOutputBytes
    this.#via = { fetch: options.fetch ?? ((input, init) => fetch(input, init)), timeoutMs }
    this.#tokens = tokenSource(options, this.#base, this.#via)
  }

  /** Options that are not given come from `LONGHAUL_POLICY_*` variables. */
  static fromEnv(options: Partial<PolicyClientOptions> = {}, variables?: Variables): PolicyClient {
    return new PolicyClient(optionsFromEnvironment(options, variables))
  }

  /**
   * A client for the address in a policy. The credentials of the environment are for the address that it names: a policy that
   * names another one must not receive them.
   */
  static fromEnvFor(url: string, options: Partial<PolicyClientOptions>, variables?: Variables): PolicyClient {
    const found = optionsFromEnvironment(options, variables)
    const isNamed =
      URL.canParse(url) && URL.canParse(found.baseUrl) && new URL(url).origin === new URL(found.baseUrl).origin
    if (isNamed) return new PolicyClient({ ...found, baseUrl: url })
    throw new LonghaulError("config_invalid", `There are no credentials for the policy service ${url}.`, {
      fix: "Set LONGHAUL_POLICY_BASE_URL to its address, with LONGHAUL_POLICY_API_KEY.",
    })
  }

  /** Decides a call before it runs. Never rejects: a failure denies, or allows with `opened` in open mode; an abort denies. */
  async preTool(use: ToolUse, signal?: AbortSignal): Promise<ServiceVerdict> {
    if (!this.#enforces(use)) return { decision: "allow" }
    const digest = use.digest ?? digestOf(use)
    return this.#verdict("deny", async () =>
      callVerdict(await this.#post("api/v1/hooks/pre-tool", this.#call(use, digest), signal), digest),
    )
  }

  /** Decides whether an output may be passed on. Never rejects: a failure or an abort blocks. */
  async postTool(use: ToolUse, output: ToolUseOutput, signal?: AbortSignal): Promise<ServiceVerdict> {
    if (!this.#enforces(use)) return { decision: "allow" }
    const body = { ...this.#call(use, use.digest ?? digestOf(use)), ...output }
    const capped = ["toolOutput", "stdout", "stderr"]
    return this.#verdict("block", async () =>
      outputVerdict(await this.#post("api/v1/hooks/post-tool", body, signal, capped)),
    )
  }

  /** Runs a tool under the policy: before, the tool, after. Throws `BlockedError` if the call or its output is not allowed. */
  runTool<Output>(options: RunToolOptions<Output>): Promise<Output> {
    return runTool(this, options)
  }

  /** Checks the address of an MCP server that the agent calls directly. Throws `BlockedError` if it is not allowed. */
  async enforceMcpSource(source: {
    readonly sessionId: string
    readonly generationId?: string
    readonly toolName: string
    readonly url: string
  }): Promise<void> {
    const path = this.#options.directMcpSourceEnforcementPath ?? "/api/v1/hooks/direct-mcp-source"
    const body = { ...this.#common(source.sessionId), ...source, url: addressOnly(source.url) }
    const verdict = await this.#verdict("deny", async () => callVerdict(await this.#post(path, body), ""))
    if (verdict.decision !== "allow") throw blocked(source, verdict)
  }

  /** Sends an event; its transcript whole, other texts capped. `strict`: rejects if it was not accepted. */
  async send(event: PolicyEvent, { strict = false }: { readonly strict?: boolean } = {}): Promise<void> {
    const url = this.#urlOf("api/v1/hooks/events")
    const capped = ["prompt", "error", "stdout", "stderr", "output"]
    try {
      const answer = await this.#request(url, { ...this.#common(event.sessionId), ...event }, undefined, capped)
      checkAccepted(answer)
    } catch (failure) {
      const message = `The event ${event.event} was lost: ${messageOf(failure)}`
      if (strict) throw new LonghaulError("policy_unavailable", message, { ...adviceOn(failure, url), cause: failure })
      this.#options.onLostEvent?.(message)
    }
  }

  #enforces(use: ToolUse): boolean {
    const { baseUrl, toolEnforcement } = this.#options
    return shouldEnforceTool(use, { baseUrl, ...toolEnforcement })
  }

  #call({ sessionId, digest: _, toolUrl, ...use }: ToolUse, digest: string): JsonObject {
    const { toolUseId = newNonce(), ...rest } = use
    const url = toolUrl === undefined ? {} : { toolUrl: addressOnly(toolUrl) }
    return { ...this.#common(sessionId), ...rest, ...url, toolUseId, digest }
  }

  #common(sessionId: string): JsonObject {
    const { client = "typescript-sdk", clientVersion } = this.#options
    const at = new Date().toISOString()
    return { version: 1, client, ...(clientVersion && { clientVersion }), sessionId, requestId: newNonce(), at }
  }

  async #verdict(closed: "deny" | "block", ask: () => Promise<ServiceVerdict>): Promise<ServiceVerdict> {
    try {
      return await ask()
    } catch (error) {
      const reason = error instanceof ServiceFailure ? error.message : "The policy client failed."
      const isSilent = error instanceof ServiceFailure && error.kind === "silence"
      if (this.#options.enforcementFailureMode === "open" && isSilent) {
        return { decision: "allow", opened: `${reason} The client is in open mode.` }
      }
      return { decision: closed, reason }
    }
  }

  async #post(
    path: string,
    body: JsonObject,
    signal?: AbortSignal,
    capped: readonly string[] = [],
  ): Promise<JsonObject> {
    return jsonObjectIn((await this.#request(this.#urlOf(path), body, signal, capped)).text)
  }

  #urlOf(path: string): URL {
    return new URL(path.replace(/^\//, ""), this.#base)
  }

  /** A token that is refused is replaced once. Nothing else is sent again. Masked before it is cut: half a secret is not recognised. */
  async #request(
    url: URL,
    body: JsonObject,
    signal: AbortSignal | undefined,
    capped: readonly string[],
  ): Promise<ServiceResponse> {
    const { redact = (value) => value } = this.#options
    const text = JSON.stringify(withCapped(redact(body), capped, this.#maxBytes))
    for (let attempt = 0; ; attempt++) {
      const token = await this.#tokens.token(signal)
      const headers = {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json",
      }
      const answer = await exchange(this.#via, url, headers, text, signal)
      if (answer.status >= 200 && answer.status < 300) return answer
      const mayRenew = answer.status === 401 && attempt === 0 && this.#tokens.renew(token)
      if (mayRenew) continue
      throw new ServiceFailure(
        "answer",
        `The policy service refused the request with status ${answer.status}.`,
        answer.status,
      )
    }
  }
}

/**
 * Sends the events of a synthetic session, to check that the service receives them. Rejects with `policy_unavailable` if one is not
 * accepted, or if something other than a policy service answers.
 */
export async function sendPolicyPreflight(
  client: PolicyClient,
  options: { readonly prompt?: string } = {},
): Promise<{ readonly sessionId: string }> {
  checkArgument("client", client, having({ send: required("function") }, "Pass a PolicyClient."))
  checkShape<{ readonly prompt?: string }>("sendPolicyPreflight", options, { prompt: "text" })
  const { prompt = "Preflight" } = options
  const sessionId = `preflight-${newNonce()}`
  await client.send({ event: "SessionStart", sessionId }, { strict: true })
  await client.send({ event: "UserPromptSubmit", sessionId, prompt }, { strict: true })
  await client.send({ event: "Stop", sessionId }, { strict: true })
  return { sessionId }
}

function serviceAddress({ baseUrl, allowInsecureTransport = false }: PolicyClientOptions): URL {
  if (typeof baseUrl !== "string" || !URL.canParse(baseUrl)) {
    throw new LonghaulError("config_invalid", "The policy service has no valid address.", {
      fix: "Pass baseUrl, for example https://policy.example.com.",
    })
  }
  const url = new URL(baseUrl.endsWith("/") ? baseUrl : `${baseUrl}/`)
  if (url.protocol === "https:" || (url.protocol === "http:" && allowInsecureTransport)) return url
  throw new LonghaulError("config_invalid", `The policy service must be reached over https, not ${url.protocol}`, {
    fix: "Use an https address, or set allowInsecureTransport for a service on this machine.",
  })
}

/** An address would receive the credentials of the service. */
function checkPath(path: string | undefined): void {
  if (
    path === undefined ||
    (typeof path === "string" && /^\/[\w.~/-]*$/.test(path) && !/\/\/|\/\.\.?(\/|$)/.test(path))
  )
    return
  throw new LonghaulError("config_invalid", "directMcpSourceEnforcementPath of the policy client is not a path.", {
    fix: "Give a path of the service, for example /api/v1/hooks/direct-mcp-source.",
  })
}

function checkNumber(name: string, value: number): void {
  if (Number.isInteger(value) && value > 0 && value < 2 ** 31) return
  throw new LonghaulError("config_invalid", `${name} of the policy client is ${value}.`, {
    fix: `Give ${name} as a whole number above 0.`,
  })
}

/** Credentials in an address are not for the service. */
function addressOnly(given: string): string {
  if (!URL.canParse(given)) return given.split(/[?#]/, 1)[0] ?? ""
  const url = new URL(given)
  return `${url.origin}${url.pathname}`
}

function digestOf({ toolName, toolInput }: ToolUse): string {
  return sha256(canonicalJson([toolName, toolInput]))
}
