/** `longhaul/tools` on Node: the same tools as everywhere, and what makes them work here without any loop. */
export * from "../../tools/index.ts"
export { type AgentTools, type AgentToolsOptions, type CallOptions, createAgentTools } from "./agent-tools.ts"
export { type NodeFilesOptions, nodeFiles } from "./files/files.ts"
export { type NodeFetchOptions, nodeFetch } from "./http/guarded-fetch.ts"
export { type NodeShellOptions, nodeShell } from "./shell/shell.ts"
