import type { Extension } from "../../src/contract/extension.ts"
import type { Tool } from "../../src/contract/tool.ts"
import { api } from "../../src/extensions/api/index.ts"
import {
  createReadKnowledgeTool,
  createSearchKnowledgeTool,
  openKnowledge,
} from "../../src/extensions/knowledge/index.ts"
import { ServerConnection } from "../../src/extensions/mcp/connection.ts"
import { searchedTools } from "../../src/extensions/mcp/many-tools.ts"
import { resourceTools } from "../../src/extensions/mcp/resources.ts"
import { memory } from "../../src/extensions/memory/index.ts"
import { skills } from "../../src/extensions/skills/index.ts"
import { backendHost } from "../../src/hosts/node/backends/environment.ts"
import { defaultBrand } from "../../src/lib/brand.ts"
import { scopedStore } from "../../src/run/extensions/scoped-store.ts"
import { checkedAgents } from "../../src/settings/options/agents.ts"
import { agentTools } from "../../src/settings/tools/agent-tools.ts"
import { fetchData } from "../../src/settings/tools/fetch-data.ts"
import { memoryStore } from "../../src/stores/memory.ts"
import {
  askUserTool,
  bashTool,
  fileTools,
  notebookEditTool,
  sleepTool,
  taskTools,
  toolSearchTool,
  webFetchTool,
  webSearchTool,
} from "../../src/tools/index.ts"

/** The tools, and what brings them into a run. */
export async function toolSources(): Promise<readonly (readonly [source: string, tools: readonly Tool[]])[]> {
  const library = await openKnowledge({ store: memoryStore() })
  const [, callTool] = searchedTools([])
  return [
    ["`fileTools()`", fileTools()],
    ["`notebookEditTool()`", [notebookEditTool()]],
    ["`bashTool()`", [bashTool()]],
    ["`webFetchTool()`", [webFetchTool()]],
    ["`webSearchTool()`", [webSearchTool()]],
    ["`askUserTool()`", [askUserTool()]],
    ["`taskTools()`", taskTools()],
    ["`sleepTool()`", [sleepTool()]],
    ["`toolSearchTool(tools)`; `mcp()` with many tools", [toolSearchTool([])]],
    ["`agents`", agentTools(checkedAgents({}))],
    ["`mcp()` with many tools", callTool ? [callTool] : []],
    ["`mcp()` with resources", resourceTools([unconnected()])],
    ["`compaction: { offload }`", [fetchData]],
    ["`knowledge()` with a base", [createSearchKnowledgeTool(library)]],
    ["`knowledge()` with a base or an external document", [createReadKnowledgeTool(library)]],
    ["`memory()`", await toolsOf(memory({ mode: "read-write" }))],
    ["`skills()` with a skill", await toolsOf(skills({ skills: [{ name: "a", description: "b", body: "c" }] }))],
    ["`api()`", await toolsOf(api({ services: { a: { baseUrl: "https://a.example" } } }))],
  ]
}

async function toolsOf(extension: Extension): Promise<readonly Tool[]> {
  const host = { ...backendHost({ workspace: "/", variables: () => ({}) }), brand: defaultBrand }
  const { signal } = new AbortController()
  const shared = scopedStore(memoryStore(), "w")
  // Without what these extensions do not use.
  const run = { runId: "r", nodeId: "main", task: "", cwd: "/", env: {}, host, shared, signal, warn() {} } as never
  return (await extension.open(run)).tools ?? []
}

function unconnected(): ServerConnection {
  const host = { ...backendHost({ workspace: "/", variables: () => ({}) }), brand: defaultBrand }
  const { signal } = new AbortController()
  return new ServerConnection({
    name: "s",
    server: { url: "https://s.example" },
    host,
    tenant: "w",
    runId: "r",
    cwd: "/",
    signal,
  })
}
