import { isJsonObject } from "../../lib/json.ts"
import { firstWords } from "../../lib/text/before-cut.ts"
import { oneLine } from "../../lib/text/data-fence.ts"
import { MAX_DESCRIPTION_LENGTH, MAX_SKILL_NAME_LENGTH, type SkillHeader } from "./skill.ts"

/** A `SKILL.md`, with what is wrong with it. Without a header it cannot be used. */
export interface ParsedSkill {
  readonly header?: SkillHeader | undefined
  readonly body: string
  readonly problems: readonly string[]
}

/** Lenient: skills are written for several programs. `folder`: the name of the folder that it is in. */
export async function parseSkill(text: string, folder: string): Promise<ParsedSkill> {
  const { yaml, body } = splitSkill(text)
  if (yaml === undefined) return { body, problems: ["it has no frontmatter, so no description"] }
  const { fields, problem } = await fieldsOf(yaml)
  if (fields === undefined) return { body, problems: [problem ?? "its frontmatter is not a list of fields"] }
  const problems: string[] = problem === undefined ? [] : [problem]
  const header = headerOf(fields, folder, (text) => problems.push(text))
  return { body, problems, header }
}

/** The text below the frontmatter, if there is one. */
export function splitSkill(text: string): { readonly yaml?: string; readonly body: string } {
  const lines = text.replace(/^\ufeff/, "").split(/\r?\n/)
  if (lines[0]?.trimEnd() !== "---") return { body: lines.join("\n").trim() }
  const end = lines.findIndex((line, index) => index > 0 && line.trimEnd() === "---")
  if (end === -1) return { body: lines.join("\n").trim() }
  const body = lines.slice(end + 1)
  return { yaml: lines.slice(1, end).join("\n"), body: body.join("\n").trim() }
}

interface Fields {
  readonly fields?: Readonly<Record<string, unknown>>
  readonly problem?: string
}

async function fieldsOf(yaml: string): Promise<Fields> {
  if (yaml.length > MAX_FRONTMATTER_LENGTH) return { problem: "its frontmatter is too long" }
  const { parse } = await import("yaml")
  const read = (text: string): Fields | undefined => {
    try {
      const value: unknown = parse(text, { logLevel: "error", uniqueKeys: false, maxAliasCount: 20 })
      return isJsonObject(value) ? { fields: value } : {}
    } catch {
      return undefined
    }
  }
  const plain = read(yaml)
  if (plain) return plain
  const quoted = read(withQuotes(yaml))
  if (quoted?.fields) return { ...quoted, problem: "a value with a colon is not quoted" }
  return { problem: "its frontmatter is not YAML" }
}

/** Quotes the values that contain a colon: the mistake that people make most often. */
function withQuotes(yaml: string): string {
  return yaml
    .split("\n")
    .map((line) => {
      const colon = line.indexOf(":")
      const value = line.slice(colon + 1).trim()
      const isKey = colon > 0 && /^[A-Za-z][\w-]{0,63}$/.test(line.slice(0, colon))
      return isKey && value.includes(":") && !/^["'[{|>&*!]/.test(value)
        ? `${line.slice(0, colon)}: ${JSON.stringify(value)}`
        : line
    })
    .join("\n")
}

function headerOf(
  fields: Readonly<Record<string, unknown>>,
  folder: string,
  complain: (problem: string) => void,
): SkillHeader | undefined {
  const field = (name: string) => (Object.hasOwn(fields, name) ? fields[name] : undefined)
  const description = boundedText("description", field("description"), MAX_DESCRIPTION_LENGTH, complain)
  if (description === undefined) {
    complain("it has no description")
    return undefined
  }
  const license = boundedText("license", field("license"), MAX_LICENSE_LENGTH, complain)
  const compatibility = boundedText("compatibility", field("compatibility"), MAX_COMPATIBILITY_LENGTH, complain)
  const metadata = metadataOf(field("metadata"), complain)
  const allowedTools = toolsOf(field("allowed-tools"), complain)
  return {
    name: nameOf(field("name"), folder, complain),
    description,
    license,
    compatibility,
    metadata,
    allowedTools,
  }
}

function nameOf(value: unknown, folder: string, complain: (problem: string) => void): string {
  const given = typeof value === "string" ? oneLine(value).slice(0, MAX_SKILL_NAME_LENGTH) : ""
  if (given === "") {
    complain("it has no name, so that of its folder is used")
    return oneLine(folder).slice(0, MAX_SKILL_NAME_LENGTH)
  }
  if (!isSkillName(String(value))) {
    complain(`its name ${JSON.stringify(given)} is not of up to 64 letters a-z, digits and single hyphens`)
  } else if (given !== folder) complain(`its name ${JSON.stringify(given)} is not that of its folder`)
  return given
}

function isSkillName(name: string): boolean {
  return name.length <= MAX_SKILL_NAME_LENGTH && /^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)
}

function boundedText(
  name: string,
  value: unknown,
  longest: number,
  complain: (problem: string) => void,
): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
    complain(`its ${name} is not a text`)
    return undefined
  }
  const text = oneLine(String(value))
  if (text.length > longest) complain(`its ${name} is longer than ${longest} characters and was cut`)
  return firstWords(text, longest) || undefined
}

function metadataOf(value: unknown, complain: (problem: string) => void): Readonly<Record<string, string>> | undefined {
  if (value === undefined || value === null) return undefined
  if (!isJsonObject(value)) {
    complain("its metadata is not a list of names with texts")
    return undefined
  }
  const entries = Object.entries(value).flatMap(([key, each]): [string, string][] => {
    const text = boundedText(
      `metadata ${JSON.stringify(oneLine(key).slice(0, 40))}`,
      each,
      MAX_LICENSE_LENGTH,
      complain,
    )
    return text === undefined ? [] : [[oneLine(key), text]]
  })
  return Object.fromEntries(entries)
}

/** Separated by spaces, or, as other programs write it, by commas or as a list: `Bash(git add *)` is one. */
function toolsOf(value: unknown, complain: (problem: string) => void): readonly string[] | undefined {
  if (value === undefined || value === null) return undefined
  const isList = Array.isArray(value) && value.every((each) => typeof each === "string")
  if (isList) return value.map((each) => oneLine(String(each)))
  if (typeof value === "string") return splitTools(oneLine(value).slice(0, MAX_TOOLS_LENGTH))
  complain("its allowed-tools is not a text")
  return undefined
}

function splitTools(text: string): readonly string[] {
  const tools: string[] = []
  let depth = 0
  let current = ""
  for (const character of text) {
    if (character === "(") depth++
    if (character === ")") depth--
    if (depth <= 0 && (character === " " || character === ",")) {
      tools.push(current)
      current = ""
    } else current += character
  }
  return [...tools, current].filter((tool) => tool !== "")
}

const MAX_FRONTMATTER_LENGTH = 64 * 1024
const MAX_LICENSE_LENGTH = 500
const MAX_COMPATIBILITY_LENGTH = 500
const MAX_TOOLS_LENGTH = 4_000
