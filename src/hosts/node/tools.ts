/** `longhaul/tools` on Node: the same tools as everywhere, and the functions to use them without a loop. */
export * from "../../tools/index.ts"
export { type AgentTools, type AgentToolsOptions, type CallOptions, createAgentTools } from "./agent-tools.ts"
export { type NodeFilesOptions, nodeFiles } from "./files/files.ts"
export { type NodeFetchOptions, nodeFetch } from "./http/guarded-fetch.ts"
export { type NodeShellOptions, nodeShell } from "./shell/shell.ts"
