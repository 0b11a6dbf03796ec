import type { PolicyCall, Rules } from "../../contract/policy.ts"
import { appliesTo, type CompiledRule, isForTool } from "./compile-rule.ts"
import type { FindPaths } from "./find-paths.ts"
import { type PathSpellings, spell } from "./path-pattern.ts"
import { pathsIn, readers } from "./tool-shapes.ts"

/**
 * Paths that a rule refuses to a reader must not appear in what the search tools find below a folder. An `ask` rule
 * hides as well, unless it applies to the call itself: then the person has been asked.
 */
export function hiddenPathsFrom(rules: readonly CompiledRule[], findPaths: FindPaths): Rules["hiddenFrom"] {
  const hiding = rules.filter(
    (rule) => rule.verdict !== "allow" && rule.usesPath && readers.some((reader) => isForTool(rule, reader)),
  )
  if (hiding.length === 0) return async () => undefined
  return async (call) => {
    const { paths, bases } = await findPaths(await pathsIn(call.tool, call.args), call)
    const wasAsked = (rule: CompiledRule) =>
      rule.verdict === "ask" && isForTool(rule, call.tool) && paths.some((path) => refuses(rule, call, path))
    const active = hiding.filter((rule) => !wasAsked(rule))
    if (active.length === 0) return undefined
    return (path) => {
      const spelled = spell(path, undefined, bases)
      return active.some((rule) => refuses(rule, call, spelled))
    }
  }
}

/** Compared as if a reader were called with the path. */
function refuses(rule: CompiledRule, call: PolicyCall, path: PathSpellings): boolean {
  return readers.some(
    (tool) =>
      isForTool(rule, tool) &&
      appliesTo(rule, { call: { ...call, tool }, paths: [path], urls: [], command: undefined }),
  )
}
