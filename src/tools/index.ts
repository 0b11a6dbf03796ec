import type { Tool } from "../contract/tool.ts"
import { applyPatchTool } from "./apply-patch.ts"
import { editTool, multiEditTool } from "./edit.ts"
import { globTool } from "./glob-tool.ts"
import { grepTool } from "./grep.ts"
import { listTool } from "./list.ts"
import { readTool } from "./read.ts"
import { writeTool } from "./write.ts"

export { askUserTool } from "./ask-user.ts"
export { type BashOptions, bashTool } from "./bash.ts"
export { type CapabilityStubOptions, capabilityStub } from "./capability-stub.ts"
export {
  createDispatcher,
  type DispatchCall,
  type Dispatcher,
  type DispatcherOptions,
  type KeepWhole,
} from "./dispatch.ts"
export { memoryFiles } from "./memory-files.ts"
export { notebookEditTool } from "./notebook-edit.ts"
export { type BraveOptions, brave } from "./search/brave.ts"
export { type DuckDuckGoOptions, duckDuckGo } from "./search/duckduckgo.ts"
export type { SearchEngine, SearchOptions, SearchResult } from "./search/engine.ts"
export { type SearxngOptions, searxng } from "./search/searxng.ts"
export { type TavilyOptions, tavily } from "./search/tavily.ts"
export { sleepTool } from "./sleep.ts"
export { type TaskToolsOptions, taskTools } from "./tasks.ts"
export { toolSearchTool } from "./tool-search.ts"
export { webFetchTool } from "./web-fetch.ts"
export { type WebSearchOptions, webSearchTool } from "./web-search.ts"
export { applyPatchTool, editTool, globTool, grepTool, listTool, multiEditTool, readTool, writeTool }

/** The tools over the environment's file system. */
export function fileTools(): readonly Tool[] {
  return [...readTools(), writeTool(), editTool(), multiEditTool(), applyPatchTool()]
}

/** Those of them that change nothing. */
export function readTools(): readonly Tool[] {
  return [readTool(), listTool(), globTool(), grepTool()]
}
