import type { FileGuard } from "../../contract/env.ts"
import type { PolicyCall, Ruled } from "../../contract/policy.ts"
import { ToolError } from "../../contract/tool.ts"
import { appliesTo, type CompiledRule, factsOf, refusesUse } from "./compile-rule.ts"
import { usesOf } from "./known-tools.ts"
import { spell } from "./path-pattern.ts"
import { stillRefuses } from "./path-refusals.ts"
import { type DecisionContext, stepFor, strictness } from "./step.ts"

/**
 * Checks what a call opens. Paths that a rule refuses to Read are also hidden from other tools, which would show them or quote them
 * in errors. An `ask` rule refuses as well, unless it asked about the call itself.
 */
export async function guardOf(
  { rulesOf, findPaths, default: fallback }: DecisionContext,
  call: PolicyCall,
  ruled: Ruled,
): Promise<FileGuard | undefined> {
  const { all, hiding } = rulesOf(call)
  const own = all.filter(({ usesPath }) => usesPath)
  const refusing = {
    read: hiding.filter((rule) => refusesUse(rule, "read")).filter(stillRefuses(ruled)),
    write: own.filter((rule) => refusesUse(rule, "write")).filter(stillRefuses(ruled)),
  }
  const needsPermission = ruled.verdict === "allow" && fallback !== "allow" && own.some(isPermission)
  if (refusing.read.length + refusing.write.length === 0 && !needsPermission) return undefined
  const { bases } = await findPaths([], call)
  const { fetch: urls = [], below, isKnown } = await usesOf(call)

  const asRead = { ...call, tool: "Read", isShell: false }
  const factsAt = (real: string, can: "read" | "write") =>
    factsOf(call, { urls, isKnown, paths: [{ ...spell(real, [real], [], bases), can }] })
  const isRefused = (real: string, can: "read" | "write") => {
    if (refusing[can].length === 0) return false
    const facts = factsAt(real, can)
    return refusing[can].some(
      (rule) => appliesTo(rule, facts) || (can === "read" && appliesTo(rule, { ...facts, call: asRead })),
    )
  }
  const known = new Map<string, boolean>()
  const isPermitted = (real: string, can: "read" | "write"): boolean => {
    const key = can + real
    const may = known.get(key) ?? (isAllowed(real, can) || (below === true && isBelowPermitted(real, can)))
    known.set(key, may)
    return may
  }
  const isAllowed = (real: string, can: "read" | "write") => {
    const { verdict } = stepFor(call.tool, all, factsAt(real, can), { default: fallback })
    return strictness(verdict) <= strictness("allow")
  }
  /** A permission to search a folder also covers what is below it, and the files above it that say what to ignore. */
  const isBelowPermitted = (real: string, can: "read" | "write") =>
    ignoreFile.test(real) || (real !== "/" && isPermitted(real.slice(0, Math.max(1, real.lastIndexOf("/"))), can))

  return (real, can) => {
    if (isRefused(real, can) || (needsPermission && !isPermitted(real, can))) {
      throw new ToolError(
        "denied",
        can === "read" ? "is hidden by the policy" : "may not be written: the policy refuses it",
      )
    }
  }
}

const ignoreFile = /\/\.(git|rg)?ignore$/

function isPermission({ verdict }: CompiledRule): boolean {
  return verdict === "allow"
}
