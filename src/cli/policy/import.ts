import { readFile } from "node:fs/promises"
import { parseJsonWithComments } from "../../hosts/node/json-with-comments.ts"
import { importClaudeSettings } from "../../policy/rules/import-settings.ts"
import { onlyPositional, UsageError } from "../arguments.ts"
import { reasonOf, visible } from "../format.ts"
import type { Subcommand } from "./subcommand.ts"

export const subcommand: Subcommand = {
  async run(argument, values, output) {
    const file = onlyPositional("policy import", "settings.json", argument === undefined ? [] : [argument])
    const { document, translated, total, notes } = await importClaudeSettings(await readSettings(file))
    if (values.json) {
      output.printJson({ document, translated, total, notes })
      return 0
    }
    const { stringify } = await import("yaml")
    output.print(stringify(document, { lineWidth: 0, aliasDuplicateObjects: false }).trimEnd())
    output.complain(`${translated} of ${total} rules were translated.`)
    for (const { setting, note } of notes) output.complain(`  ${visible(setting)}: ${visible(note)}`)
    return 0
  },
}

async function readSettings(file: string): Promise<unknown> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw new UsageError(
      `Could not read ${file}: ${reasonOf(error)}`,
      "Name a settings file, such as .claude/settings.json.",
    )
  })
  try {
    return parseJsonWithComments(text)
  } catch (error) {
    throw new UsageError(`${file}, ${reasonOf(error)}.`, "Name a settings file, such as .claude/settings.json.")
  }
}
