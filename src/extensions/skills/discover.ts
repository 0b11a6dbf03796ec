import type { Files } from "../../contract/env.ts"
import { ToolError } from "../../contract/tool.ts"
import { oneLine } from "../../lib/text/data-fence.ts"
import { parseSkill, splitSkill } from "./frontmatter.ts"
import { MAX_TEXT_LENGTH, type Skill } from "./skill.ts"

/** A folder of skills that is not in the workspace. */
export interface SkillFolder {
  /** Confined to the folder. */
  readonly files: Files
  readonly path: string
  /** Its path for people and the model. Default: `path`. */
  readonly shown?: string
}

/** Where skills of a workspace are looked for, the first place first. */
export const skillFolders: readonly string[] = [".longhaul/skills", ".agents/skills", ".claude/skills"]

/** The skills in these folders. Of those with one name the first is used. */
export async function discover(
  files: Files | undefined,
  folders: readonly (string | SkillFolder)[],
  warn: (code: string, message: string) => void,
): Promise<readonly Skill[]> {
  const found = new Map<string, FoundSkill>()
  for (const folder of folders) {
    const place = typeof folder === "string" ? files && { files, path: folder } : folder
    if (!place) continue
    for (const each of await skillsIn(place, warn)) {
      const other = found.get(each.skill.name)
      if (other === undefined) found.set(each.skill.name, each)
      else if (other.text !== each.text) {
        warn(
          "skill_hidden",
          `The skill in ${each.skill.source} is not used: ${other.skill.source} has the same name, and comes first.`,
        )
      }
    }
  }
  return [...found.values()].map(({ skill }) => skill)
}

interface FoundSkill {
  readonly skill: Skill
  readonly text: string
}

async function skillsIn(
  { files, path, shown = path }: SkillFolder,
  warn: (code: string, message: string) => void,
): Promise<readonly FoundSkill[]> {
  const entries = await unlessAbsent(() => files.list(path, ".")).catch((error: unknown) => {
    if (!(error instanceof ToolError)) throw error
    warn("skill_left_out", `Skills in ${shown} are left out: ${oneLine(error.message)}`)
    return undefined
  })
  const names = (entries ?? [])
    .filter(({ kind }) => kind === "folder")
    .map(({ name }) => name)
    .sort()
  if (names.length > MAX_SKILLS) {
    warn("skill_left_out", `${shown} has more than ${MAX_SKILLS} folders: the others are not read.`)
  }
  const read = names
    .slice(0, MAX_SKILLS)
    .map((name) => skillAt(files, { folder: `${path}/${name}`, shown: oneLine(`${shown}/${name}`), name }, warn))
  return (await Promise.all(read)).flatMap((skill) => skill ?? [])
}

async function skillAt(
  files: Files,
  { folder, shown, name }: { readonly folder: string; readonly shown: string; readonly name: string },
  warn: (code: string, message: string) => void,
): Promise<FoundSkill | undefined> {
  try {
    const text = await unlessAbsent(() => textAt(files, `${folder}/SKILL.md`))
    if (text === undefined) return undefined
    const { header, problems } = await parseSkill(text, name)
    if (header === undefined) {
      warn("skill_left_out", `The skill in ${shown} is left out: ${problems.join("; ")}.`)
      return undefined
    }
    if (problems.length > 0) warn("skill_invalid", `The skill in ${shown} is used, but ${problems.join("; ")}.`)
    return { skill: { ...header, source: shown, ...filesOf(files, folder) }, text }
  } catch (error) {
    if (!(error instanceof ToolError)) throw error
    warn("skill_left_out", `The skill in ${shown} is left out: ${oneLine(error.message)}`)
    return undefined
  }
}

function filesOf(files: Files, folder: string): Pick<Skill, "body" | "pages" | "page"> {
  const pages = async () => (await filesBelow(files, folder)).filter((path) => path !== "SKILL.md").slice(0, MAX_PAGES)
  return {
    body: async () => splitSkill(await textAt(files, `${folder}/SKILL.md`)).body,
    pages,
    page: (path) => textAt(files, `${folder}/${path}`),
  }
}

/** The files before the folders. Links are not followed: they could lead out of the folder of the skill. */
async function filesBelow(files: Files, folder: string, part = "", depth = 0): Promise<readonly string[]> {
  const entries = (await files.list(`${folder}/${part}`, "."))
    .filter(({ name }) => !name.startsWith(".") && name !== "node_modules")
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  const found = entries.flatMap(({ name, kind }) => (kind === "file" ? [`${part}${name}`] : []))
  for (const { name, kind } of entries) {
    if (kind !== "folder" || depth >= MAX_DEPTH || found.length > MAX_PAGES) continue
    found.push(...(await filesBelow(files, folder, `${part}${name}/`, depth + 1)))
  }
  return found
}

async function textAt(files: Files, path: string): Promise<string> {
  const bytes = await files.read(path, ".", { offset: 0, limit: MAX_TEXT_LENGTH + 1 })
  if (bytes.length > MAX_TEXT_LENGTH)
    throw new ToolError("invalid_input", `${path} is longer than ${MAX_TEXT_LENGTH} bytes.`)
  return decoded(bytes, path)
}

export function decoded(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    throw new ToolError("invalid_input", `${name} is not a text.`)
  }
}

async function unlessAbsent<Value>(work: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ToolError && error.code === "not_found") return undefined
    throw error
  }
}

const MAX_SKILLS = 500
const MAX_PAGES = 200
/** Of folders below that of the skill. */
const MAX_DEPTH = 4
