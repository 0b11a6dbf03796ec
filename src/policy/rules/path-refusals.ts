import type { PathRefusals } from "../../contract/env.ts"
import type { PolicyCall, Ruled } from "../../contract/policy.ts"
import { appliesTo, type CompiledRule, factsOf, refusesUse } from "./compile-rule.ts"
import { spell } from "./path-pattern.ts"
import type { DecisionContext } from "./step.ts"

/** False for a rule that asked about the call itself: a person has answered it. */
export function stillRefuses({ asked }: Ruled): (rule: CompiledRule) => boolean {
  return ({ verdict, name }) => !(verdict === "ask" && asked.includes(name))
}

/** For commands, which open files where no guard is asked: a sandbox enforces it. Undefined: no rule refuses paths to them. */
export async function refusalsOf(
  { rulesOf, findPaths }: DecisionContext,
  call: PolicyCall,
  ruled: Ruled,
): Promise<PathRefusals | undefined> {
  const own = rulesOf(call).all.filter(stillRefuses(ruled))
  const refusing = {
    read: own.filter((rule) => refusesUse(rule, "read")),
    write: own.filter((rule) => refusesUse(rule, "write")),
  }
  const patterns = [...refusing.read, ...refusing.write].flatMap(({ condition }) => condition.paths ?? [])
  if (patterns.length === 0) return undefined
  const { bases } = await findPaths([], call)
  const spelled = (real: string) => spell(real, [real], [], bases)
  return {
    elsewhere: patterns.flatMap(({ absoluteStart }) => (absoluteStart === undefined ? [] : [absoluteStart])),
    beginsAt(real, can) {
      const name = real.slice(real.lastIndexOf("/") + 1)
      // Most names are not meant by any pattern, and a workspace has many.
      const candidates = refusing[can].filter(
        ({ condition }) => condition.paths?.some(({ beginsWithName }) => beginsWithName(name)) === true,
      )
      if (candidates.length === 0) return false
      const facts = factsOf(call, { paths: [{ ...spelled(real), can }] })
      return candidates.some((rule) => appliesTo(rule, facts))
    },
    mayBeginBelow(folder) {
      const { spellings } = spelled(folder)
      return patterns.some((pattern) => spellings.some((each) => pattern.mayRefuseBelow(each)))
    },
  }
}
