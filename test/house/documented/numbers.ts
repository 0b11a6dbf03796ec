import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const repository = fileURLToPath(new URL("../../..", import.meta.url))

export const textOf = (file: string): string => readFileSync(join(repository, file), "utf8")

const units: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  second: 1000,
  min: 60_000,
  minute: 60_000,
  hour: 3_600_000,
  KB: 1024,
  MB: 1024 ** 2,
  Mi: 1024 ** 2,
  GB: 1024 ** 3,
}
const things =
  "byte|character|token|attempt|time|request|turn|call|key|file|page|login|result|session|level|agent|entry|section|message|question|field"
const words: Readonly<Record<string, number>> = {
  ...{ two: 2, three: 3, four: 4, five: 5, six: 6, seven: 7, eight: 8, nine: 9, ten: 10, "a million": 1_000_000 },
}
const number = `(?:\\d[\\d,]*(?:\\.\\d+)?|${Object.keys(words).join("|")})`
const unit = `(?: (?:${Object.keys(units).join("|")})s?\\b)?`
const counted = new RegExp(`(?<![\\w.\`-])${number} (?:(?:${Object.keys(units).join("|")})s?|(?:${things})s?)\\b`, "g")
const byDefault = [
  new RegExp(`\\b[Dd]efault:?[^.;)|]*?\\s(${number}${unit})(?![\\w-]|[.,]\\d)`),
  new RegExp(`(?<![\\w.])(${number}${unit})[^.;|]* by default\\b`),
]

/** The first default in a text that is given by its number, as it is written there. */
function defaultIn(text: string): string | undefined {
  return byDefault.map((pattern) => pattern.exec(text)?.[1]).find((found) => found !== undefined)
}

/** In the unit of the code: milliseconds, bytes. */
export function figureOf(written: string): number {
  const [given = "", after] = new RegExp(`^(${number})(?: (\\w+?)s?)?$`).exec(written)?.slice(1) ?? []
  return (words[given] ?? Number(given.replaceAll(",", ""))) * (units[after ?? ""] ?? 1)
}

/** Each number that a comment, an option of the command line or a document says of the code: `name`, as it is written. */
export function documentedNumbers(): ReadonlyMap<string, string> {
  return new Map([...sourceFiles().flatMap(inSource), ...documents().flatMap(inDocument)])
}

type Found = readonly [name: string, written: string]

function sourceFiles(): readonly string[] {
  return readdirSync(join(repository, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !/\.test(-d)?\.ts$/.test(file))
    .map((file) => `src/${file.replaceAll("\\", "/")}`)
}

/** `docs/api.md` has the comments, and `docs/tools.md` and `docs/backends.md` are tables that are generated, too. */
function documents(): readonly string[] {
  const guides = readdirSync(join(repository, "docs/guides")).map((file) => `docs/guides/${file}`)
  return ["README.md", "SECURITY.md", "docs/errors.md", "docs/policy-service.md", ...guides]
}

/** Defaults of members by their comments, and of options of the command line by their help. */
function inSource(file: string): readonly Found[] {
  const text = textOf(file)
  const members = text.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*(?:readonly )?(\w+)(?:\?:|:|\()/g)
  const options = text.matchAll(/"?([\w-]+)"?: \{(?:(?!help:)[^{}])*help:\s*[`"]([^`"]*)[`"]/g)
  return [
    ...Array.from(members, ([, comment = "", member = ""]) => [member, comment] as const),
    ...Array.from(options, ([, option = "", help = ""]) => [`--${option}`, help] as const),
  ].flatMap(([name, description]) => {
    const written = defaultIn(description)
    return written === undefined ? [] : [[`${file.replace("src/", "")}#${name}`, written] as const]
  })
}

/** Defaults, columns of defaults, and counts, outside code. The name is the nearest one in front of the number. */
function inDocument(file: string): readonly Found[] {
  const lines = textOf(file)
    .replace(/^ *```[\s\S]*?^ *```$/gm, (block) => block.replace(/[^\n]+/g, ""))
    .split("\n")
  let column = -1
  return lines.flatMap((line, index) => {
    const cells = line.split("|").map((cell) => cell.trim())
    if (!line.startsWith("|")) column = -1
    else if (lines[index + 1]?.startsWith("| --")) column = cells.indexOf("default")
    const [inColumn] = column < 0 ? [] : (new RegExp(`${number}\\b${unit}`).exec(cells[column] ?? "") ?? [])
    const given = inColumn ?? defaultIn(line)
    const counts = Array.from(line.matchAll(counted), ([written]) => written)
    return [...new Set([...(given === undefined ? [] : [given]), ...counts])].map((written) => {
      const [name = ""] =
        line
          .slice(0, line.indexOf(written))
          .match(/`[^`]+`/g)
          ?.slice(-1) ?? []
      return [`${file}: ${name === "" ? written : `${name} ${written}`}`, written] as const
    })
  })
}
