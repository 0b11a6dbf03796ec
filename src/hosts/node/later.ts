/** What most programs never need, loaded together when first needed: what an import costs is files, not bytes. */
export { exchange, resolveBySystem } from "./fetch-exchange.ts"
export { openShell } from "./open-shell.ts"
export { proxiedRoute } from "./proxy.ts"
export { ripgrepSearch } from "./ripgrep-search.ts"
