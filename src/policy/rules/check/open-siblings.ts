import type { PolicyRule, RuleVerdict } from "../../../contract/policy.ts"
import { canonicalJson } from "../../../lib/json.ts"
import { verdictOf } from "../compile-rule.ts"
import { listOf } from "../glob.ts"
import { allCapabilities, readers } from "../known-tools.ts"
import { compileTool } from "../tool-names.ts"

interface NamedRule {
  readonly name: string
  readonly rule: PolicyRule
}

/** Refusals of paths by the names of tools, where other tools can do the same with these paths. */
export function openSiblings(rules: readonly NamedRule[], fallback: RuleVerdict | undefined) {
  const known = allCapabilities
  const refusals = rules.flatMap(({ name, rule }) => {
    const { tool, path } = rule.deny ?? rule.ask ?? {}
    return tool === undefined || path === undefined
      ? []
      : [{ name, tools: listOf(tool), paths: canonicalJson(listOf(path)) }]
  })
  const allowed = rules.flatMap(({ rule }) => (verdictOf(rule) === "allow" ? listOf(rule.allow?.tool ?? "*") : []))
  const fits = (patterns: readonly string[], tool: string) => patterns.some((pattern) => compileTool(pattern)(tool))
  return refusals.flatMap(({ name, tools, paths }) => {
    // Several rules may refuse the same paths to different tools.
    const together = refusals.filter((other) => other.paths === paths).flatMap((other) => other.tools)
    const words = (["read", "write"] as const).filter((word) =>
      [...known].some(([tool, can]) => can.includes(word) && fits(tools, tool)),
    )
    const open = [...known].flatMap(([tool, can]) => {
      const isSibling = can.includes("exec") || words.some((word) => can.includes(word))
      const isOpen = fallback !== "deny" || fits(allowed, tool)
      // What is refused to Read is hidden from the others that show files.
      const isHidden = readers.includes(tool) && fits(together, "Read")
      return isSibling && isOpen && !isHidden && !fits(together, tool) ? [tool] : []
    })
    if (words.length === 0 || open.length === 0) return []
    const instead = words.length === 2 ? "path" : words[0]
    const note = `leaves these paths open to ${open.join(", ")}: use \`${instead}\` instead of \`tool\` and \`path\``
    return [{ rule: name, note }]
  })
}

/** What rules about paths cannot keep from commands. */
export function openToCommands(rules: readonly NamedRule[]) {
  return rules.flatMap(({ name, rule }) => {
    const { path, read = path, write = path, tool } = rule.deny ?? rule.ask ?? {}
    if ((read ?? write) === undefined || !listOf(tool ?? "*").some((each) => compileTool(each)("Bash"))) return []
    const bringing = write === undefined ? "" : ", and `git checkout` can change them"
    const without =
      "without a required sandbox, programs such as node, make or `npm test` can use these paths: their code is not read" +
      bringing
    const inside =
      read === undefined
        ? "in a sandbox, new files that match are only reported"
        : "in a sandbox, files that appear later, hard links and earlier versions in git (`git show HEAD:…`) stay readable"
    const excepted =
      rule.except === undefined ? [] : ["an exception inside a folder that is refused stays refused in a sandbox"]
    return [without, inside, ...excepted].map((note) => ({
      rule: name,
      note: `is not complete: ${note}`,
    }))
  })
}
