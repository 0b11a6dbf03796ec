import { homedir } from "node:os"
import { loadPolicyFile } from "../../hosts/node/policy/load-policy.ts"
import { openPermissions } from "../../policy/rules/check/open-permissions.ts"
import { openSiblings, openToCommands } from "../../policy/rules/check/open-siblings.ts"
import { verdictOf } from "../../policy/rules/compile-rule.ts"
import { compileRules } from "../../policy/rules/compile-rules.ts"
import { onlyPositional } from "../arguments.ts"
import { counted, visible } from "../format.ts"
import { shownRule } from "./shown-rule.ts"
import type { Subcommand } from "./subcommand.ts"

export const subcommand: Subcommand = {
  async run(argument, values, output) {
    const file = onlyPositional("policy check", "file", argument === undefined ? [] : [argument])
    const tools = values.tool ?? []
    const { sources } = await loadPolicyFile(file, { tools, onlyKnownTools: true })
    const rules = await compileRules(sources, { homeFolder: homedir(), tools })
    const siblings = openSiblings(rules.all, rules.default)
    const limits = openToCommands(rules.all)
    const notes = openPermissions(rules.all)
    if (rules.default === "allow") notes.push({ rule: "default", note: "allows every call that no rule refuses" })
    const tests = sources.reduce((count, { document }) => count + (document.tests?.length ?? 0), 0)
    const order = { deny: 0, ask: 1, allow: 2 }
    const sorted = [...rules.all].sort((left, right) => order[verdictOf(left.rule)] - order[verdictOf(right.rule)])
    if (values.json) {
      const settings = { default: rules.default ?? null, unparsed: rules.unparsed ?? null }
      output.printJson({ file, valid: true, ...settings, rules: sorted, tests, notes, leftOpen: siblings, limits })
      return 0
    }
    const { colours } = output
    output.print(`${visible(file)} is valid. ${tests === 0 ? "It has no tests." : `${counted(tests, "test")} passed.`}`)
    output.print("")
    for (const { name, rule } of sorted) {
      output.print(`  ${shownRule(rule)}`)
      output.print(colours.dim(`    ${visible(name)}`))
    }
    output.print(
      `  ${rules.default === undefined ? "otherwise: the risk tier of the tool decides" : `otherwise: ${rules.default}`}`,
    )
    if (rules.unparsed !== undefined) output.print(`  command lines that cannot be read: ${rules.unparsed}`)
    const print = (title: string, found: typeof notes) => {
      if (found.length === 0) return
      output.print("")
      output.print(colours.bold(title))
      for (const { rule, note } of found) output.print(`  ${visible(rule)} ${visible(note)}.`)
    }
    print("What these refusals leave open:", siblings)
    print("What these refusals cannot keep from commands:", limits)
    print("What these permissions really allow:", notes)
    return 0
  },
}
