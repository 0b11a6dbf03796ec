import { execFileSync } from "node:child_process"
import { expect, test } from "vitest"
import type { Json, JsonObject } from "../src/contract/json.ts"
import type { PolicyRule } from "../src/contract/policy.ts"
import { compileRules } from "../src/policy/rules/compile-rules.ts"
import {
  PolicyClient,
  type PolicyClientOptions,
  runTool,
  sendPolicyPreflight,
  shouldEnforceTool,
  type ToolPolicy,
} from "../src/policy/service/index.ts"
import { policyServer } from "../src/policy/service/server/handler.ts"
import { policyCall, verdictOf } from "./support/policy-scene.ts"

const options = { baseUrl: "https://policy.example", apiKey: "key-of-the-agent" }

/** A client whose service answers every request with the same text, and the bodies that it received. */
function answering(
  text: string | null,
  status = 200,
  baseUrl = options.baseUrl,
  more: Partial<PolicyClientOptions> = {},
) {
  const bodies: JsonObject[] = []
  const fetch = async (_: unknown, init?: RequestInit) => {
    bodies.push(JSON.parse(String(init?.body)))
    return new Response(text, { status })
  }
  return { client: new PolicyClient({ ...options, baseUrl, fetch, ...more }), bodies }
}

test("a failed tool is reported with its output, bounded", { tags: ["HOOK-05"] }, async () => {
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

const failing = (client: PolicyClient, failure: unknown) =>
  client.runTool({ sessionId: "s", toolName: "x", toolInput: {}, execute: () => Promise.reject(failure) })

test("the output of a program that failed is sent as text, also where the exception has bytes", {
  tags: ["HOOK-05"],
}, async () => {
  const { client, bodies } = answering('{"decision":"allow"}')
  const script = "process.stdout.write('t\u00f6ld'); process.stderr.write('bad'); process.exit(3)"
  const run = () => execFileSync(process.execPath, ["-e", script], { stdio: "pipe" })
  await expect(
    client.runTool({ sessionId: "s", toolName: "x", toolInput: {}, execute: async () => run() }),
  ).rejects.toHaveProperty("status", 3)
  const event = bodies.find((body) => body.event === "PostToolUseFailure")
  expect(event).toMatchObject({ stdout: "t\u00f6ld", stderr: "bad", output: "t\u00f6ld\nbad" })
})

test("a failure whose output cannot be written is still reported, and is blocked, not replaced", {
  tags: ["HOOK-05"],
}, async () => {
  const { client, bodies } = answering('{"decision":"allow"}')
  const circular: Record<string, unknown> = {}
  circular.self = circular
  const failure = Object.assign(new Error("exit 3"), { stdout: circular, stderr: "e" })
  await expect(failing(client, failure)).rejects.toMatchObject({ name: "BlockedError" })
  const event = bodies.find((body) => body.event === "PostToolUseFailure")
  expect(event).toMatchObject({ error: "exit 3", stderr: "e" })
  expect(event).not.toHaveProperty("stdout")
})

test("a text is never cut inside a secret", { tags: ["HOOK-05"] }, async () => {
  const secret = "correct-horse-battery-staple"
  const token = `ghp_${"a1B2".repeat(9)}`
  const redact = (value: Json): Json => JSON.parse(JSON.stringify(value).replaceAll(secret, "***"))
  for (const [value, more] of [
    [secret, { redact }],
    [token, {}],
  ] as const) {
    for (let cut = 1; cut < value.length; cut++) {
      const { client, bodies } = answering('{"decision":"allow"}', 200, options.baseUrl, {
        ...more,
        maxToolOutputBytes: 100 + cut,
      })
      const text = `${"x".repeat(99)} ${value} ${"y".repeat(100)}`
      await failing(client, Object.assign(new Error(text), { stdout: text, stderr: text, output: text })).catch(
        () => {},
      )
      const sent = bodies.filter(({ event, outcome }) => event ?? outcome)
      expect(sent).toHaveLength(2)
      expect(JSON.stringify(sent)).not.toContain(value.slice(0, 4))
      expect(JSON.stringify(sent)).toContain("[cut: ")
    }
  }
})

test("the transcript of a Stop is sent whole", async () => {
  const { client, bodies } = answering("{}", 202)
  const transcript = `${"x".repeat(200_000)}END`
  await client.send({ event: "Stop", sessionId: "s", transcript }, { strict: true })
  expect(bodies[0]?.transcript).toBe(transcript)
  expect(bodies[0]).not.toHaveProperty("truncated")
})

test.each([
  [200, "<html>ok</html>"],
  [200, ""],
  [200, "[]"],
  [200, '"ok"'],
  [200, "{}"],
  [200, '{"ok":true}'],
  [200, '{"decision":"allow"}'],
  [201, "{}"],
  [202, "<html>ok</html>"],
  [202, "[]"],
  [204, null],
  [302, null],
  [404, '{"error":"Unknown path."}'],
])("the preflight fails on a %i with %j, and names the address that is no policy service", async (status, text) => {
  const { client, bodies } = answering(text, status, "https://ann:pw@policy.example/base")
  const rejected = sendPolicyPreflight(client)
  await expect(rejected).rejects.toMatchObject({
    code: "policy_unavailable",
    retryable: false,
    fix: expect.stringContaining("https://policy.example/base/api/v1/hooks/events is not a policy service"),
  })
  await expect(rejected).rejects.not.toThrow(/ann|pw/)
  expect(bodies).toHaveLength(1)
})

test.each(["{}", "", '{"accepted":true}'])("the preflight passes on a 202 with %j", async (text) => {
  await expect(sendPolicyPreflight(answering(text, 202).client)).resolves.toHaveProperty("sessionId")
})

test("a preflight that is refused or not answered says what to check, and only silence is worth a retry", async () => {
  const failing = (fetch: typeof globalThis.fetch) => sendPolicyPreflight(new PolicyClient({ ...options, fetch }))
  await expect(failing(async () => new Response("{}", { status: 401 }))).rejects.toMatchObject({
    retryable: false,
    fix: expect.stringContaining("Check the credentials"),
  })
  for (const silence of [() => Promise.reject(new TypeError("no")), async () => new Response("", { status: 503 })])
    await expect(failing(silence)).rejects.toMatchObject({
      retryable: true,
      fix: expect.stringContaining("a policy service runs at https://policy.example/"),
    })
})

test("an event that something else than a policy service took is reported as lost", async () => {
  const lost: string[] = []
  const fetch = async () => new Response("<html>welcome</html>")
  const client = new PolicyClient({ ...options, fetch, onLostEvent: (message) => lost.push(message) })
  await client.send({ event: "Stop", sessionId: "s" })
  expect(lost).toEqual([expect.stringContaining("The event Stop was lost")])
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

test("a call that the service itself passes on is sent to it neither before nor after it runs", async () => {
  const { client, bodies } = answering('{"decision":"deny","reason":"no"}')
  const use = { sessionId: "s", toolName: "x", toolInput: {}, toolUrl: `${options.baseUrl}/api/v1/proxy/b/mcp` }
  expect([await client.preTool(use), await client.postTool(use, { outcome: "ok", toolOutput: "out" })]).toEqual([
    { decision: "allow" },
    { decision: "allow" },
  ])
  expect(bodies).toEqual([])
})

test("the address of an MCP server is sent without what may be secret in it, whatever it is", async () => {
  const { client, bodies } = answering('{"decision":"allow"}')
  const source = { sessionId: "s", toolName: "x" }
  for (const url of ["https://ada:pw@mcp.example/a?token=t#f", "/run/mcp.sock?token=t", "mcp#t"]) {
    await client.enforceMcpSource({ ...source, url })
  }
  expect(bodies.map(({ url }) => url)).toEqual(["https://mcp.example/a", "/run/mcp.sock", "mcp"])
})

test("the credentials of the environment are for the address that it names", async () => {
  const variables = { LONGHAUL_POLICY_BASE_URL: options.baseUrl, LONGHAUL_POLICY_API_KEY: "key" }
  const asked: string[] = []
  const fetch = async (url: unknown) => {
    asked.push(String(url))
    return new Response('{"decision":"allow"}')
  }
  const client = PolicyClient.fromEnvFor(`${options.baseUrl}/team`, { fetch }, variables)
  await client.preTool({ sessionId: "s", toolName: "x", toolInput: {} })
  expect(asked).toEqual([expect.stringContaining(`${options.baseUrl}/team/api/v1/`)])
  for (const other of ["https://evil.example", "http://policy.example", "no address"]) {
    expect(() => PolicyClient.fromEnvFor(other, { fetch }, variables)).toThrow("There are no credentials")
  }
})

test("a service answers a wrong method and wrong client credentials with their status", async () => {
  const compiled = await compileRules([{ document: { default: "allow" }, source: "test" }])
  const keys = { apiKeys: { owner: "key" }, clients: { bot: "secret-of-bot" } }
  const serve = policyServer({ rules: compiled, keys, audit: () => {} })
  const ask = async (path: string, init: RequestInit) =>
    (await serve(new Request(`http://localhost${path}`, init))).status
  for (const path of ["oauth/token", "hooks/pre-tool", "hooks/post-tool", "hooks/direct-mcp-source", "hooks/events"]) {
    const headers = { authorization: "Bearer key" }
    expect(await ask(`/api/v1/${path}`, { method: "GET", headers })).toBe(405)
    expect(await ask(`/api/v1/${path}`, { method: "PUT", headers, body: "{}" })).toBe(405)
  }
  const form = { grant_type: "client_credentials", client_id: "bot", client_secret: "guessed" }
  expect(await ask("/api/v1/oauth/token", { method: "POST", body: new URLSearchParams(form).toString() })).toBe(401)
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
