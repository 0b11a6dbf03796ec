import { readFileSync } from "node:fs"
import { Validator } from "@cfworker/json-schema"
import { afterAll, expect, test } from "vitest"
import { parse } from "yaml"
import type { JsonObject } from "../src/contract/json.ts"
import { serve } from "../src/hosts/node/http/serve.ts"
import { compileRules } from "../src/policy/rules/compile-rules.ts"
import { PolicyClient, sendPolicyPreflight } from "../src/policy/service/index.ts"
import { policyServer } from "../src/policy/service/server/handler.ts"

interface Operation {
  readonly requestBody: { readonly content: Readonly<Record<string, { readonly schema: JsonObject }>> }
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: JsonObject }>> }>
  >
}

const api = parse(readFileSync(new URL("../docs/policy-service.openapi.yaml", import.meta.url), "utf8")) as {
  readonly paths: Readonly<Record<string, { readonly post: Operation }>>
  readonly components: JsonObject
}

const closing: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const close of closing) await close()
})

function problems(schema: JsonObject, value: unknown): readonly string[] {
  const validator = new Validator({ ...schema, components: api.components }, "2020-12", false)
  return validator.validate(value).errors.map(({ error }) => error)
}

test("every request of the client and every answer of the service has the form of the OpenAPI document", async () => {
  const rules = await compileRules([
    {
      source: "test",
      document: {
        default: "allow",
        rules: [{ deny: { tool: "Bash", command: "rm **" } }, { allow: { tool: "Fetch" }, set: { "/timeoutMs": 5 } }],
        output: [{ block: { tool: "*", pattern: "secret" } }],
      },
    },
  ])
  const handler = policyServer({ rules, keys: { clients: { agent: "secret-of-agent" } }, audit: () => {} })
  const seen = new Set<string>()
  const found: string[] = []
  const checked = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url)
    const body = await request.clone().text()
    const response = await handler(request)
    const operation = api.paths[pathname]?.post
    if (operation === undefined) return response
    seen.add(`${pathname} ${response.status}`)
    const [type = "", { schema } = { schema: {} }] = Object.entries(operation.requestBody.content)[0] ?? []
    const sent: unknown = type.includes("json") ? JSON.parse(body) : Object.fromEntries(new URLSearchParams(body))
    found.push(...problems(schema, sent).map((problem) => `request of ${pathname}: ${problem}`))
    const answer = operation.responses[response.status]?.content?.["application/json"]?.schema
    if (answer)
      found.push(
        ...problems(answer, await response.clone().json()).map((problem) => `answer of ${pathname}: ${problem}`),
      )
    return response
  }
  const served = await serve(checked)
  closing.push(served.close)
  const client = new PolicyClient({
    baseUrl: served.url,
    clientId: "agent",
    clientSecret: "secret-of-agent",
    allowInsecureTransport: true,
  })
  const use = { sessionId: "s", toolType: "shell", toolUrl: "https://ann:pw@example.com/x?key=1", cwd: "/w" } as const
  const run = (toolName: string, toolInput: JsonObject, execute: () => unknown) =>
    client.runTool({ ...use, toolName, toolInput, execute }).catch((error: Error) => error.message)
  await run("Bash", { command: "ls" }, () => "a".repeat(100_000))
  await run("Bash", { command: "rm x" }, () => "never")
  await run("Fetch", { url: "https://example.com" }, () => "the secret")
  await run("Fetch", {}, () => Promise.reject(new Error("failed")))
  await client.enforceMcpSource({
    sessionId: "s",
    generationId: "g",
    toolName: "mcp__x__y",
    url: "https://example.com",
  })
  await sendPolicyPreflight(client)
  expect(found).toEqual([])
  expect([...seen].sort()).toEqual(
    Object.keys(api.paths)
      .map((path) => `${path} ${path.endsWith("events") ? 202 : 200}`)
      .sort(),
  )
})

test("the schemas refuse what the protocol does not allow", () => {
  const { schemas } = api.components as { readonly schemas: Readonly<Record<string, JsonObject>> }
  expect(problems(schemas.CallVerdict ?? {}, { decision: "ALLOW" })).not.toEqual([])
  expect(problems(schemas.Call ?? {}, { version: 1 })).not.toEqual([])
})
