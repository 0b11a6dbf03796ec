import type { PolicyDocument } from "../../contract/policy.ts"
import { presets } from "./presets.ts"

/** The part of a document that can only restrict, and the settings that were left out. */
export function restrictingPart(document: PolicyDocument): {
  readonly document: PolicyDocument
  readonly leftOut: readonly string[]
} {
  const leftOut: string[] = []
  const { rules = [], output, tiers = {}, services, tests: _, ...rest } = document
  const base = rest.extends === undefined || !Object.hasOwn(presets, rest.extends) ? undefined : presets[rest.extends]
  const kept = [...(base?.rules ?? []), ...rules].filter((rule) => rule.allow === undefined && rule.set === undefined)
  for (const [index, rule] of rules.entries()) if (!kept.includes(rule)) leftOut.push(`rules[${index}]`)
  const given = [document.default, base?.default]
  const fallback = given.includes("deny") ? "deny" : given.includes("ask") ? "ask" : undefined
  if (document.default === "allow") leftOut.push("default")
  const unparsed = [document.unparsed, base?.unparsed].includes("deny") ? "deny" : undefined
  if (document.unparsed === "sandboxed") leftOut.push("unparsed")
  // A lower tier would ask less.
  const high = Object.entries(tiers).filter(([, risk]) => risk === "high")
  for (const [tool, risk] of Object.entries(tiers)) if (risk !== "high") leftOut.push(`tiers[${JSON.stringify(tool)}]`)
  // Calls would be sent to an address that the user has not chosen.
  if (services !== undefined) leftOut.push("services")
  return {
    leftOut,
    document: {
      rules: kept,
      ...(fallback !== undefined && { default: fallback }),
      ...(unparsed !== undefined && { unparsed }),
      ...(high.length > 0 && { tiers: Object.fromEntries(high) }),
      ...(output !== undefined && { output }),
    },
  }
}
