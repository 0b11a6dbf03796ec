import { readFile, stat } from "node:fs/promises"
import { extname } from "node:path"
import { pathToFileURL } from "node:url"
import { LonghaulError } from "../../../contract/error.ts"
import { parseJsonWithComments } from "../json-with-comments.ts"

/** The content of a policy file, before it is checked. */
export interface PolicyText {
  readonly value: unknown
  /** Undefined for a program. */
  readonly text: string | undefined
}

/** Reads YAML or JSON; executes a `.js` file only if `mayExecute`. Rejects with `config_invalid`. */
export async function readPolicy(path: string, mayExecute: boolean): Promise<PolicyText> {
  const kind = extname(path).toLowerCase()
  if (programs.has(kind)) {
    if (mayExecute) return { value: await importDefault(path), text: undefined }
    throw invalid(
      `${path} is a program and was not executed.`,
      "Name it explicitly if you trust it, or write YAML or JSON.",
    )
  }
  if (kind !== ".json" && kind !== ".yaml" && kind !== ".yml") {
    throw invalid(`${path} is not a policy file.`, "Use a file that ends with .yaml, .json or .js.")
  }
  const text = await readText(path)
  return { value: kind === ".json" ? parseJson(path, text) : await parseYaml(path, text), text }
}

const programs: ReadonlySet<string> = new Set([".js", ".mjs", ".cjs"])
const maxBytes = 1024 * 1024

export function invalid(message: string, fix: string): LonghaulError {
  return new LonghaulError("config_invalid", message, { fix })
}

async function readText(path: string): Promise<string> {
  try {
    const info = await stat(path)
    if (!info.isFile()) throw invalid(`${path} is not a file.`, "Name a policy file.")
    if (info.size > maxBytes) throw invalid(`${path} is larger than 1 MB.`, "Split it, or remove what is not policy.")
    return new TextDecoder("utf-8", { fatal: true }).decode(await readFile(path))
  } catch (error) {
    if (LonghaulError.is(error)) throw error
    const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT"
    throw isMissing
      ? invalid(`Policy file not found: ${path}.`, "Check the path.")
      : invalid(`Could not read the policy file ${path}.`, "Check that it is readable and in UTF-8.")
  }
}

function parseJson(path: string, text: string): unknown {
  try {
    return parseJsonWithComments(text)
  } catch (error) {
    throw invalid(`${path}, ${error instanceof Error ? error.message : ""}.`, "Write JSON; comments are allowed.")
  }
}

/** One document without custom tags. A key that is given twice is an error, and aliases cannot expand without bound. */
async function parseYaml(path: string, text: string): Promise<unknown> {
  const { parseAllDocuments } = await import("yaml")
  const documents = parseAllDocuments(text, { uniqueKeys: true, schema: "core", prettyErrors: true })
  const [document, second] = Array.from(documents)
  if (document === undefined) throw invalid(`${path} is empty.`, "Write a policy, for example: version: 1.")
  if (second !== undefined) throw invalid(`${path} contains several documents.`, "Write one document per file.")
  const [problem] = [...document.errors, ...document.warnings]
  if (problem !== undefined) throw invalid(`${path}: ${problem.message.split("\n", 1)[0]}`, "Write valid YAML.")
  try {
    return document.toJS({ maxAliasCount: 100 })
  } catch {
    throw invalid(`${path} uses too many aliases.`, "Write the rules without aliases.")
  }
}

async function importDefault(path: string): Promise<unknown> {
  const loaded = await import(pathToFileURL(path).href).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error)
    throw invalid(`Could not load ${path}: ${reason.slice(0, 300)}`, `Run it alone to see the error: node ${path}`)
  })
  if (loaded.default !== undefined) return loaded.default
  throw invalid(`${path} has no default export.`, "Add: export default { … }.")
}
