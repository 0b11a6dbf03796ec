import type { PolicyCall, Rules } from "../../contract/policy.ts"
import { appliesTo, type CompiledRule, isForTool } from "./compile-rule.ts"
import type { DecisionContext } from "./decide-call.ts"
import { type PathSpellings, readingsOf, spell } from "./path-pattern.ts"
import { pathsIn, writers } from "./tool-shapes.ts"

/**
 * Paths that a rule refuses to Read must not appear in what another tool finds below a folder, or reads as it searches.
 * An `ask` rule hides as well, unless it applies to the call itself: then the person has been asked.
 */
export function hiddenPathsFrom({ rulesOf, findPaths }: DecisionContext): Rules["hiddenFrom"] {
  return async (call) => {
    // The rules decide these by the path of the call, and what they write is not shown.
    if (call.tool === "Read" || writers.includes(call.tool)) return undefined
    const { hiding } = rulesOf(call.tool)
    if (hiding.length === 0) return undefined
    const mayAsk = hiding.some(({ verdict }) => verdict === "ask")
    const { paths, bases } = await findPaths(mayAsk ? await pathsIn(call.tool, call.args) : [], call)
    const wasAsked = (rule: CompiledRule) =>
      rule.verdict === "ask" && isForTool(rule, call.tool) && paths.some((path) => refuses(rule, call, path))
    const active = hiding.filter((rule) => !wasAsked(rule))
    if (active.length === 0) return undefined
    return (path) => {
      const spelled = spell(path, readingsOf(path, bases), [], bases)
      return active.some((rule) => refuses(rule, call, spelled))
    }
  }
}

function refuses(rule: CompiledRule, call: PolicyCall, path: PathSpellings): boolean {
  const facts = { paths: [path], urls: [], command: undefined }
  return [call.tool, "Read"].some((tool) => appliesTo(rule, { ...facts, call: { ...call, tool } }))
}
