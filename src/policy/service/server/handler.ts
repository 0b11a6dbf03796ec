import type { Json, JsonObject } from "../../../contract/json.ts"
import type { PolicyCall, RuleDecision, Rules } from "../../../contract/policy.ts"
import { isJsonObject } from "../../../lib/json.ts"
import { textsByName } from "../../../lib/schema/contract-shapes.ts"
import { checkShape, having, required, shapeOf } from "../../../lib/schema/shape.ts"
import { createRedactor } from "../../redact/redactor.ts"
import { type AuditRecord, auditRecord } from "./audit.ts"
import { Callers, type PolicyServiceKeys } from "./callers.ts"
import { bodyOf, type CallMessage, InvalidRequest, messageIn, type Route } from "./requests.ts"

export interface PolicyServerOptions {
  readonly rules: Rules
  readonly keys: PolicyServiceKeys
  /** Stores one line of the audit log, in which secrets are masked. The answer is sent only after it has returned; if it fails, the call is denied. */
  readonly audit: (record: AuditRecord) => void | Promise<void>
}

/** A policy service as one fetch handler. docs/policy-service.md describes the protocol. */
export function policyServer(options: PolicyServerOptions): (request: Request) => Promise<Response> {
  checkShape<PolicyServerOptions>("policyServer", options, {
    rules: required(having({ decide: required("function") }, "Pass compiled rules.")),
    keys: required(shapeOf<PolicyServiceKeys>({ apiKeys: textsByName, clients: textsByName })),
    audit: required("function"),
  })
  const { apiKeys = {}, clients = {} } = options.keys
  const callers = new Callers(options.keys)
  const { shown } = createRedactor({}, { ...apiKeys, ...clients })
  const audit = (record: AuditRecord) => options.audit(shown(record))
  return async (request) => {
    try {
      return await answer(request, { ...options, audit }, callers)
    } catch (error) {
      if (error instanceof InvalidRequest) return problem(error.status, error.message)
      return problem(500, "The policy service failed.")
    }
  }
}

async function answer(request: Request, options: PolicyServerOptions, callers: Callers): Promise<Response> {
  const route = routes[new URL(request.url).pathname]
  if (route === undefined) return problem(404, "Unknown path.")
  if (request.method !== "POST") return problem(405, "Use POST.")
  if (route === "token") return token(request, callers)
  const subject = callers.subjectOf(request.headers.get("authorization"))
  if (subject === undefined) return problem(401, "The key or token is invalid.")
  const message = messageIn(await bodyOf(request), route)
  const decision = await decisionOn(route, message, subject, options.rules)
  await options.audit(auditRecord(route, message, subject, decision))
  return Response.json(decision ?? {}, { status: decision === undefined ? 202 : 200 })
}

const routes: Readonly<Record<string, Route | "token" | undefined>> = Object.assign(Object.create(null), {
  "/api/v1/oauth/token": "token",
  "/api/v1/hooks/pre-tool": "pre-tool",
  "/api/v1/hooks/post-tool": "post-tool",
  "/api/v1/hooks/direct-mcp-source": "direct-mcp-source",
  "/api/v1/hooks/events": "events",
})

async function token(request: Request, callers: Callers): Promise<Response> {
  const issued = callers.exchange(new URLSearchParams(await bodyOf(request)))
  if (issued === undefined) return problem(401, "The client credentials are invalid.")
  return Response.json({ access_token: issued.token, token_type: "Bearer", expires_in: issued.seconds })
}

/** Undefined: the message is an event, about which nothing is decided. */
async function decisionOn(
  route: Route,
  message: CallMessage,
  subject: string,
  rules: Rules,
): Promise<JsonObject | undefined> {
  switch (route) {
    case "pre-tool":
      return callDecision(message, await decided(callOf(message, message.toolInput ?? {}, subject), rules))
    case "direct-mcp-source":
      return callDecision(message, await decided(callOf(message, { url: message.url ?? "" }, subject), rules))
    case "post-tool": {
      const texts = [message.toolOutput, message.stdout, message.stderr].filter((text) => text !== undefined)
      const blocked = rules.scan(namedIn(message), texts.join("\n"))
      return blocked ? { decision: "block", reason: blocked.text, ...ruleOf(blocked.rule) } : { decision: "allow" }
    }
    case "events":
      return undefined
  }
}

/** Where no rule matches and there is no default, the tier decides: shells ask, other tools are allowed. */
async function decided(call: PolicyCall, rules: Rules): Promise<RuleDecision> {
  const decision = await rules.decide(call)
  if (decision.verdict !== undefined) return decision
  const tier = rules.tier(call.tool) ?? (call.isShell === true ? "high" : "medium")
  const verdict = tier === "high" ? "ask" : "allow"
  const text = `No rule matches ${call.tool}, which has ${tier} risk.`
  return { ...decision, verdict, reasons: [{ stage: "tier", verdict, text }, ...decision.reasons] }
}

function callDecision({ digest }: CallMessage, { verdict = "deny", args, reasons }: RuleDecision): JsonObject {
  const [first] = reasons
  return {
    decision: verdict,
    ...(digest !== undefined && { digest }),
    ...(verdict === "allow" && isJsonObject(args) && { toolInput: args }),
    ...(first && { reason: first.text, ...ruleOf(first.rule) }),
  }
}

function ruleOf(rule: string | undefined) {
  return rule === undefined ? {} : { rule }
}

function callOf(message: CallMessage, args: Json, subject: string): PolicyCall {
  const { toolUseId = "", sessionId, agent, backend = "", workspace = "/", cwd } = message
  return {
    ...namedIn(message),
    args,
    callId: toolUseId,
    runId: sessionId,
    cwd: cwd ?? workspace,
    workspace,
    backend,
    ...(agent !== undefined && { agent }),
    subject,
    // The service cannot know how the client runs commands.
    sandboxed: false,
  }
}

function namedIn({ toolName = "", toolType }: CallMessage) {
  return { tool: toolName, isShell: toolType === "shell" || toolName === "Bash" }
}

function problem(status: number, error: string): Response {
  return Response.json({ error }, { status })
}
