import { readFileSync, writeFileSync } from "node:fs"
import { expect, test } from "vitest"
import type { Extension } from "../src/contract/extension.ts"
import type { Tool } from "../src/contract/tool.ts"
import { api } from "../src/extensions/api/index.ts"
import { createReadKnowledgeTool, createSearchKnowledgeTool, openKnowledge } from "../src/extensions/knowledge/index.ts"
import { ServerConnection } from "../src/extensions/mcp/connection.ts"
import { searchedTools } from "../src/extensions/mcp/many-tools.ts"
import { resourceTools } from "../src/extensions/mcp/resources.ts"
import { memory } from "../src/extensions/memory/index.ts"
import { skills } from "../src/extensions/skills/index.ts"
import { backendHost } from "../src/hosts/node/backends/environment.ts"
import { defaultBrand } from "../src/lib/brand.ts"
import { agentTools } from "../src/runtime/agents/agent-tools.ts"
import { checkedAgents } from "../src/runtime/agents/settings.ts"
import { scopedStore } from "../src/runtime/extensions/scoped-store.ts"
import { fetchData } from "../src/runtime/offload/fetch-data.ts"
import { memoryStore } from "../src/stores/memory.ts"
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
} from "../src/tools/index.ts"

const file = new URL("../docs/tools.md", import.meta.url)

/** The tools, and what brings them into a run. */
async function sources(): Promise<readonly (readonly [source: string, tools: readonly Tool[]])[]> {
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
    workspaceId: "w",
    runId: "r",
    cwd: "/",
    signal,
  })
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) => Math.max(3, ...[head, ...rows].map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n")
}

/** The built-in tools by the names that were promised. */
const promised =
  "Bash Read Write Edit Glob Grep WebFetch WebSearch Agent SendMessage Sleep ToolSearch Memorize Recall TaskCreate TaskGet " +
  "TaskList TaskUpdate NotebookEdit ListMcpResources ReadMcpResource SkillPage"
const conditional = "ApiCall FetchData SearchKnowledge ReadKnowledge"
const safe =
  "Read Glob Grep WebFetch WebSearch Sleep ToolSearch Recall ListMcpResources ReadMcpResource SkillPage TaskGet TaskList"

test("TOOL-05 TOOL-06 TOOL-07 the 22 built-in tools and the conditional ones exist, and exactly the safe ones have no effect", async () => {
  const tools = (await sources()).flatMap(([, each]) => each)
  const names = tools.map(({ name }) => name)
  expect(promised.split(" ")).toHaveLength(22)
  for (const name of [...promised.split(" "), ...conditional.split(" ")]) expect(names).toContain(name)
  const harmless = new Set(tools.filter(({ effect }) => effect === "none").map(({ name }) => name))
  expect(
    promised
      .split(" ")
      .filter((name) => harmless.has(name))
      .sort(),
  ).toEqual(safe.split(" ").sort())
})

test("docs/tools.md lists every tool with its effect, its risk and where it comes from", async () => {
  const rows = (await sources()).flatMap(([source, tools]) =>
    tools.map(({ name, effect, effectOf, inner, risk, concurrent }) => [
      name,
      effectOf || inner ? "by its arguments" : effect,
      risk,
      concurrent ? "yes" : "no",
      source,
    ]),
  )
  rows.sort(([left = ""], [right = ""]) => (left < right ? -1 : 1))
  const names = rows.map(([name]) => name)
  expect(new Set(names).size).toBe(names.length)
  const text = `# Tools

Generated by \`test/tools-table.test.ts\` from the tools themselves. A run has a tool only if its host brings it in as the last column
says; \`allowedTools\` and \`disabledTools\` narrow the list.

${table(["tool", "effect", "risk", "in parallel", "comes from"], rows)}

Effect \`none\`: the call changes nothing and may be repeated. \`repeatable\`: it may be repeated if no other process can still be
running it. \`once\`: it is never repeated silently. Risk \`high\` needs an approval. A tool that does not run in parallel runs alone.
Tools of MCP servers are \`mcp__<server>__<tool>\`: \`once\`, unless the host trusts
what the server says about them, and of medium risk, or high where the server says so.
`
  if (process.env.LONGHAUL_UPDATE) writeFileSync(file, text)
  expect(readFileSync(file, "utf8"), "run it with LONGHAUL_UPDATE=1").toBe(text)
})
