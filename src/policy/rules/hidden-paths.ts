import type { PolicyCall, Rules } from "../../contract/policy.ts"
import { appliesTo, type CompiledRule, isForTool } from "./compile-rule.ts"
import type { FindPaths } from "./find-paths.ts"
import { type PathSpellings, spell } from "./path-pattern.ts"
import { pathsIn, writers } from "./tool-shapes.ts"

/**
 * Paths that a rule refuses to Read must not appear in what another tool finds below a folder, or reads as it searches.
 * An `ask` rule hides as well, unless it applies to the call itself: then the person has been asked.
 */
export function hiddenPathsFrom(rules: readonly CompiledRule[], findPaths: FindPaths): Rules["hiddenFrom"] {
  const refusing = rules.filter(refusesPaths)
  return async (call) => {
    // The rules decide these by the path of the call, and what they write is not shown.
    if (call.tool === "Read" || writers.includes(call.tool)) return undefined
    const hiding = refusing.filter((rule) => isForTool(rule, call.tool) || isForTool(rule, "Read"))
    if (hiding.length === 0) return undefined
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

export function refusesPaths({ verdict, usesPath }: CompiledRule): boolean {
  return verdict !== "allow" && usesPath
}

function refuses(rule: CompiledRule, call: PolicyCall, path: PathSpellings): boolean {
  const facts = { paths: [path], urls: [], command: undefined }
  return [call.tool, "Read"].some((tool) => appliesTo(rule, { ...facts, call: { ...call, tool } }))
}
