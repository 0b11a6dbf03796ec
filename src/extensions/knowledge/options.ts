import { LonghaulError } from "../../contract/error.ts"
import { checkKeys, keys, oneOf, wholeNumber } from "../../lib/known-keys.ts"
import type { ExternalDocument } from "./external.ts"
import { type Extractors, knowledgeFormats } from "./formats.ts"
import { checkedFolder, isExternalName, shownRef } from "./refs.ts"

export interface KnowledgeOptions {
  /** Default true. False: the run has no knowledge, also if its runtime has. */
  readonly enabled?: boolean
  /** Only these bases, or folders in them. Default: all of the workspace. Only for a run: `createRuntime` rejects it. */
  readonly folders?: readonly string[]
  /** Documents on the web. Those with headers are only for a run: `createRuntime` rejects them. */
  readonly external?: readonly ExternalDocument[]
  /** Maximum number of sections that a search returns. Default 5. */
  readonly maxSearchResults?: number
  /** Maximum bytes of text of one ReadKnowledge. Default 10,000. */
  readonly maxReadBytes?: number
  /** Extractors for further formats, or in place of the usual ones. */
  readonly extractors?: Extractors
}

/** Throws `config_invalid` with a fix for settings that cannot work. */
export function checkOptions(options: KnowledgeOptions): void {
  checkKeys("knowledge", options, optionKeys)
  const { enabled = true, folders, external = [], maxSearchResults = 1, maxReadBytes = 1, extractors = {} } = options
  if (typeof enabled !== "boolean") throw invalid("enabled is not a boolean.", "Use true or false.")
  if (folders !== undefined) checkFolders(folders)
  wholeNumber("maxSearchResults", maxSearchResults, MOST_RESULTS)
  wholeNumber("maxReadBytes", maxReadBytes, MOST_BYTES)
  checkKeys("knowledge.extractors", extractors, knowledgeFormats)
  if (!Array.isArray(external)) throw invalid("external is not a list.", "Pass a list of documents.")
  external.forEach(checkExternal)
  const names = external.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined)
    throw invalid(`Two external documents have the name ${twice}.`, "Give one of them another name.")
}

function checkFolders(folders: readonly string[]): void {
  if (!Array.isArray(folders)) throw invalid("folders is not a list.", "Pass a list of names.")
  folders.forEach((folder, index) => {
    checkedFolder(`folders[${index}]`, folder)
  })
}

function checkExternal(document: ExternalDocument, index: number): void {
  const where = `external[${index}]`
  checkKeys(where, document, documentKeys)
  const { name, description, url, format = "md", headers = {} } = document
  if (typeof name !== "string" || !isExternalName(name)) {
    throw invalid(`${where}.name is ${shownRef(String(name))}.`, "Use letters, digits, _ and -, at most 64.")
  }
  if (typeof description !== "string" || description === "")
    throw invalid(`${where} has no description.`, "Tell the model in one sentence what is in the document.")
  const isWeb = typeof url === "string" && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
  if (!isWeb) throw invalid(`${where}.url is not an address of the web.`, "Use an address with https.")
  oneOf(`${where}.format`, format, knowledgeFormats)
  const isHeader = ([key, value]: [string, unknown]) =>
    /^[\w-]+$/.test(key) && typeof value === "string" && !/[\r\n\0]/.test(value)
  if (typeof headers !== "object" || headers === null || !Object.entries(headers).every(isHeader))
    throw invalid(`${where}.headers has an invalid header.`, "Use names and texts without line breaks.")
}

/** True if the options are the choice or the secrets of one caller: all runs of a runtime would share them. */
export function isPerRun({ folders, external = [] }: KnowledgeOptions): boolean {
  return folders !== undefined || external.some(({ headers }) => headers !== undefined)
}

function invalid(message: string, fix: string): LonghaulError {
  return new LonghaulError("config_invalid", message, { fix })
}

const optionKeys = keys<KnowledgeOptions>()(
  "enabled",
  "folders",
  "external",
  "maxSearchResults",
  "maxReadBytes",
  "extractors",
)
const documentKeys = keys<ExternalDocument>()("name", "description", "url", "format", "headers")
const MOST_RESULTS = 50
const MOST_BYTES = 1_000_000
