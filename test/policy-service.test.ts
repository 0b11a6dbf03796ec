import type { IncomingMessage, ServerResponse } from "node:http"
import { describe, expect, onTestFinished, test, vi } from "vitest"
import type { JsonObject } from "../src/contract/json.ts"
import { serve } from "../src/hosts/node/http/serve.ts"
import { noRules } from "../src/policy/no-rules.ts"
import {
  PolicyClient,
  type PolicyClientOptions,
  sendPolicyPreflight,
  shouldEnforceTool,
} from "../src/policy/service/index.ts"
import { policyServer } from "../src/policy/service/server/handler.ts"
import { client, isBefore, json, open, outputOnly, server, silent, wrong } from "./support/policy-faults.ts"

const use = { sessionId: "s", toolName: "Bash", toolInput: { command: "ls" }, toolUseId: "u" }

/** Runs a tool; returns how often it ran and what the caller received. */
async function attempt(policy: PolicyClient) {
  let ran = 0
  const outcome = await policy.runTool({ ...use, execute: () => `output ${++ran}` }).then(
    (output) => ({ output }),
    (error: unknown) => ({ error }),
  )
  return { ran, ...outcome }
}

// Concurrent: some tests wait for a time limit.
describe.concurrent("a policy service that fails", () => {
  test.each([...silent, ...wrong])(
    "a service that fails with %s before the tool lets nothing run",
    { tags: ["APR-20"] },
    async (_name, answer) => {
      const { url } = await server(answer)
      const { ran, ...outcome } = await attempt(client(url))
      expect(ran).toBe(0)
      expect(outcome).toMatchObject({ error: { name: "BlockedError", code: "policy_denied" } })
    },
  )

  test.each([...silent, ...wrong].filter(([name]) => !outputOnly.has(name)))(
    "a service that fails with %s after the tool passes on no output",
    async (_name, answer) => {
      const { url } = await server((request, response, body) =>
        isBefore(request) ? json(response, { decision: "allow" }) : answer(request, response, body),
      )
      const { ran, ...outcome } = await attempt(client(url))
      expect(ran).toBe(1)
      expect(outcome).toMatchObject({ error: { name: "BlockedError" } })
      expect(JSON.stringify(outcome)).not.toContain("output 1")
    },
  )

  test.each(silent)(
    "a service that fails with %s in open mode lets the tool run, and the verdict says that it was opened",
    async (_name, answer) => {
      const { url } = await server(answer)
      const policy = client(url, { enforcementFailureMode: "open" })
      expect(await attempt(policy)).toEqual({ ran: 1, output: "output 1" })
      expect(await policy.preTool(use)).toMatchObject({
        decision: "allow",
        opened: expect.stringContaining("open mode"),
      })
    },
  )

  test.each(wrong)("a service that answers with %s in open mode lets nothing run", async (_name, answer) => {
    const { url } = await server(answer)
    expect((await attempt(client(url, { enforcementFailureMode: "open", timeoutMs: 20_000 }))).ran).toBe(0)
  })

  test("a service that does not listen blocks in closed mode and opens in open mode", async () => {
    const served = await serve(() => new Response())
    await served.close()
    expect((await attempt(client(served.url))).ran).toBe(0)
    expect((await attempt(client(served.url, { enforcementFailureMode: "open" }))).ran).toBe(1)
  })

  test("a redirect carries no key elsewhere", async () => {
    const thief = await server((_, response) => json(response, { decision: "allow" }))
    const { url } = await server((_, response) => response.writeHead(307, { location: thief.url }).end())
    expect((await attempt(client(url))).ran).toBe(0)
    expect(thief.requests).toEqual([])
  })
})

describe("verdicts", () => {
  test("rewritten arguments are the ones that the tool receives, between the checks before and after", {
    tags: ["APR-17", "HOOK-11"],
  }, async () => {
    const { url, requests } = await server((request, response) =>
      json(
        response,
        isBefore(request) ? { decision: "allow", toolInput: { command: "ls -l" } } : { decision: "allow" },
      ),
    )
    const received: JsonObject[] = []
    await client(url).runTool({ ...use, execute: (args) => received.push(args) })
    expect(received).toEqual([{ command: "ls -l" }])
    expect(requests.map((request) => request.split(" ")[0])).toEqual([
      "/api/v1/hooks/pre-tool",
      "/api/v1/hooks/post-tool",
    ])
  })

  test.each(["deny", "ask"])(
    "a verdict %s blocks with the service's reason",
    { tags: ["APR-19"] },
    async (decision) => {
      const { url } = await server((_, response) => json(response, { decision, reason: "not here" }))
      expect(await attempt(client(url))).toMatchObject({ ran: 0, error: { message: "Bash was denied: not here" } })
    },
  )

  test("a blocked output is not passed on", { tags: ["APR-18", "APR-19"] }, async () => {
    const { url } = await server((request, response) =>
      json(response, { decision: isBefore(request) ? "allow" : "block", reason: "personal data" }),
    )
    expect(await attempt(client(url))).toMatchObject({
      ran: 1,
      error: { message: "The output of Bash was blocked: personal data" },
    })
  })

  test("what a tool throws is scanned like an output, and reported as a failure", { tags: ["HOOK-05"] }, async () => {
    const { url, requests } = await server((request, response) =>
      json(response, { decision: isBefore(request) ? "allow" : "block", reason: "leak" }),
    )
    const failing = client(url).runTool({ ...use, execute: () => Promise.reject(new Error("at row 17: secret")) })
    await expect(failing).rejects.toThrow("The output of Bash was blocked: leak")
    expect(requests.map((request) => request.split(" ")[0])).toEqual([
      "/api/v1/hooks/pre-tool",
      "/api/v1/hooks/events",
      "/api/v1/hooks/post-tool",
    ])
  })

  test("long outputs are cut at a character, with a note of what is missing", {
    tags: ["POL-09", "HOOK-05"],
  }, async () => {
    const bodies: JsonObject[] = []
    const { url } = await server((request, response, body) => {
      if (!isBefore(request)) bodies.push(JSON.parse(body) as JsonObject)
      json(response, { decision: "allow" })
    })
    const policy = client(url, { maxToolOutputBytes: 10 })
    await policy.runTool({ ...use, execute: () => "ééééééééé" })
    expect(bodies[0]).toMatchObject({
      toolOutput: "ééééé\n[cut: 10 of 18 bytes]",
      truncated: { toolOutput: { bytes: 18, kept: 10 } },
    })
  })
})

test("by default, 65,536 bytes of an output are sent, and not one more", { tags: ["POL-09"] }, async () => {
  const bodies: JsonObject[] = []
  const { url } = await server((request, response, body) => {
    if (!isBefore(request)) bodies.push(JSON.parse(body) as JsonObject)
    json(response, { decision: "allow" })
  })
  await client(url).runTool({ ...use, execute: () => "x".repeat(65_536) })
  await client(url).runTool({ ...use, execute: () => "x".repeat(65_537) })
  expect(bodies[0]).toMatchObject({ toolOutput: "x".repeat(65_536) })
  expect(bodies[1]).toMatchObject({ truncated: { toolOutput: { bytes: 65_537, kept: 65_536 } } })
})

test("by default, each request has 10 seconds", { tags: ["POL-08"] }, async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
  onTestFinished(() => void vi.useRealTimers())
  let decided: unknown
  const signal = await new Promise<AbortSignal>((resolve) => {
    const silent: typeof fetch = (_, init) =>
      new Promise((_answer, refuse) => {
        const limit = init?.signal
        limit?.addEventListener("abort", () => refuse(limit.reason))
        if (limit) resolve(limit)
      })
    decided = new PolicyClient({ baseUrl: "https://policy.example", apiKey: "k", fetch: silent }).preTool(use)
  })
  vi.advanceTimersByTime(9_999)
  expect(signal.aborted).toBe(false)
  vi.advanceTimersByTime(1)
  expect(signal.aborted).toBe(true)
  expect(await decided).toMatchObject({ decision: "deny" })
})

describe("credentials", () => {
  const tokens = (body: unknown) => (request: IncomingMessage, response: ServerResponse) => {
    if (request.url?.endsWith("oauth/token")) json(response, body)
    else json(response, { decision: "allow" })
  }
  const exchanged = (url: string) =>
    new PolicyClient({
      baseUrl: url,
      clientId: "agent",
      clientSecret: "secret-of-agent",
      subjectToken: "ann",
      allowInsecureTransport: true,
    })

  test("client credentials are exchanged once for calls at the same time, with the subject", {
    tags: ["POL-03", "POL-05"],
  }, async () => {
    const { url, requests } = await server(tokens({ access_token: "t1", token_type: "Bearer", expires_in: 60 }))
    const policy = exchanged(url)
    await Promise.all(Array.from({ length: 20 }, () => policy.preTool(use)))
    const asked = requests.filter((request) => request.startsWith("/api/v1/oauth"))
    expect(asked).toEqual([
      "/api/v1/oauth/token grant_type=client_credentials&client_id=agent&client_secret=secret-of-agent&subject_token=ann",
    ])
  })

  test("a refused token is replaced once, then the call is blocked", { tags: ["POL-03"] }, async () => {
    let issued = 0
    const { url, requests } = await server((request, response) => {
      if (request.url?.endsWith("token"))
        json(response, { access_token: `t${++issued}`, token_type: "Bearer", expires_in: 60 })
      else if (request.headers.authorization === "Bearer t2") json(response, { decision: "allow" })
      else json(response, {}, 401)
    })
    expect(await exchanged(url).preTool(use)).toEqual({ decision: "allow" })
    expect(requests).toHaveLength(4)
  })

  test.each([
    [{ token_type: "Bearer", expires_in: 60 }],
    [{ access_token: "", token_type: "Bearer", expires_in: 60 }],
    [{ access_token: "t", token_type: "mac", expires_in: 60 }],
    [{ access_token: "t", token_type: "Bearer", expires_in: 0 }],
    [{ access_token: "t", token_type: "Bearer" }],
  ])("a token answer %j blocks the call", async (answer) => {
    const { url } = await server(tokens(answer))
    expect((await attempt(exchanged(url))).ran).toBe(0)
  })

  test.each<[string, Partial<PolicyClientOptions>]>([
    ["no credentials", {}],
    ["two kinds of credentials", { apiKey: "k", clientId: "c", clientSecret: "s" }],
    ["a client without its secret", { clientId: "c" }],
    ["a subject without a client", { apiKey: "k", subjectToken: "ann" }],
    ["an unknown token type", { clientId: "c", clientSecret: "s", subjectTokenType: "urn:x:other" }],
    ["a bearer token", { bearerToken: "t" } as object],
    ["plain http", { apiKey: "k", baseUrl: "http://policy.example" }],
    ["no address", { apiKey: "k", baseUrl: "policy" }],
    ["a timeout of 0", { apiKey: "k", timeoutMs: 0 }],
  ])("%s: the client is not created", { tags: ["POL-04", "POL-11"] }, (_name, options) => {
    expect(() => new PolicyClient({ baseUrl: "https://policy.example", ...options })).toThrow(
      expect.objectContaining({ code: "config_invalid" }),
    )
  })

  test("options come from the environment, and others as options", {
    tags: ["POL-01", "POL-02", "POL-06"],
  }, async () => {
    const { url, requests, keys } = await server((_, response) => json(response, { decision: "allow" }))
    const variables = {
      LONGHAUL_POLICY_BASE_URL: url,
      LONGHAUL_POLICY_API_KEY: "k",
      LONGHAUL_POLICY_ALLOW_INSECURE_TRANSPORT: "1",
      LONGHAUL_POLICY_CLIENT: "harbour",
    }
    await PolicyClient.fromEnv({ clientVersion: "2" }, variables).preTool(use)
    expect(requests[0]).toContain('"client":"harbour","clientVersion":"2"')
    expect(keys).toEqual(["Bearer k"])
    await PolicyClient.fromEnv({}, { ...variables, LONGHAUL_POLICY_CLIENT: "" }).preTool(use)
    expect(requests[1]).toContain('"client":"typescript-sdk"')
    expect(() => PolicyClient.fromEnvFor("https://other.example", {}, variables)).toThrow("no credentials")
  })

  test("a debug switch logs lost events to stderr, and nothing is logged without it", {
    tags: ["POL-07"],
  }, async () => {
    const { url } = await server((_, response) => json(response, {}, 500))
    const logged = vi.spyOn(console, "error").mockImplementation(() => {})
    onTestFinished(() => logged.mockRestore())
    const variables = {
      LONGHAUL_POLICY_BASE_URL: url,
      LONGHAUL_POLICY_API_KEY: "k",
      LONGHAUL_POLICY_ALLOW_INSECURE_TRANSPORT: "1",
    }
    await PolicyClient.fromEnv({}, variables).send({ event: "Stop", sessionId: "s" })
    expect(logged).not.toHaveBeenCalled()
    await PolicyClient.fromEnv({}, { ...variables, LONGHAUL_POLICY_DEBUG: "1" }).send({ event: "Stop", sessionId: "s" })
    expect(logged).toHaveBeenCalledWith(expect.stringContaining("The event Stop was lost"))
  })

  test("every request has a time limit: verdicts, events, sources and tokens", { tags: ["POL-08"] }, async () => {
    const { url, requests } = await server(() => {})
    const hasty = client(url, { timeoutMs: 20 })
    await hasty.preTool(use)
    await hasty.postTool(use, { outcome: "ok" })
    await hasty.send({ event: "Stop", sessionId: "s" })
    await expect(hasty.enforceMcpSource({ sessionId: "s", toolName: "x", url: "https://x.example" })).rejects.toThrow()
    const credentials = { clientId: "agent", clientSecret: "secret-of-agent", timeoutMs: 20 }
    await new PolicyClient({ baseUrl: url, allowInsecureTransport: true, ...credentials }).preTool(use)
    expect(requests).toHaveLength(5)
    const variables = {
      LONGHAUL_POLICY_BASE_URL: url,
      LONGHAUL_POLICY_API_KEY: "k",
      LONGHAUL_POLICY_ALLOW_INSECURE_TRANSPORT: "1",
      LONGHAUL_POLICY_TIMEOUT_MS: "20",
    }
    expect(await PolicyClient.fromEnv({}, variables).preTool(use)).toMatchObject({
      decision: "deny",
      reason: expect.stringContaining("20 ms"),
    })
  })

  test("the failure mode is closed unless it is set to open", { tags: ["POL-10"] }, async () => {
    const { url } = await server((_, response) => json(response, {}, 500))
    const variables = {
      LONGHAUL_POLICY_BASE_URL: url,
      LONGHAUL_POLICY_API_KEY: "k",
      LONGHAUL_POLICY_ALLOW_INSECURE_TRANSPORT: "1",
    }
    const verdicts: string[] = []
    for (const mode of ["", "OPEN", "closed", "open"]) {
      const policy = PolicyClient.fromEnv({}, { ...variables, LONGHAUL_POLICY_FAILURE_MODE: mode })
      verdicts.push((await policy.preTool(use)).decision)
    }
    expect(verdicts).toEqual(["deny", "deny", "deny", "allow"])
  })

  test("the path of the source check and all other settings can be passed as options", {
    tags: ["POL-12", "POL-13"],
  }, async () => {
    const { url, requests } = await server((_, response) => json(response, { decision: "allow" }))
    const policy = client(url, {
      client: "harbour",
      clientVersion: "2",
      directMcpSourceEnforcementPath: "/other/path",
      timeoutMs: 5000,
      maxToolOutputBytes: 10,
      enforcementFailureMode: "open",
      toolEnforcement: { ignoredMcpServers: { files: "https://files.example/mcp" } },
    })
    await policy.enforceMcpSource({ sessionId: "s", toolName: "x", url: "https://x.example" })
    expect(requests[0]).toMatch(/^\/other\/path /)
    expect(requests[0]).toContain('"client":"harbour","clientVersion":"2"')
    await policy.preTool({ ...use, toolName: "mcp__files__read", toolUrl: "https://files.example/mcp" })
    expect(requests).toHaveLength(1)
    // Safe: the type has no such key.
    const unknown = { timeout: 1 } as Partial<PolicyClientOptions>
    expect(() => client(url, unknown)).toThrow(expect.objectContaining({ code: "config_invalid" }))
  })
})

describe("skipping", () => {
  const scope = { baseUrl: "https://policy.example", ignoredMcpServers: { files: "https://files.example/mcp" } }
  test.each<[string, string | undefined, boolean]>([
    ["mcp__x__y", "https://policy.example/api/v1/proxy/abc/mcp", false],
    ["mcp__x__y", "/api/v1/proxy/plugins/abc/mcp", false],
    ["mcp__x__y", "/api/v1/proxy/skills/abc/mcp", false],
    ["mcp__x__y", "/api/v1/proxy/agent-account/abc/mcp", false],
    ["mcp__files__read", "https://files.example/mcp", false],
    ["mcp__files__read", undefined, true],
    ["mcp__files__read", "https://evil.example/mcp", true],
    ["mcp__other__read", "https://files.example/mcp", true],
    ["mcp__x__y", "https://policy.example.evil.com/api/v1/proxy/abc/mcp", true],
    ["mcp__x__y", "http://policy.example/api/v1/proxy/abc/mcp", true],
    ["mcp__x__y", "https://policy.example@evil.com/api/v1/proxy/abc/mcp", true],
    ["mcp__x__y", "https://user@policy.example/api/v1/proxy/abc/mcp", true],
    ["mcp__x__y", "https://policy.example/api/v1/proxy/abc/mcp/../../x", true],
    ["mcp__x__y", "https://policy.example/api/v1/proxy/a%2fb/mcp", true],
    ["mcp__x__y", "https://policy.example/api/v1/proxy/abc/mcp/extra", true],
    ["longhaul", undefined, true],
  ])(
    "the tool %s at %s is enforced: %s",
    { tags: ["APR-22", "APR-23", "APR-24", "APR-25", "APR-26"] },
    (toolName, toolUrl, isEnforced) => {
      expect(shouldEnforceTool({ toolName, ...(toolUrl !== undefined && { toolUrl }) }, scope)).toBe(isEnforced)
    },
  )
})

describe("the reference service", () => {
  async function reference(audit: (record: JsonObject) => void = () => {}) {
    const handler = policyServer({
      rules: {
        ...noRules,
        decide: async ({ tool, args }) =>
          tool === "Bash"
            ? { verdict: "deny", reasons: [{ stage: "rule", verdict: "deny", text: "No shells.", rule: "rules[0]" }] }
            : tool === "Fetch"
              ? { verdict: "allow", args: { ...(args as object), timeoutMs: 5 }, reasons: [] }
              : { reasons: [] },
        scan: (_call, output) =>
          output.includes("123-45")
            ? { stage: "output", verdict: "block", text: "A number.", rule: "output[0]" }
            : undefined,
      },
      keys: { apiKeys: { ann: "key-of-the-test" }, clients: { agent: "secret-of-agent" } },
      audit,
    })
    const served = await serve(handler)
    open.push(() => served.close())
    return served.url
  }

  test.each([{ apiKeys: { ann: "" } }, { apiKeys: { ann: "key-of-the-test" }, clients: { agent: "" } }])(
    "an empty key or secret is refused, as from a variable that is not set: %j",
    (keys) => {
      expect(() => policyServer({ rules: noRules, keys, audit: () => {} })).toThrow(
        expect.objectContaining({ code: "config_invalid", fix: expect.stringContaining("Set it") }),
      )
    },
  )

  test("the reference service denies, rewrites, allows and blocks over the same protocol, and appends each decision to the audit log", async () => {
    const log: JsonObject[] = []
    const policy = client(await reference((record) => log.push(record)), { timeoutMs: 5000 })
    await expect(policy.runTool({ ...use, execute: () => "x" })).rejects.toThrow("Bash was denied: No shells.")
    const fetching = { ...use, toolName: "Fetch", toolInput: { url: "https://example.com" } }
    expect(await policy.runTool({ ...fetching, execute: (args) => args })).toEqual({
      url: "https://example.com",
      timeoutMs: 5,
    })
    await expect(policy.runTool({ ...fetching, execute: () => "123-45-6789" })).rejects.toThrow("A number.")
    expect(log[0]).toMatchObject({
      kind: "pre-tool",
      subject: "ann",
      toolName: "Bash",
      verdict: { decision: "deny", rule: "rules[0]" },
    })
    expect(log.at(-1)).toMatchObject({ kind: "post-tool", outputCharacters: 11, verdict: { decision: "block" } })
    expect(JSON.stringify(log)).not.toContain("123-45")
    await policy.preTool({ ...use, toolInput: { command: "curl -H 'x: key-of-the-test'", password: "hunter22" } })
    await policy.preTool({ ...use, toolInput: { command: `echo ghp_${"a1".repeat(18)}` } })
    expect(JSON.stringify(log)).not.toMatch(/key-of-the-test|hunter22|ghp_a1/)
  })

  test("preflight sends the events of a session, and rejects if one is refused", {
    tags: ["HOOK-04", "HOOK-09", "HOOK-10"],
  }, async () => {
    const log: JsonObject[] = []
    const url = await reference((record) => log.push(record))
    const { sessionId } = await sendPolicyPreflight(client(url, { timeoutMs: 5000 }))
    expect(log.map(({ event, sessionId: of }) => [event, of])).toEqual([
      ["SessionStart", sessionId],
      ["UserPromptSubmit", sessionId],
      ["Stop", sessionId],
    ])
    await expect(sendPolicyPreflight(client(url, { apiKey: "wrong-key-of-test" }))).rejects.toMatchObject({
      code: "policy_unavailable",
    })
    await expect(
      client(url, { apiKey: "wrong-key-of-test" }).send({ event: "Stop", sessionId }),
    ).resolves.toBeUndefined()
  })

  test("the reference service issues tokens to clients, on behalf of a user", { tags: ["POL-03"] }, async () => {
    const log: JsonObject[] = []
    const url = await reference((record) => log.push(record))
    const agent = {
      baseUrl: url,
      clientId: "agent",
      clientSecret: "secret-of-agent",
      subjectToken: "bob",
      allowInsecureTransport: true,
    }
    await new PolicyClient(agent).preTool(use)
    expect(log[0]).toMatchObject({ subject: "agent for bob" })
    expect(await new PolicyClient({ ...agent, clientSecret: "wrong" }).preTool(use)).toMatchObject({ decision: "deny" })
  })

  test("a call whose audit line cannot be written is not allowed", async () => {
    const url = await reference(() => {
      throw new Error("disk full")
    })
    expect((await attempt(client(url, { timeoutMs: 5000 }))).ran).toBe(0)
  })

  test("the source of MCP tools can be checked", { tags: ["APR-21"] }, async () => {
    const url = await reference()
    const policy = client(url, { timeoutMs: 5000 })
    await expect(
      policy.enforceMcpSource({ sessionId: "s", toolName: "Bash", url: "https://x.example" }),
    ).rejects.toThrow("No shells.")
    await expect(
      policy.enforceMcpSource({ sessionId: "s", toolName: "other", url: "https://x.example" }),
    ).resolves.toBeUndefined()
  })

  test.each<[number, string, string, string]>([
    [404, "/api/v1/hooks/other", "{}", "Bearer key-of-the-test"],
    [404, "/__proto__", "{}", "Bearer key-of-the-test"],
    [401, "/api/v1/hooks/pre-tool", "{}", "Bearer wrong"],
    [401, "/api/v1/hooks/pre-tool", "{}", ""],
    [400, "/api/v1/hooks/pre-tool", "{", "Bearer key-of-the-test"],
    [400, "/api/v1/hooks/pre-tool", '{"version":2}', "Bearer key-of-the-test"],
    [400, "/api/v1/hooks/pre-tool", '{"version":1,"toolInput":{}}', "Bearer key-of-the-test"],
    [413, "/api/v1/hooks/events", "x".repeat(5_000_000), "Bearer key-of-the-test"],
  ])("the reference service answers %i to %s with %.40s", async (status, path, body, authorization) => {
    const response = await fetch(`${await reference()}${path}`, { method: "POST", body, headers: { authorization } })
    expect(response.status).toBe(status)
  })
})
