import type { Tool } from "../contract/tool.ts"
import { grepTool } from "./grep.ts"
import { listTool } from "./list.ts"
import { readTool } from "./read.ts"
import { writeTool } from "./write.ts"

export { createDispatcher, type DispatchCall, type Dispatcher, type DispatcherOptions } from "./dispatch.ts"
export { memoryFiles } from "./memory-files.ts"
export { grepTool, listTool, readTool, writeTool }

/** The tools over the environment's file system. */
export function fileTools(): readonly Tool[] {
  return [readTool(), listTool(), grepTool(), writeTool()]
}
