import type { ServerResponse } from "node:http"
import { pi } from "../../src/backends/pi/index.ts"
import type { PiModel, PiModules } from "../../src/backends/pi/shapes.ts"
import type { ExtensionRun, OpenedExtension } from "../../src/contract/extension.ts"
import type { JsonObject } from "../../src/contract/json.ts"
import type { Model } from "../../src/contract/provider.ts"
import { api } from "../../src/extensions/api/index.ts"
import { knowledge } from "../../src/extensions/knowledge/index.ts"
import { mcp } from "../../src/extensions/mcp/index.ts"
import { serverRequests } from "../../src/extensions/mcp/server-requests.ts"
import { skills } from "../../src/extensions/skills/index.ts"
import { anthropic, fromAiSdk, google, type NodeRuntimeConfig, nodeFetch, openai } from "../../src/hosts/node/index.ts"
import { PolicyClient, type PolicyCredentials, serviceOf } from "../../src/policy/service/index.ts"
import { type ScriptedStep, scriptedModel } from "../../src/testing/index.ts"
import { brave, duckDuckGo, searxng, tavily, webFetchTool, webSearchTool } from "../../src/tools/index.ts"
import { defineTool } from "../../src/tools/kernel/define-tool.ts"
import { countingModel, call as lookCall } from "../compaction/counting-model.ts"
import type { Answering, HangingServer } from "../support/hanging-server.ts"

/** A call of a run to the outside, to a server that never answers it. */
export interface Outward {
  /** The tool that makes it, the provider, the search engine, or the backend. */
  readonly tool?: string
  readonly provider?: string
  readonly engine?: string
  readonly backend?: string
  /** Requests that are answered before. */
  readonly answers?: Answering
  /** `root`: an empty folder, the workspace. */
  config(server: HangingServer, root: string): NodeRuntimeConfig
}

export const calls = (name: string, args: JsonObject = {}): ScriptedStep => ({ parts: [{ toolCall: { name, args } }] })
export const asking = (...steps: readonly ScriptedStep[]) => scriptedModel([...steps, "never asked"])
const web = (server: HangingServer) => ({ fetch: nodeFetch({ allow: [server.host] }) })

/** The time limits of requests are far away: only the abort can end one. */
export const NEVER_MS = 2_000_000

const models = {
  anthropic: (baseUrl) => anthropic({ model: "claude-sonnet-4-6", apiKey: "key", baseUrl }),
  "openai responses": (baseUrl) => openai({ model: "gpt-5.5", apiKey: "key", baseUrl }),
  "openai chat": (baseUrl) => openai({ model: "gpt-5.5", apiKey: "key", api: "chat", baseUrl }),
  google: (baseUrl) => google({ model: "gemini-2.5-pro", apiKey: "key", baseUrl }),
  "ai-sdk": (url) =>
    fromAiSdk({
      specificationVersion: "v3",
      provider: "acme.chat",
      modelId: "m-1",
      async doStream({ abortSignal }) {
        const response = await fetch(url, { ...(abortSignal && { signal: abortSignal }) })
        return { stream: (response.body ?? new ReadableStream()) as never }
      },
    }),
} as const satisfies Readonly<Record<string, (url: string) => Model>>

/** Pi, whose agent only sends a request and ends it when it is told to. */
function piModules(url: string): PiModules {
  const model: PiModel = {
    ...{ id: "gpt-5.5", name: "m", api: "openai-responses", provider: "openai", baseUrl: url, reasoning: false },
    ...{ input: ["text"], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } },
    ...{ contextWindow: 1000, maxTokens: 100 },
  }
  class Agent {
    readonly state = { messages: [] }
    readonly #stop = new AbortController()
    subscribe() {
      return () => {}
    }
    steer() {}
    abort() {
      this.#stop.abort()
    }
    async prompt() {
      const response = await fetch(url, { signal: this.#stop.signal }).catch(() => undefined)
      await response?.text().catch(() => "")
    }
    async continue() {}
  }
  const unused = () => ({ result: () => Promise.reject(new Error("not used")) })
  return { agent: { Agent }, ai: { getModel: () => model, getModels: () => [model], streamSimple: unused } }
}

const engines = {
  brave: (baseUrl: string) => brave({ apiKey: "key", baseUrl }),
  duckduckgo: (baseUrl: string) => duckDuckGo({ baseUrl }),
  searxng: (baseUrl: string) => searxng({ baseUrl }),
  tavily: (baseUrl: string) => tavily({ apiKey: "key", baseUrl }),
}

/** Answers as an MCP server, except for one method. */
const mcpExcept =
  (hanging: string, toolNames: readonly string[] = ["act"]): Answering =>
  (request, body, response) => {
    const { id, method, params } = body === "" ? {} : JSON.parse(body)
    if (method === hanging) return false
    if (method === "server/discover") return refuse(response, 400)
    if (method === undefined) return refuse(response, 405)
    if (id === undefined) return refuse(response, 202)
    const results: Readonly<Record<string, object>> = {
      initialize: {
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {}, resources: {} },
        serverInfo: { name: "scene", version: "1" },
      },
      "tools/list": { tools: toolNames.map((name) => ({ name, inputSchema: { type: "object" } })) },
      "resources/list": { resources: [] },
      "resources/templates/list": { resourceTemplates: [] },
    }
    response.writeHead(200, { "content-type": "application/json" })
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] ?? {} }))
    return request.method !== undefined
  }

const refuse = (response: ServerResponse, status: number) => {
  response.writeHead(status).end()
  return true
}

const mcpRow = (method: string, step: ScriptedStep, more: Partial<Outward> = {}): Outward => ({
  ...more,
  answers: mcpExcept(method),
  config: ({ url }) => ({
    model: asking(step),
    mcpServers: { scene: { url, timeoutMs: NEVER_MS } },
  }),
})

/** An MCP server that wants a token, which another server issues: it hangs at one of its paths. */
const tokenRow = (hanging: string): Outward => ({
  answers: ({ url = "", headers, method }, _, response) => {
    if (url.startsWith(hanging)) return false
    if (url === "/") return refuse(response, method === "POST" && headers.authorization === undefined ? 401 : 405)
    const issuer = `http://${headers.host}`
    const metadata = {
      ...{ issuer, resource: `${issuer}/`, authorization_servers: [issuer], response_types_supported: ["code"] },
      ...{ authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` },
    }
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(metadata))
    return true
  },
  config: ({ url }) => ({
    model: asking("never asked"),
    mcpServers: {
      scene: { url, timeoutMs: NEVER_MS, auth: { grant: "client-credentials", clientId: "c", clientSecret: "s" } },
    },
  }),
})

const apiRow = (more: object): Outward => ({
  tool: "ApiCall",
  config: (server) => ({
    model: asking(calls("ApiCall", { service: "s", method: "POST", path: "/a" })),
    env: web(server),
    extensions: [
      api({
        services: { s: { baseUrl: server.url, allowPrivate: true, allowedMethods: ["POST"], timeoutMs: 299_000 } },
        ...more,
      }),
    ],
  }),
})

const policyRow = (hanging: string, credentials: PolicyCredentials = { apiKey: "key" }): Outward => ({
  answers: ({ url = "" }, _, response) => {
    if (url.endsWith(hanging)) return false
    response.end(JSON.stringify({ decision: "allow" }))
    return true
  },
  config: ({ url }) => ({
    model: asking(calls("List")),
    policy: {
      services: [
        serviceOf(
          new PolicyClient({
            baseUrl: url,
            ...credentials,
            timeoutMs: NEVER_MS,
            enforcementFailureMode: "open",
            allowInsecureTransport: true,
          }),
        ),
      ],
    },
  }),
})

/** An MCP server asks for a sample before the run begins its first turn, and the run waits for it. */
async function sampled(run: ExtensionRun, url: string): Promise<OpenedExtension> {
  type Handler = (request: { readonly params: object }) => Promise<unknown>
  const handlers = new Map<string, Handler>()
  const client = { setRequestHandler: (method: string, handler: Handler) => void handlers.set(method, handler) }
  // As much of a client as the handlers need.
  serverRequests(run, "scene", { url, allowSampling: true }, {}).register(client as never)
  const messages = [{ role: "user", content: { type: "text", text: "Hi" } }]
  await handlers.get("sampling/createMessage")?.({ params: { maxTokens: 50, messages } })
  return {}
}

/** Requests of this process. */
export const requests: Readonly<Record<string, Outward>> = {
  ...Object.fromEntries(
    Object.entries(models).map(([provider, model]): [string, Outward] => [
      `a request to the model (${provider})`,
      { provider, config: ({ url }) => ({ model: model(url) }) },
    ]),
  ),
  "a request to the model over the host's own fetch": {
    config: ({ url }) => ({ model: models.anthropic(url), fetch: (...given) => fetch(...given) }),
  },
  "a request of Pi to its model": {
    backend: "pi",
    config: ({ url }) => ({ backend: pi({ load: async () => piModules(url) }), model: "openai:gpt-5.5" }),
  },
  ...Object.fromEntries(
    Object.entries(engines).map(([engine, open]): [string, Outward] => [
      `WebSearch (${engine})`,
      {
        tool: "WebSearch",
        engine,
        config: (server) => ({
          model: asking(calls("WebSearch", { query: "q" })),
          tools: [webSearchTool({ engine: open(server.url) })],
          env: web(server),
        }),
      },
    ]),
  ),
  WebFetch: {
    tool: "WebFetch",
    config: (server) => ({
      model: asking(calls("WebFetch", { url: server.url })),
      tools: [webFetchTool()],
      env: web(server),
    }),
  },
  ApiCall: apiRow({}),
  "ApiCall over the host's own fetch": apiRow({ fetch }),
  "a document of the knowledge that is on the web": {
    tool: "ReadKnowledge",
    config: (server) => ({
      model: asking(calls("ReadKnowledge", { ref: "ext:a" })),
      env: web(server),
      extensions: [knowledge({ external: [{ name: "a", description: "d", url: server.url }] })],
    }),
  },
  "a skill that is on the web": {
    tool: "SkillPage",
    config: (server) => ({
      model: asking(calls("SkillPage", { skill: "a" })),
      env: web(server),
      extensions: [skills({ skills: [{ name: "a", description: "d", url: server.url }] })],
    }),
  },
  "an agent's request to its model": {
    tool: "Agent",
    config: ({ url }) => ({
      model: asking(calls("Agent", { description: "Help", agent: "helper", prompt: "Help." })),
      agents: { types: { helper: { description: "Helps.", system: "Help.", model: models.anthropic(url) } } },
    }),
  },
  "the summary of a conversation": {
    config: ({ url }) => ({
      model: countingModel({ window: 8_000, turn: (_, number) => [lookCall("Look", { number })] }).model,
      tools: [
        defineTool({
          name: "Look",
          description: "Looks.",
          inputSchema: { type: "object" },
          run: () => "alpha beta gamma ".repeat(400),
        }),
      ],
      compaction: { model: models.anthropic(url) },
    }),
  },
  "a sample for an MCP server": {
    config: ({ url }) => ({
      model: models.anthropic(url),
      extensions: [{ name: "sampled", open: (run) => sampled(run, url) }],
    }),
  },
  "an MCP server that is connected to": mcpRow("initialize", "never asked"),
  "an MCP server over SSE that is connected to": {
    config: ({ url }) => ({
      model: asking("never asked"),
      mcpServers: { scene: { type: "sse", url, timeoutMs: NEVER_MS } },
    }),
  },
  "the authorization server of an MCP server": tokenRow("/.well-known/oauth-authorization-server"),
  "the token of an MCP server": tokenRow("/token"),
  "the tools of an MCP server": mcpRow("tools/list", "never asked"),
  "a tool of an MCP server": mcpRow("tools/call", calls("mcp__scene__act")),
  "the resources of an MCP server": mcpRow("resources/list", calls("ListMcpResources"), { tool: "ListMcpResources" }),
  "the templates of an MCP server": mcpRow("resources/templates/list", calls("ListMcpResources")),
  "a resource of an MCP server": mcpRow(
    "resources/read",
    calls("ReadMcpResource", { server: "scene", uri: "note://one" }),
    { tool: "ReadMcpResource" },
  ),
  "a tool of an MCP server through CallTool": {
    tool: "CallTool",
    answers: mcpExcept("tools/call", ["act", ...Array.from({ length: 40 }, (_, number) => `other${number}`)]),
    config: ({ url }) => ({
      model: asking(calls("CallTool", { name: "mcp__scene__act" })),
      extensions: [mcp({ servers: { scene: { url, timeoutMs: NEVER_MS } } })],
    }),
  },
  "a policy service that decides": policyRow("pre-tool"),
  "a policy service that scans": policyRow("post-tool"),
  "the token of a policy service": policyRow("token", { clientId: "client", clientSecret: "secret" }),
}
