import { resolve } from "node:path"
import { discover, skillFolders } from "../../extensions/skills/discover.ts"
import type { Skill } from "../../extensions/skills/skill.ts"
import { closest } from "../../lib/closest.ts"
import { type Command, commonOptions, parseCommandLine, UsageError } from "../arguments.ts"
import { clip, counted, visible } from "../format.ts"

const options = {
  workspace: { type: "string", value: "<dir>", help: "Folder of the runs. Default: the current one." },
  ...commonOptions,
} as const

const subcommands = ["list", "show"] as const

export const command: Command = {
  summary: "List the skills that runs in a folder can use with --skills, or show one.",
  usage: "[options] list | show <skill>",
  options,
  completes: subcommands,
  notes: [
    `Skills are folders with a SKILL.md in ${skillFolders.join(", ")}: of the workspace, then of your home.`,
    "Of two skills with one name, the first is used.",
  ],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("skills", args, options)
    const [subcommand = "list", name, extra] = positionals
    if (!subcommands.some((each) => each === subcommand) || extra !== undefined) {
      throw new UsageError(
        `Unexpected argument for skills: ${JSON.stringify(extra ?? subcommand)}.`,
        "Use list or show.",
      )
    }
    const skills = await found(resolve(values.workspace ?? "."), output.complain)
    if (subcommand === "show") {
      const skill = named(skills, name)
      const [body, pages] = await Promise.all([skill.body(new AbortController().signal), skill.pages()])
      if (values.json) output.printJson({ ...described(skill), body, pages })
      else
        output.print(visible([`${skill.name} (${skill.source})`, skill.description, "", body, "", ...pages].join("\n")))
      return 0
    }
    if (values.json) output.printJson({ skills: skills.map(described) })
    else {
      output.print(`${counted(skills.length, "skill")}.`)
      for (const { name, source, description } of skills) {
        output.print(`  ${visible(name)}  ${output.colours.dim(visible(source))}`)
        output.print(`    ${clip(visible(description), 200)}`)
      }
    }
    return 0
  },
}

async function found(workspace: string, complain: (line: string) => void): Promise<readonly Skill[]> {
  const { nodeFiles } = await import("../../hosts/node/files/files.ts")
  const { userSkillFolders } = await import("../../hosts/node/skill-folders.ts")
  const files = nodeFiles({ roots: [], readOnlyRoots: [workspace] })
  return discover(files, [...skillFolders, ...userSkillFolders()], (_, message) => complain(visible(message)))
}

function named(skills: readonly Skill[], name: string | undefined): Skill {
  const skill = skills.find((each) => each.name === name)
  if (skill) return skill
  const names = skills.map((each) => each.name)
  const meant = name === undefined ? undefined : closest(name, names)
  throw new UsageError(
    name === undefined ? "Missing skill for skills show." : `There is no skill ${JSON.stringify(name)}.`,
    meant === undefined ? `Use one of: ${names.join(", ") || "(there are none)"}.` : `Did you mean ${meant}?`,
  )
}

function described({ body: _, pages: __, page: ___, ...skill }: Skill) {
  return skill
}
