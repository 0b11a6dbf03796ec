import { createRuntime, defineTool } from "longhaul"
import { native } from "longhaul/backends/native"
import { api } from "longhaul/extensions/api"
import { knowledge, writeKnowledgeIndex } from "longhaul/extensions/knowledge"
import { mcp } from "longhaul/extensions/mcp"
import { memory } from "longhaul/extensions/memory"
import { skills } from "longhaul/extensions/skills"
import { anthropic } from "longhaul/providers/anthropic"
import { memoryStore } from "longhaul/stores/memory"
import { offlineModel, scriptedModel } from "longhaul/testing"
import { createDispatcher, fileTools, webFetchTool } from "longhaul/tools"
import { signWebhook, verifyWebhook } from "longhaul/webhooks"

/** A worker as a user would write it: portable entries only. */
export default {
  async fetch(request) {
    const { baseUrl, words, mcpUrl } = await request.json()
    const store = memoryStore()
    const shout = defineTool({
      name: "shout",
      description: "Repeats words loudly, and tells how many there were.",
      inputSchema: {
        type: "object",
        properties: { words: { type: "string" }, mark: { type: "string", default: "!" } },
        required: ["words"],
      },
      run: ({ words, mark }) => `${words.toUpperCase()}${mark} (${words.split(" ").length})`,
    })
    const model = anthropic({ model: "claude-test", apiKey: "key", baseUrl })
    const runtime = createRuntime({ model, store, backend: native(), tools: [shout] })
    const events = []
    const result = await runtime.run({ task: words, onEvent: ({ type }) => events.push(type) })

    const scripted = await createRuntime({ model: scriptedModel(["scripted"]) }).run({ task: "x" })
    const offline = await createRuntime({ model: offlineModel(), tools: fileTools() }).run({ task: "List the files" })
    const tools = createDispatcher([...fileTools(), webFetchTool()])
    const call = async (name, args) => (await tools.callTool(name, args, toolContext())).text
    const searched = await call("Grep", { pattern: "(?i)STRAẞE|\\p{Greek}", path: "a.txt" })
    const fetched = await call("WebFetch", { url: "https://site.example/" })
    const message = { id: "msg_1", timestamp: String(Math.floor(Date.now() / 1000)), body: '{"status":"done"}' }
    const headers = new Headers({
      "webhook-id": message.id,
      "webhook-timestamp": message.timestamp,
      "webhook-signature": await signWebhook(message, ["secret"]),
    })
    const verified = await verifyWebhook({ headers, body: message.body, secrets: "secret" })
    const echo = { parts: [{ toolCall: { name: "mcp__scene__echo", args: { text: "from the worker" } } }] }
    const extensions = [mcp({ servers: { scene: { url: mcpUrl, required: true } } })]
    const drawn = await createRuntime({ model: scriptedModel([echo, "done"]), extensions }).run({ task: "x" })
    return Response.json({
      remembered: await remembered(store),
      looked: await lookedUp(store, mcpUrl),
      verified,
      drawn,
      result,
      events,
      status: await runtime.status(result.runId),
      others: [scripted.text, offline.status],
      searched,
      fetched,
      node: typeof process,
    })
  },
}

/** The results of a run with a skill and a memory. */
/** A web service and a knowledge base, with the worker's own fetch and store. */
async function lookedUp(store, url) {
  const text = "# Tides\n\n## Hochwasser\n\nHigh water is at 04:17.\n"
  await store.folder("workspaces/default/knowledge/harbour").create("tides.md", new TextEncoder().encode(text))
  await writeKnowledgeIndex({ store, base: "harbour" })
  const call = (name, args) => ({ parts: [{ toolCall: { name, args } }] })
  const steps = [
    call("SearchKnowledge", { query: "Hochwasser" }),
    call("ReadKnowledge", { ref: "harbour/tides.md#hochwasser" }),
    call("ApiCall", { service: "scene", method: "GET", path: "/mcp" }),
    "done",
  ]
  const extensions = [knowledge(), api({ services: { scene: { baseUrl: new URL(url).origin } } })]
  const { toolCalls } = await createRuntime({ model: scriptedModel(steps), store, extensions }).run({ task: "x" })
  return toolCalls.map(({ result }) => result)
}

async function remembered(store) {
  const call = (name, args) => ({ parts: [{ toolCall: { name, args } }] })
  const steps = [
    call("SkillPage", { skill: "haul" }),
    call("Memorize", { text: "東京のサーバーは毎晩再起動します。" }),
    call("Recall", { query: "サーバー" }),
    "done",
  ]
  const extensions = [
    skills({ skills: [{ name: "haul", description: "Hauls.", body: "Pull hard." }] }),
    memory({ mode: "read-write" }),
  ]
  const { toolCalls } = await createRuntime({ model: scriptedModel(steps), store, extensions }).run({ task: "x" })
  return toolCalls.map(({ result }) => result)
}

/** One file and one page, whatever is requested. */
function toolContext() {
  const bytes = (text) => new TextEncoder().encode(text)
  const files = {
    display: (path) => path,
    info: async () => ({ kind: "file", size: 20, modifiedMs: 0, version: "" }),
    read: async () => bytes("Straße\nother\nλ\n"),
  }
  const body = { status: 200, contentType: "text/html", bytes: bytes("<p>1 &nGtv; 2 &copy"), truncated: false }
  const fetch = { get: async (url) => ({ ...body, url }) }
  const { signal } = new AbortController()
  return {
    signal,
    idempotencyKey: "",
    workspaceId: "default",
    runScope: "default.run",
    runId: "",
    callId: "",
    cwd: "/",
    env: { files, fetch },
    progress() {},
  }
}
