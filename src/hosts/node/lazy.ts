/**
 * Code that most programs never need, loaded together on first use: the cost of an import depends on the number of
 * files, not bytes.
 */
export { serveLoopback } from "./backends/loopback.ts"
export { Programs } from "./backends/programs.ts"
export { exchange, resolveBySystem } from "./http/fetch-exchange.ts"
export { proxiedRoute } from "./http/proxy.ts"
export { ripgrepSearch } from "./search/ripgrep-search.ts"
export { openShell } from "./shell/open-shell.ts"
