import { existsSync, readFileSync, type Stats, statSync } from "node:fs"
import { readFile, stat } from "node:fs/promises"
import { createRequire } from "node:module"
import { extname, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { LonghaulError } from "../../../contract/error.ts"
import { configInvalid } from "../../../lib/failures.ts"
import { checkDocumentSync } from "../../../policy/rules/check-document.ts"
import { parseJsonWithComments } from "../json-with-comments.ts"

/** The content of a policy file, before it is checked. */
export interface PolicyText {
  readonly value: unknown
  /** Undefined for a program. */
  readonly text: string | undefined
}

/** Reads YAML or JSON; executes a `.js` file only if `mayExecute`. Rejects with `config_invalid`. */
export async function readPolicy(path: string, mayExecute: boolean): Promise<PolicyText> {
  const format = formatOf(path)
  if (format === "program") {
    if (!mayExecute) {
      throw configInvalid(
        `${path} is a program and was not executed.`,
        "Name it explicitly if you trust it, or write YAML or JSON.",
      )
    }
    checkExists(path)
    return { value: await importDefault(path), text: undefined }
  }
  const text = await readText(path)
  return { value: format === "json" ? parseJson(path, text) : parseYaml(await import("yaml"), path, text), text }
}

/**
 * Throws `config_invalid` at once for a named file that cannot be read or has invalid rules. Only `readPolicy` finds what a program
 * exports, and only loading the file finds the files that it extends.
 */
export function checkPolicyFile(file: string): void {
  const path = resolve(file)
  const format = formatOf(path)
  if (format === "program") {
    checkExists(path)
    return
  }
  const text = readTextNow(path)
  const yaml = format === "yaml" ? requireYaml() : undefined
  if (format === "yaml" && yaml === undefined) return
  const value = yaml === undefined ? parseJson(path, text) : parseYaml(yaml, path, text)
  checkDocumentSync(value, path, { hasHomeFolder: true, mayExtendFiles: true })
}

/** The parser, without waiting for it; undefined where the package was bundled without it. */
function requireYaml(): Yaml | undefined {
  try {
    // Safe: the types of this very package.
    return createRequire(import.meta.url)("yaml") as Yaml
  } catch {
    return undefined
  }
}

type Yaml = Pick<typeof import("yaml"), "parseAllDocuments">

function formatOf(path: string): "program" | "json" | "yaml" {
  const kind = extname(path).toLowerCase()
  if (programs.has(kind)) return "program"
  if (kind === ".json") return "json"
  if (kind === ".yaml" || kind === ".yml") return "yaml"
  throw configInvalid(`${path} is not a policy file.`, "Use a file that ends with .yaml, .json or .js.")
}

const programs: ReadonlySet<string> = new Set([".js", ".mjs", ".cjs"])
const maxBytes = 1024 * 1024

async function readText(path: string): Promise<string> {
  try {
    checkSize(path, await stat(path))
    return decoded(await readFile(path))
  } catch (error) {
    throw unreadable(path, error)
  }
}

function readTextNow(path: string): string {
  try {
    checkSize(path, statSync(path))
    return decoded(readFileSync(path))
  } catch (error) {
    throw unreadable(path, error)
  }
}

/** For a program: to import a missing one fails with a message about modules. */
function checkExists(path: string): void {
  if (!existsSync(path)) throw missing(path)
}

function checkSize(path: string, info: Stats): void {
  if (!info.isFile()) throw configInvalid(`${path} is not a file.`, "Name a policy file.")
  if (info.size > maxBytes)
    throw configInvalid(`${path} is larger than 1 MB.`, "Split it, or remove what is not policy.")
}

function decoded(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
}

function unreadable(path: string, error: unknown): LonghaulError {
  if (LonghaulError.is(error)) return error
  const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT"
  return isMissing
    ? missing(path)
    : configInvalid(`Could not read the policy file ${path}.`, "Check that it is readable and in UTF-8.")
}

function missing(path: string): LonghaulError {
  return configInvalid(`Policy file not found: ${path}.`, "Check the path.")
}

function parseJson(path: string, text: string): unknown {
  try {
    return parseJsonWithComments(text)
  } catch (error) {
    throw configInvalid(`${path}, ${error instanceof Error ? error.message : ""}.`, "Write JSON; comments are allowed.")
  }
}

/** One document without custom tags. A key that is given twice is an error, and aliases cannot expand without bound. */
function parseYaml({ parseAllDocuments }: Yaml, path: string, text: string): unknown {
  const documents = parseAllDocuments(text, { uniqueKeys: true, schema: "core", prettyErrors: true })
  const [document, second] = Array.from(documents)
  if (document === undefined) throw configInvalid(`${path} is empty.`, "Write a policy, for example: version: 1.")
  if (second !== undefined) throw configInvalid(`${path} contains several documents.`, "Write one document per file.")
  const [problem] = [...document.errors, ...document.warnings]
  if (problem !== undefined) throw configInvalid(`${path}: ${problem.message.split("\n", 1)[0]}`, "Write valid YAML.")
  try {
    return document.toJS({ maxAliasCount: 100 })
  } catch {
    throw configInvalid(`${path} uses too many aliases.`, "Write the rules without aliases.")
  }
}

async function importDefault(path: string): Promise<unknown> {
  const loaded = await import(pathToFileURL(path).href).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error)
    throw configInvalid(
      `Could not load ${path}: ${reason.slice(0, 300)}`,
      `Run it alone to see the error: node ${path}`,
    )
  })
  if (loaded.default !== undefined) return loaded.default
  throw configInvalid(`${path} has no default export.`, "Add: export default { … }.")
}
