import type { PolicyDocument, PolicyRule } from "../../contract/policy.ts"

/** The part of a document that can only restrict. Its rules stay in place, so that their names stay the same. */
export interface RestrictingPart {
  readonly settings: Omit<PolicyDocument, "rules" | "services" | "tests" | "extends">
  readonly keeps: (rule: PolicyRule) => boolean
  /** The settings that would permit something. */
  readonly leftOut: readonly string[]
}

export function restrictingPart({ rules = [], output, tiers = {}, ...rest }: PolicyDocument): RestrictingPart {
  const keeps = (rule: PolicyRule) => rule.allow === undefined && rule.set === undefined
  const high = Object.entries(tiers).filter(([, risk]) => risk === "high")
  const leftOut = rules.flatMap((rule, index) => (keeps(rule) ? [] : [`rules[${index}]`]))
  if (rest.default === "allow") leftOut.push("default")
  if (rest.unparsed === "sandboxed") leftOut.push("unparsed")
  // A lower tier would ask less.
  for (const [tool, risk] of Object.entries(tiers)) if (risk !== "high") leftOut.push(`tiers[${JSON.stringify(tool)}]`)
  // Calls would be sent to an address that the user has not chosen.
  if (rest.services !== undefined) leftOut.push("services")
  return {
    keeps,
    leftOut,
    settings: {
      ...(rest.default !== undefined && rest.default !== "allow" && { default: rest.default }),
      ...(rest.unparsed !== undefined && rest.unparsed !== "sandboxed" && { unparsed: rest.unparsed }),
      ...(high.length > 0 && { tiers: Object.fromEntries(high) }),
      ...(output !== undefined && { output }),
    },
  }
}
