import type { Tool } from "../contract/tool.ts"
import { editTool, multiEditTool } from "./edit/edit.ts"
import { writeTool } from "./edit/write.ts"
import { globTool } from "./find/glob-tool.ts"
import { grepTool } from "./find/grep.ts"
import { listTool } from "./find/list.ts"
import { applyPatchTool } from "./patch/apply-patch.ts"
import { readTool } from "./read/read.ts"

export { askUserTool } from "./ask-user.ts"
export { type BashOptions, bashTool } from "./bash.ts"
export { notebookEditTool } from "./edit/notebook-edit.ts"
export { type CapabilityStubOptions, capabilityStub } from "./kernel/capability-stub.ts"
export {
  createDispatcher,
  type DispatchCall,
  type Dispatcher,
  type DispatcherOptions,
  type KeepWhole,
  type Redact,
} from "./kernel/dispatch.ts"
export { createToolContext, type ToolContextOptions } from "./kernel/tool-context.ts"
export { memoryFiles } from "./memory-files.ts"
export { sleepTool } from "./sleep.ts"
export { type TaskToolsOptions, taskTools } from "./tasks.ts"
export { toolSearchTool } from "./tool-search.ts"
export { type BraveOptions, brave } from "./web/engines/brave.ts"
export { type DuckDuckGoOptions, duckDuckGo } from "./web/engines/duckduckgo.ts"
export type { SearchEngine, SearchOptions, SearchResult } from "./web/engines/engine.ts"
export { type SearxngOptions, searxng } from "./web/engines/searxng.ts"
export { type TavilyOptions, tavily } from "./web/engines/tavily.ts"
export { webFetchTool } from "./web/web-fetch.ts"
export { type WebSearchOptions, webSearchTool } from "./web/web-search.ts"
export { applyPatchTool, editTool, globTool, grepTool, listTool, multiEditTool, readTool, writeTool }

/** The tools for the environment's file system. */
export function fileTools(): readonly Tool[] {
  return [...readTools(), writeTool(), editTool(), multiEditTool(), applyPatchTool()]
}

/** The read-only ones among them. */
export function readTools(): readonly Tool[] {
  return [readTool(), listTool(), globTool(), grepTool()]
}
