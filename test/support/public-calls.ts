import { mkdtempSync, rmSync } from "node:fs"
import { Agent } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { native } from "../../src/backends/native/index.ts"
import type { Capabilities } from "../../src/contract/capabilities.ts"
import type { Runtime } from "../../src/contract/runtime.ts"
import type { Store } from "../../src/contract/store.ts"
import { agentsMd } from "../../src/extensions/agents-md/index.ts"
import { openKnowledge } from "../../src/extensions/knowledge/index.ts"
import { nodeTransport } from "../../src/hosts/node/http/http-transport.ts"
import { createMetricsObserver, createRuntime, defineTool } from "../../src/index.ts"
import { PolicyClient, toolPolicy } from "../../src/policy/index.ts"
import { memoryStore } from "../../src/stores/memory.ts"
import { offlineModel, scriptedModel } from "../../src/testing/index.ts"
import { memoryFiles } from "../../src/tools/memory-files.ts"
import { signWebhook } from "../../src/webhooks/index.ts"
import type { Samples } from "./wrong-values.ts"

const folder = mkdtempSync(join(tmpdir(), "longhaul-public-"))
export const removeFolder = () => rmSync(folder, { recursive: true, force: true })

const pay = () => defineTool({ name: "pay", description: "Pays.", inputSchema: { type: "object" }, run: () => "paid" })
const policy = () => toolPolicy({ default: "allow" }, { workspace: "/work" })
const heard = { preTool: policy().preTool, postTool: policy().postTool, send: async () => {} }
const enforce = () => ({ policy: policy(), sessionId: "s" })
const aiSdkModel = {
  specificationVersion: "v3",
  provider: "p",
  modelId: "m",
  supportedUrls: {},
  doGenerate() {},
  doStream() {},
}

/** Values that work, by the name of their type or of the setting. */
export const samples: Samples = {
  Store: memoryStore,
  Model: offlineModel,
  Backend: () => native(),
  Tool: pay,
  Extension: () => agentsMd(),
  Observer: createMetricsObserver,
  AbortSignal: () => new AbortController().signal,
  Transport: () => nodeTransport(),
  Agent: () => new Agent(),
  Uint8Array: () => new Uint8Array([1]),
  Logger: () => ({ warn() {} }),
  BackgroundExecutor: () => ({ run() {} }),
  Files: () => memoryFiles(),
  Headers: () => new Headers(),
  ToolPolicy: policy,
  PolicyRule: () => ({ deny: { tool: "Bash" } }),
  PolicyDocument: () => ({ rules: [] }),
  AgentType: () => ({ description: "Reviews.", system: "You review." }),
  GivenSkill: () => ({ name: "review", description: "Reviews.", body: "Read." }),
  url: () => "https://service.example/docs",
  baseUrl: () => "https://service.example",
  mediaType: () => "image/png",
  data: () => "aGk=",
  tool: () => "Bash",
}

async function webhook() {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const signature = await signWebhook({ id: "1", timestamp, body: "{}" }, ["a secret"])
  const headers = { "webhook-id": "1", "webhook-timestamp": timestamp, "webhook-signature": signature }
  return { headers, body: "{}", secrets: ["a secret"] }
}

async function knowledgeStore(): Promise<Store> {
  const store = memoryStore()
  await store.folder("workspaces/default/knowledge/handbook").create("a.md", new TextEncoder().encode("# A\nText."))
  return store
}

const capabilities = (): Capabilities => native().capabilities
const document = JSON.stringify({
  openapi: "3.0.0",
  info: { title: "Shop", version: "1" },
  servers: [{ url: "https://service.example" }],
  paths: { "/items": { get: { operationId: "items", responses: {} } } },
})
const request = {
  ...{ index: 0, protocol: "anthropic", path: "/", headers: {}, body: {}, model: "m", messages: [], tools: [] },
  ...{ settings: {}, lastToolResults: [], lastUserText: "" },
}

type Call = () => readonly unknown[] | Promise<readonly unknown[]>

/** Arguments that work, where those that follow from the types do not. */
export const validCalls: Readonly<Record<string, Call>> = {
  ". createRuntime": () => [{ model: offlineModel(), store: memoryStore() }],
  "./node createRuntime": () => [{ model: offlineModel(), store: memoryStore() }],
  ". defineTool": () => [{ name: "pay", description: "Pays.", inputSchema: { type: "object" }, run: () => "paid" }],
  "./node fromAiSdk": () => [aiSdkModel, {}],
  "./node createAgentTools": () => [{ root: folder }],
  "./node nodeFiles": () => [{ roots: [folder] }],
  "./node nodeSearch": () => [{ roots: [folder] }],
  "./node nodeShell": () => [{ root: folder }],
  "./node serve": () => [() => new Response("hello"), {}],
  "./node parseModelName": () => ["anthropic:claude"],
  "./node fsStore": () => [join(folder, "store"), {}],
  "./node createOnlyStore": () => [join(folder, "created")],
  "./tools createDispatcher": () => [[pay()], {}],
  "./backends meetsRequirements": () => [capabilities(), ["tools"]],
  "./backends supports": () => [capabilities(), "tools"],
  "./backends parseRuntimeModelReference": () => ["codex/gpt", "sdk"],
  "./backends resolveRuntimeBridge": () => ["codex/gpt", "sdk"],
  "./backends/acp acp": () => [{ name: "gemini" }],
  "./extensions/api api": () => [{ services: { shop: { baseUrl: "https://service.example" } } }],
  "./extensions/api openApiService": () => [document, { name: "shop" }],
  "./extensions/mcp mcp": () => [{ servers: { files: { command: "mcp-files" } } }],
  "./extensions/knowledge openKnowledge": () => [{ store: memoryStore() }],
  "./extensions/knowledge buildKnowledgeIndex": async () => [{ store: await knowledgeStore(), base: "handbook" }],
  "./extensions/knowledge writeKnowledgeIndex": async () => [{ store: await knowledgeStore(), base: "handbook" }],
  "./extensions/knowledge createReadKnowledgeTool": async () => [await openKnowledge({ store: memoryStore() }), {}],
  "./extensions/knowledge createSearchKnowledgeTool": async () => [await openKnowledge({ store: memoryStore() }), {}],
  "./stores/s3 s3Store": () => [{ bucket: "runs", region: "eu-west-1", accessKeyId: "id", secretAccessKey: "key" }],
  "./policy toolPolicy": () => [{ default: "allow" }, { workspace: "/work" }],
  "./policy PolicyClient": () => [{ baseUrl: "https://service.example", apiKey: "key" }],
  "./policy runTool": () => [policy(), { sessionId: "s", toolName: "t", toolInput: {}, execute: () => "done" }],
  "./policy sendPolicyPreflight": () => [heard, {}],
  "./policy serviceOf": () => [new PolicyClient({ baseUrl: "https://service.example", apiKey: "key" })],
  "./policy policyServer": () => [{ rules: { decide() {} }, keys: {}, audit() {} }],
  "./enforce/ai-sdk enforceTools": () => [{ search: { execute() {} } }, enforce()],
  "./enforce/openai-agents enforceTool": () => [{ name: "search", execute() {} }, enforce()],
  "./enforce/openai-agents enforceTools": () => [[{ type: "function", name: "search", invoke() {} }], enforce()],
  "./enforce/google-adk enforceTool": () => [{ name: "search", execute() {} }, enforce()],
  "./enforce/google-adk PolicyPlugin": () => [{ policy: policy() }],
  "./enforce/claude-agent-sdk sendTranscriptStop": () => [heard, { sessionId: "s", transcriptLines: ["{}"] }],
  "./webhooks verifyWebhook": async () => [await webhook()],
  "./testing scriptedModel": () => [["Done."]],
  "./testing renderAnswer": () => ["Done.", request],
  "Runtime run": () => [{ task: "Work." }],
  "Runtime stream": () => [{ task: "Work." }],
  "Runtime start": () => [{ task: "Work." }],
  "Runtime resume": () => [{ runId: "paused", decision: "approve" }],
  "Runtime resumeStream": () => [{ runId: "paused", decision: "approve" }],
  "Runtime resumeAsync": () => [{ runId: "paused", decision: "approve" }],
  "Runtime continue": () => ["ended", "Go on.", {}],
  "Runtime continueStream": () => ["ended", "Go on.", {}],
  "Runtime waitFor": () => ["ended", {}],
  "Runtime fork": () => ["ended", {}],
  "Runtime replay": () => ["ended", {}],
  "Runtime status": () => ["ended", "main"],
  "Runtime webhookDeliveries": () => ["notified", {}],
  "Runtime remove": () => ["absent", {}],
  "Runtime interrupt": () => ["ended", "graceful", {}],
  "Runtime capabilities": () => ["native"],
  "Runtime enforcement": () => ["native"],
  "Runtime retryWebhook": () => ["notified", {}],
  "RunHandle interrupt": () => ["graceful"],
}

/** A runtime with a run that has ended and one that waits for a decision. */
export async function runtimeWithRuns(): Promise<Runtime> {
  const ask = { gateBeforeTool: () => ({ allow: false, reason: "Ask." }) as const }
  const call = { parts: [{ toolCall: { name: "pay", args: {} } }] }
  const model = scriptedModel(Array(50).fill(({ length }: readonly unknown[]) => (length === 1 ? call : "Done.")))
  const post = async () => new Response(null, { status: 500 })
  const settings = { store: memoryStore(), tools: [pay()], fetch: post, webhookAllow: ["127.0.0.1:9"] }
  const runtime = createRuntime({ ...settings, model, hooks: ask })
  await runtime.run({ task: "Pay.", runId: "paused" })
  const ending = runtime.with({ model: scriptedModel(Array(50).fill("Done.")) })
  await ending.run({ task: "Work.", runId: "ended" })
  await ending.start({ task: "Work.", runId: "notified", webhook: { url: "http://127.0.0.1:9/" } })
  await ending.waitFor("notified")
  return runtime
}
