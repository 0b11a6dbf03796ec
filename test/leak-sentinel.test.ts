import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import type { Environment, FetchedBody } from "../src/contract/env.ts"
import type { JsonObject } from "../src/contract/json.ts"
import { type Tool, ToolError } from "../src/contract/tool.ts"
import { agentsMd } from "../src/extensions/agents-md/index.ts"
import { api } from "../src/extensions/api/index.ts"
import { knowledge } from "../src/extensions/knowledge/index.ts"
import { mcp } from "../src/extensions/mcp/index.ts"
import { memory } from "../src/extensions/memory/index.ts"
import { skills } from "../src/extensions/skills/index.ts"
import { createRuntime, defineTool, type NodeRuntimeConfig } from "../src/hosts/node/index.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../src/testing/index.ts"
import { bashTool, fileTools, memoryFiles, notebookEditTool, webFetchTool, webSearchTool } from "../src/tools/index.ts"
import { addDocuments } from "./knowledge/place.ts"
import { declared, partsIn, tokens } from "./secrets/sentinels.ts"
import { toolSources } from "./support/all-tools.ts"

/** One kind of text that reaches a run from outside, and the place at which it is cut or entered. */
interface Kind {
  /** The tools whose results it has. */
  readonly tools?: readonly string[]
  /** The character at which it is cut, or from which it is shown. 0: it is not cut. */
  readonly place: number
  /** How far before that place it may be cut. Default 2. */
  readonly reach?: number
  /** The run that gets a text with the secret at that place. */
  run(text: string, place: number): Promise<RunWith> | RunWith
}

interface RunWith extends NodeRuntimeConfig {
  readonly calls?: readonly Called[]
}

/** A call of the model. `seen`: what it has seen of earlier results. */
type Called = readonly [name: string, args: JsonObject | ((seen: string) => JsonObject)]

const utf8 = (text: string) => new TextEncoder().encode(text)
const files = (contents: Readonly<Record<string, string>>): Environment => ({
  files: memoryFiles(Object.fromEntries(Object.entries(contents).map(([name, text]) => [name, utf8(text)]))),
})
const inFile = (text: string, ...calls: readonly Called[]): RunWith => ({
  workspace: "/",
  env: files({ f: text }),
  tools: [...fileTools(), notebookEditTool()],
  calls,
})
const entities = (text: string) => text.replace(/\w/g, (character) => `&#${character.charCodeAt(0)};`)

function page(body: string, args: JsonObject = {}, contentType = "text/plain"): RunWith {
  const answer: FetchedBody = {
    url: "https://a.example/",
    status: 200,
    contentType,
    bytes: utf8(body),
    truncated: false,
  }
  const get = async () => answer
  return {
    tools: [webFetchTool()],
    env: { fetch: { get, post: get } },
    calls: [["WebFetch", { url: "https://a.example/", ...args }]],
  }
}

function found(title: string, snippet: string): RunWith {
  const engine = { name: "test", search: async () => [{ title, url: "https://a.example/", snippet }] }
  const get = async () => Promise.reject(new Error("unused"))
  return {
    tools: [webSearchTool({ engine })],
    env: { fetch: { get, post: get } },
    calls: [["WebSearch", { query: "q" }]],
  }
}

function service(status: number, body: string, maxResponseBytes: number): RunWith {
  const fetch = async () => new Response(body, { status })
  return {
    extensions: [api({ services: { s: { baseUrl: "https://s.example", maxResponseBytes } }, fetch })],
    calls: [["ApiCall", { service: "s", method: "GET", path: "/" }]],
  }
}

async function document(path: string, text: string, calls: readonly Called[], options = {}): Promise<RunWith> {
  const store = memoryStore()
  await addDocuments(store, { [`b/${path}`]: text })
  return { store, extensions: [knowledge(options)], calls }
}

/** An MCP server with these results by method. */
function server(results: Readonly<Record<string, object>>, ...calls: readonly Called[]): RunWith {
  const all: Readonly<Record<string, object>> = {
    initialize: {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {}, resources: {} },
      serverInfo: { name: "s", version: "1" },
    },
    "tools/list": { tools: [{ name: "act", inputSchema: { type: "object" } }] },
    "resources/list": { resources: [] },
    "resources/templates/list": { resourceTemplates: [] },
  }
  const fetch = async (_: unknown, init: RequestInit = {}) => {
    const { id, method } = typeof init.body === "string" ? JSON.parse(init.body) : {}
    if (method === "server/discover") return new Response(null, { status: 400 })
    if (id === undefined) return new Response(null, { status: method === undefined ? 405 : 202 })
    const result = { ...all[method], ...results[method] }
    return Response.json({ jsonrpc: "2.0", id, result })
  }
  return { extensions: [mcp({ servers: { s: { url: "https://s.example" } }, fetch })], calls }
}

function own(run: Tool["run"], maxOutputBytes?: number): RunWith {
  const tool = defineTool({
    name: "own",
    description: "own",
    inputSchema: { type: "object" },
    run,
    ...(maxOutputBytes && { maxOutputBytes }),
  })
  return { tools: [tool], calls: [["own", {}]] }
}

function command(text: string, ...lines: readonly string[]): RunWith {
  const workspace = mkdtempSync(join(tmpdir(), "longhaul-leak-"))
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true }))
  writeFileSync(join(workspace, "f"), text)
  return {
    workspace,
    tools: [bashTool({ maxOutputBytes: 1000 })],
    policy: { mode: "auto" },
    calls: lines.map((line) => ["Bash", { command: line }]),
  }
}

const notebook = (text: string) =>
  JSON.stringify({
    cells: [{ cell_type: "code", source: "", outputs: [{ output_type: "stream", text }], metadata: {} }],
    metadata: {},
    nbformat: 4,
    nbformat_minor: 5,
  })

const kinds: Readonly<Record<string, Kind>> = {
  "a file's long line": { tools: ["Read"], place: 2000, run: (text) => inFile(text, ["Read", { path: "f" }]) },
  "the output of a notebook's cell": {
    tools: ["Read"],
    place: 4000,
    run: (text) => ({
      ...inFile("", ["Read", { path: "n.ipynb" }]),
      env: files({ "n.ipynb": notebook(text.replaceAll(" ", "\n")) }),
    }),
  },
  "a long line that matches": { tools: ["Grep"], place: 500, run: (text) => inFile(text, ["Grep", { pattern: "x" }]) },
  "the name of a file": {
    tools: ["List", "Glob", "Grep", "Read"],
    place: 20,
    run: (text) => {
      const name = text.replaceAll(" ", ",")
      return {
        ...inFile("", ["List", {}], ["Glob", { pattern: "**/*" }], ["Grep", { pattern: "e", mode: "files" }]),
        env: files({ [name]: "e" }),
      }
    },
  },
  "the closest line of a file": {
    tools: ["Edit", "MultiEdit", "ApplyPatch"],
    place: 200,
    run: (text) => {
      const missing = `${text.slice(0, 150)}none`
      const patch = `*** Begin Patch\n*** Update File: f\n@@\n-${text.slice(0, 70)}none\n+b\n*** End Patch`
      return inFile(
        text,
        ["Edit", { path: "f", oldText: missing, newText: "" }],
        ["MultiEdit", { path: "f", edits: [{ oldText: missing, newText: "" }] }],
        ["ApplyPatch", { patch }],
      )
    },
  },
  "what a command writes, and its errors": {
    tools: ["Bash"],
    place: 500,
    run: (text) => command(text, "cat f f", "cat f f >&2; exit 3"),
  },
  "the end of a part of a page": {
    tools: ["WebFetch"],
    place: 1000,
    run: (text, place) => page(text, { maxCharacters: place }),
  },
  "the start of a part of a page": { tools: ["WebFetch"], place: 1000, run: (text, offset) => page(text, { offset }) },
  "the title of a page": {
    tools: ["WebFetch"],
    place: 200,
    run: (text) => page(`<title>${text}</title>`, {}, "text/html"),
  },
  "the title of a page in entities": {
    place: 200,
    run: (text) => page(`<title>${entities(text)}</title>`, {}, "text/html"),
  },
  "the text of an image of a page in entities": {
    place: 200,
    run: (text) => page(`<p>a <img alt="${entities(text)}"> b</p>`, {}, "text/html"),
  },
  "the title of a search result": { tools: ["WebSearch"], place: 200, run: (text) => found(text, "") },
  "the excerpt of a search result": { tools: ["WebSearch"], place: 500, run: (text) => found("", text) },
  "a response of a service": { tools: ["ApiCall"], place: 1000, run: (text, place) => service(200, text, place) },
  "a long failure of a service": { tools: ["ApiCall"], place: 8000, run: (text) => service(400, text, 100_000) },
  "the end of a part of a document": {
    tools: ["ReadKnowledge"],
    place: 300,
    run: (text, place) => document("a.md", text, [["ReadKnowledge", { ref: "b/a.md" }]], { maxReadBytes: place }),
  },
  "the start of a part of a document": {
    tools: ["ReadKnowledge"],
    place: 300,
    run: (text, offset) => document("a.md", text, [["ReadKnowledge", { ref: "b/a.md", offset }]]),
  },
  "a section of a document without headings": {
    tools: ["ReadKnowledge", "SearchKnowledge"],
    place: 4000,
    run: (text) => {
      const refs = ["b/a.txt#part-1", "b/a.txt#part-2"].map((ref): Called => ["ReadKnowledge", { ref }])
      return document("a.txt", text.padEnd(9000, "z "), [...refs, ["SearchKnowledge", { query: "z" }]])
    },
  },
  "the heading of a section": {
    tools: ["SearchKnowledge"],
    place: 500,
    run: (text) => document("a.md", `# ${text}\n\nwords`, [["SearchKnowledge", { query: "words" }]]),
  },
  "the excerpt of a section": {
    tools: ["SearchKnowledge"],
    place: 300,
    run: (text) =>
      document("a.md", `# A\n\n${text} words`, [
        ["SearchKnowledge", { query: "words" }],
        ["SearchKnowledge", { query: "x" }],
      ]),
  },
  "a result of an MCP server": {
    place: 0,
    run: (text) =>
      server({ "tools/call": { content: [{ type: "text", text }], structuredContent: { text } } }, ["mcp__s__act", {}]),
  },
  "structured content of an MCP server": {
    place: 0,
    run: (text) =>
      server({ "tools/call": { content: [], structuredContent: { deep: [{ [text]: text }] } } }, ["mcp__s__act", {}]),
  },
  "an error of an MCP server": {
    place: 0,
    run: (text) => server({ "tools/call": { content: [{ type: "text", text }], isError: true } }, ["mcp__s__act", {}]),
  },
  "a resource of an MCP server": {
    tools: ["ReadMcpResource", "ListMcpResources"],
    place: 0,
    run: (text) =>
      server(
        {
          "resources/read": {
            contents: [
              { uri: "u://a", text },
              { uri: `u://${text}`, mimeType: "text/plain", blob: btoa(text) },
            ],
          },
          "resources/list": { resources: [{ uri: "u://a", name: text, description: text }] },
        },
        ["ReadMcpResource", { server: "s", uri: "u://a" }],
        ["ListMcpResources", {}],
      ),
  },
  "the instructions of an MCP server": {
    place: 4000,
    run: (text) => server({ initialize: { instructions: text } }),
  },
  "the result of a tool that is cut": { place: 1000, reach: 80, run: (text, place) => own(() => text, place) },
  "JSON of a tool that is cut": {
    place: 1000,
    reach: 80,
    run: (text, place) => own(() => ({ deep: [text, { [text]: 1 }] }), place),
  },
  "the error of a tool that is cut": {
    place: 500,
    run: (text) =>
      own(() => {
        // Halved until it fits.
        throw new ToolError("io", text.padEnd(2500, "z "))
      }, 1000),
  },
  "an exception of a tool": {
    place: 2000,
    run: (text) =>
      own(() => {
        throw new Error(text, { cause: new Error(text) })
      }),
  },
  "the progress of a tool, in pieces": {
    place: 30,
    run: (text, place) =>
      own((_, { progress }) => {
        progress(text.slice(0, place))
        progress(text.slice(place))
        return "ok"
      }),
  },
  "a stored result, from an offset": {
    tools: ["FetchData"],
    place: 3000,
    run: (text, offset) => ({
      ...own(() => text.padEnd(20_000, "z ")),
      compaction: { offload: { thresholdBytes: 1000, maxPreviewChars: 200 } },
      calls: [
        ["own", {}],
        ["FetchData", (seen) => ({ ref: refIn(seen), offset })],
        ["FetchData", (seen) => ({ ref: refIn(seen), limit: offset })],
        ["FetchData", (seen) => ({ ref: refIn(seen), find: "x x" })],
      ],
    }),
  },
  "the answer of an agent": {
    tools: ["Agent"],
    place: 32 * 1024,
    run: (text) => ({
      agents: { types: { helper: { description: "Helps.", system: "Help.", model: scriptedModel([text]) } } },
      calls: [["Agent", { description: "Help", agent: "helper", prompt: "Help." }]],
    }),
  },
  "what is remembered": {
    tools: ["Recall", "Memorize"],
    place: 0,
    async run(text) {
      const store = memoryStore()
      const place = store.folder("workspaces/default/.longhaul/memory")
      await place.replace("rules.md", utf8(text))
      await place.replace("profile.md", utf8(text))
      return {
        store,
        extensions: [memory({ mode: "read-write" })],
        calls: [
          ["Recall", { query: "x" }],
          ["Memorize", { text }],
        ],
      }
    },
  },
  "the description of a skill among many": {
    place: 64,
    run: (text) => ({
      extensions: [
        skills({
          skills: Array.from({ length: 25 }, (_, index) => ({
            name: `s${index}`,
            description: text.slice(0, 1000),
            body: "b",
          })),
        }),
      ],
    }),
  },
  "a skill": {
    tools: ["SkillPage"],
    place: 0,
    run: (text) => ({
      extensions: [skills({ skills: [{ name: "s", description: "d", body: text, pages: { "p.md": text } }] })],
      calls: [
        ["SkillPage", { skill: "s" }],
        ["SkillPage", { skill: "s", page: "p.md" }],
      ],
    }),
  },
  "an AGENTS.md that is cut": {
    place: 1000,
    run: (text, maxBytes) => ({
      workspace: "/",
      env: files({ "AGENTS.md": text }),
      extensions: [agentsMd({ maxBytes })],
    }),
  },
}

const refIn = (seen: string) =>
  /"ref\\*":\s*\\*"([^"\\]+)/.exec(seen)?.[1] ?? /ref[=: ]+\\*"?([\w./-]+)/.exec(seen)?.[1] ?? "?"

/** Everything that the model, listeners, the host and the journal get of a run. */
async function seenOf({
  calls = [],
  ...config
}: RunWith): Promise<{ readonly seen: string; readonly refused: readonly string[] }> {
  const seen: unknown[] = []
  const step =
    ([name, args]: Called): ScriptedStep =>
    (messages, setup) => {
      seen.push(setup)
      return {
        parts: [{ toolCall: { name, args: typeof args === "function" ? args(JSON.stringify(messages)) : args } }],
      }
    }
  const model = scriptedModel([
    ...calls.map(step),
    (_, setup) => {
      seen.push(setup)
      return "Done."
    },
  ])
  const log = (...logged: readonly unknown[]) => seen.push(logged)
  const runtime = createRuntime({
    store: memoryStore(),
    model,
    tools: [],
    secrets: { SENTINEL: secrets.declared },
    logger: { debug: log, info: log, warn: log, error: log },
    hooks: {
      toolError: (exception) => seen.push(exception),
      postToolCall: (call, outcome) => void seen.push(call, outcome),
    },
    ...config,
  })
  const onEvent = (event: unknown) => seen.push(event)
  const result = await runtime.run({ task: "Go x.", runId: "r", onEvent, onProgress: onEvent })
  for await (const record of runtime.events("r")) seen.push(record)
  await runtime.close()
  expect([result.status, result.toolCallCount]).toEqual(["done", calls.length])
  seen.push(result, model.calls)
  const refused = result.toolCalls.flatMap(({ name, result: output }) =>
    /Invalid arguments|does not exist/.test(JSON.stringify(output))
      ? [`${name}: ${JSON.stringify(output).slice(0, 200)}`]
      : [],
  )
  return { seen: JSON.stringify(seen), refused }
}

const secrets = { declared: declared.PLAIN?.value ?? "", "known by its format only": tokens[0]?.value ?? "" }

test.each(
  Object.entries(kinds).flatMap(([name, kind]) =>
    Object.entries(secrets).map(([how, secret]) => [name, how, secret, kind] as const),
  ),
)(
  "%s shows no part of a secret (%s), wherever it is cut or begins",
  async (_, how, secret, { place, reach = 2, run }) => {
    // Half a token is recognised by nobody, so that it matters less where exactly it is cut.
    const stride = process.env.LONGHAUL_EVERY_CUT ? 1 : how === "declared" ? 4 : 11
    const last = place === 0 ? 0 : secret.length + reach
    const positions = Array.from({ length: last + 1 }, (_, at) => at).filter((at) => at % stride === 0 || at === last)
    let masked = 0
    for (const inside of positions) {
      const text = `${"x ".repeat(place).slice(place + inside)}${secret} ${"y ".repeat(place)}`
      const { seen, refused } = await seenOf(await run(text, place))
      expect([inside, partsIn(seen, secret), refused]).toEqual([inside, [], []])
      if (seen.includes("{{secret:")) masked++
    }
    // Otherwise the text has reached nobody.
    expect(masked).toBeGreaterThan(0)
  },
)

/** Tools whose results have no text from outside the conversation, or that have rows elsewhere. */
const without: Readonly<Record<string, string>> = {
  Write: "says only what it wrote",
  NotebookEdit: "says only what it changed",
  AskUser: "has the words of a person, which are masked as input: secrets.test.ts",
  TaskCreate: "has the words of the model",
  TaskGet: "has the words of the model",
  TaskList: "has the words of the model",
  TaskUpdate: "has the words of the model",
  Sleep: "has no text",
  ToolSearch: "has the descriptions of tools, which are masked as definitions: secrets.test.ts",
  SendMessage: "says only that it was sent",
  CallTool: "passes on the result of another tool, which has its own row",
}

test("every tool has a row, or a reason why it needs none", async () => {
  const covered = new Set(Object.values(kinds).flatMap(({ tools = [] }) => tools))
  const names = (await toolSources()).flatMap(([, tools]) => tools.map(({ name }) => name))
  expect(names.filter((name) => !covered.has(name) && without[name] === undefined)).toEqual([])
  expect(Object.keys(without).filter((name) => covered.has(name) || !names.includes(name))).toEqual([])
})
