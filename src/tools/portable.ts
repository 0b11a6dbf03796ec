import { StartupError } from "../contract/error.ts"

export * from "./index.ts"

/** `longhaul/tools` has the same names and types everywhere; these need Node, and report it if missing. */
export const createAgentTools = needsNode("createAgentTools")
export const nodeFetch = needsNode("nodeFetch")
export const nodeFiles = needsNode("nodeFiles")
export const nodeShell = needsNode("nodeShell")

function needsNode(name: string): () => never {
  return () => {
    throw new StartupError(`${name} needs the Node file system and processes, which are not available here.`, {
      fix: "Use createDispatcher with memoryFiles() or your own environment.",
    })
  }
}
