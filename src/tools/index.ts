import type { Tool } from "../contract/tool.ts"
import { editTool, multiEditTool } from "./edit.ts"
import { globTool } from "./glob-tool.ts"
import { grepTool } from "./grep.ts"
import { listTool } from "./list.ts"
import { readTool } from "./read.ts"
import { writeTool } from "./write.ts"

export { createDispatcher, type DispatchCall, type Dispatcher, type DispatcherOptions } from "./dispatch.ts"
export { memoryFiles } from "./memory-files.ts"
export { editTool, globTool, grepTool, listTool, multiEditTool, readTool, writeTool }

/** The tools over the environment's file system. */
export function fileTools(): readonly Tool[] {
  return [...readTools(), writeTool(), editTool(), multiEditTool()]
}

/** Those of them that change nothing. */
export function readTools(): readonly Tool[] {
  return [readTool(), listTool(), globTool(), grepTool()]
}
