import { type Tool, ToolError } from "../../contract/tool.ts"
import { usesNothing } from "../../lib/access/arguments.ts"
import { isJsonObject } from "../../lib/json.ts"
import { isPagePath } from "./given.ts"
import type { Skill } from "./skill.ts"

/** The tool that reads skills and their pages. */
export function skillPage(skills: readonly Skill[]): Tool {
  const names = skills.map(({ name }) => name)
  return {
    name: "SkillPage",
    description: "Reads a skill and lists its files, or reads one of these files.",
    inputSchema: {
      type: "object",
      properties: {
        skill: { type: "string", enum: names, description: "The name of the skill." },
        page: { type: "string", description: "One of its files, as listed. Omit it to read the skill itself." },
      },
      required: ["skill"],
      additionalProperties: false,
    },
    uses: usesNothing,
    effect: "none",
    concurrent: true,
    risk: "low",
    maxOutputBytes: MAX_RESULT_LENGTH,
    async run(args, { signal }) {
      const { skill: name, page } = isJsonObject(args) ? args : {}
      const skill = skills.find((each) => each.name === name)
      if (skill === undefined) throw new ToolError("not_found", `There is no skill ${JSON.stringify(name)}.`)
      return typeof page === "string" && page !== "" ? pageOf(skill, page, signal) : wholeSkill(skill, signal)
    },
  }
}

async function wholeSkill(skill: Skill, signal: AbortSignal): Promise<string> {
  const { name, source, compatibility, allowedTools } = skill
  const [body, pages] = await Promise.all([skill.body(signal), skill.pages()])
  return [
    `Skill ${name} (${source})`,
    ...(compatibility === undefined ? [] : [`It needs: ${compatibility}`]),
    ...(allowedTools ? [`It asks for these tools, which grants none of them: ${allowedTools.join(" ")}`] : []),
    "",
    body,
    ...(pages.length === 0 ? [] : ["", "Files, to be read with SkillPage:", ...pages.map((page) => `- ${page}`)]),
  ].join("\n")
}

/** Only what is listed is read, so that no text of a model becomes a path. */
async function pageOf(skill: Skill, given: string, signal: AbortSignal): Promise<string> {
  if (!isPagePath(given)) throw new ToolError("denied", `${JSON.stringify(given)} is not a path inside the skill.`)
  const pages = await skill.pages()
  const page = [given, `pages/${given}`, `pages/${given}.md`].find((path) => pages.includes(path))
  if (page !== undefined) return skill.page(page, signal)
  throw new ToolError(
    "not_found",
    `The skill ${skill.name} has no file ${JSON.stringify(given)}. It has: ${pages.join(", ") || "(none)"}.`,
  )
}

const MAX_RESULT_LENGTH = 128 * 1024
