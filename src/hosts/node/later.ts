/** What most programs never need, loaded together when first needed: what an import costs is files, not bytes. */
export { exchange, resolveBySystem } from "./http/fetch-exchange.ts"
export { proxiedRoute } from "./http/proxy.ts"
export { ripgrepSearch } from "./search/ripgrep-search.ts"
export { openShell } from "./shell/open-shell.ts"
