import { expect, test } from "vitest"
import type { JsonObject } from "../src/contract/json.ts"
import type { PolicyRule } from "../src/contract/policy.ts"
import { compileRules } from "../src/policy/rules/compile-rules.ts"
import {
  PolicyClient,
  runTool,
  sendPolicyPreflight,
  shouldEnforceTool,
  type ToolPolicy,
} from "../src/policy/service/index.ts"
import { policyServer } from "../src/policy/service/server/handler.ts"
import { policyCall, verdictOf } from "./support/policy-scene.ts"

const options = { baseUrl: "https://policy.example", apiKey: "key-of-the-agent" }

/** A client whose service answers every request with the same text, and the bodies that it received. */
function answering(text: string, status = 200) {
  const bodies: JsonObject[] = []
  const fetch = async (_: unknown, init?: RequestInit) => {
    bodies.push(JSON.parse(String(init?.body)))
    return new Response(text, { status })
  }
  return { client: new PolicyClient({ ...options, fetch }), bodies }
}

test("HOOK-05 a failed tool is reported with its output, bounded", async () => {
  const { client, bodies } = answering('{"decision":"allow"}')
  const failure = Object.assign(new Error("exit 3"), { stdout: "o".repeat(100_000), stderr: "e", output: { lines: 2 } })
  const running = client.runTool({
    sessionId: "s",
    toolName: "x",
    toolInput: {},
    execute: () => Promise.reject(failure),
  })
  await expect(running).rejects.toBe(failure)
  const event = bodies.find((body) => body.event === "PostToolUseFailure")
  expect(event).toMatchObject({
    error: "exit 3",
    stderr: "e",
    output: '{"lines":2}',
    truncated: { stdout: { bytes: 100_000 } },
  })
  expect(String(event?.stdout).length).toBeLessThan(66_000)
})

test("the transcript of a Stop is sent whole", async () => {
  const { client, bodies } = answering("{}", 202)
  const transcript = `${"x".repeat(200_000)}END`
  await client.send({ event: "Stop", sessionId: "s", transcript }, { strict: true })
  expect(bodies[0]?.transcript).toBe(transcript)
  expect(bodies[0]).not.toHaveProperty("truncated")
})

test.each(["<html>ok</html>", "", "[]", '"ok"'])("the preflight fails on a 200 with %j", async (text) => {
  await expect(sendPolicyPreflight(answering(text).client)).rejects.toMatchObject({ code: "policy_unavailable" })
  await expect(sendPolicyPreflight(answering("{}", 202).client)).resolves.toHaveProperty("sessionId")
})

test.each([
  "https://evil.example/x",
  "//evil.example/x",
  "api/x",
  "/api/../x",
  "/a?b=c",
  "/\\evil",
  "",
  "javascript:1",
])("directMcpSourceEnforcementPath %j is refused", (directMcpSourceEnforcementPath) => {
  expect(() => new PolicyClient({ ...options, directMcpSourceEnforcementPath })).toThrow(
    expect.objectContaining({ code: "config_invalid" }),
  )
})

test("runTool runs the arguments that were decided, whoever changes them meanwhile", async () => {
  const toolInput: { amount: number } = { amount: 5 }
  const ran: unknown[] = []
  const policy: ToolPolicy = {
    preTool: async ({ toolInput: seen }) => {
      toolInput.amount = 5000
      // Safe: the attack is to ignore the types.
      ;(seen as { amount: number }).amount = 6000
      return { decision: "allow" }
    },
    postTool: async () => ({ decision: "allow" }),
  }
  await runTool(policy, { sessionId: "s", toolName: "pay", toolInput, execute: (given) => ran.push(given) })
  expect(ran).toEqual([{ amount: 5 }])
  const args = { amount: 7 }
  const rewriting: ToolPolicy = { ...policy, preTool: async () => ({ decision: "allow", args }) }
  const running = runTool(rewriting, {
    ...{ sessionId: "s", toolName: "pay", toolInput: {} },
    execute: (given) => {
      args.amount = 7000
      ran.push(given)
    },
  })
  await running
  expect(ran[1]).toEqual({ amount: 7 })
})

test("shouldEnforceTool works without a scope", () => {
  expect(shouldEnforceTool({ toolName: "Bash" })).toBe(true)
  expect(shouldEnforceTool({ toolName: "x", toolUrl: "https://a.example/api/v1/proxy/b/mcp" })).toBe(true)
  expect(shouldEnforceTool({ toolName: "x", toolUrl: "/relative" })).toBe(true)
})

test("only an address of the service's own proxy, without a name or password in it, skips enforcement", () => {
  const { baseUrl } = options
  const skips = (toolUrl: string) => !shouldEnforceTool({ toolName: "x", toolUrl }, { baseUrl })
  expect(skips(`${baseUrl}/api/v1/proxy/b/mcp`)).toBe(true)
  for (const address of [
    "https://ada@policy.example/api/v1/proxy/b/mcp",
    "https://:secret@policy.example/api/v1/proxy/b/mcp",
    "https://other.example/api/v1/proxy/b/mcp",
    `${baseUrl}/api/v1/proxy/b/mcp/more`,
  ]) {
    expect(skips(address)).toBe(false)
  }
})

test("the subject of a key or token is a matcher", async () => {
  const rules: PolicyRule[] = [{ deny: { tool: "*", subject: ["intern", "bot for *@guest.example"] } }]
  const compiled = await compileRules([{ document: { default: "allow", rules }, source: "test" }])
  const keys = { apiKeys: { intern: "key-1", owner: "key-2" }, clients: { bot: "secret-of-bot" } }
  const serve = policyServer({ rules: compiled, keys, audit: () => {} })
  const post = (path: string, body: string, token?: string) =>
    serve(
      new Request(`http://localhost${path}`, {
        method: "POST",
        body,
        ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
      }),
    )
  const decide = async (token: string) => {
    const common = { version: 1, client: "x", sessionId: "s", requestId: "r", at: "2026-01-01T00:00:00Z" }
    const call = { toolName: "Read", toolInput: { path: "a" }, toolUseId: "1", digest: "d" }
    const response = await post("/api/v1/hooks/pre-tool", JSON.stringify({ ...common, ...call }), token)
    // Safe: the handler's own answer.
    return ((await response.json()) as { readonly decision: string }).decision
  }
  const tokenFor = async (user: string) => {
    const form = {
      grant_type: "client_credentials",
      client_id: "bot",
      client_secret: "secret-of-bot",
      subject_token: user,
    }
    const response = await post("/api/v1/oauth/token", String(new URLSearchParams(form)))
    // Safe: the handler's own answer.
    return ((await response.json()) as { readonly access_token: string }).access_token
  }
  expect(await decide("key-1")).toBe("deny")
  expect(await decide("key-2")).toBe("allow")
  expect(await decide(await tokenFor("me@guest.example"))).toBe("deny")
  expect(await decide(await tokenFor("me@home.example"))).toBe("allow")
  expect(await verdictOf({ default: "allow", rules }, policyCall("Read", { path: "a" }))).toBe("allow")
})
