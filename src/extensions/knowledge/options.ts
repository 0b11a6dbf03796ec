import { configInvalid } from "../../lib/failures.ts"
import { wholeNumber } from "../../lib/known-keys.ts"
import { texts, textsByName } from "../../lib/schema/contract-shapes.ts"
import { checkShape, listOf, required, type Shape, shapeOf, words } from "../../lib/schema/shape.ts"
import type { ExternalDocument } from "./external.ts"
import { type Extractors, knowledgeFormats } from "./formats.ts"
import { checkedFolder, isExternalName, shownRef } from "./refs.ts"

export interface KnowledgeOptions {
  /** Default true. False: the run has no knowledge, also if its runtime has. */
  readonly enabled?: boolean
  /** Only these bases, or folders in them. Default: all of the workspace. Only for a run: `createRuntime` rejects it. */
  readonly folders?: readonly string[] | undefined
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
  checkShape<KnowledgeOptions>("knowledge", options, optionsShape)
  const { folders, external = [], maxSearchResults = 1, maxReadBytes = 1 } = options
  if (folders !== undefined) checkFolders(folders)
  wholeNumber("maxSearchResults", maxSearchResults, MAX_RESULTS)
  wholeNumber("maxReadBytes", maxReadBytes, MAX_BYTES)
  external.forEach(checkExternal)
  const names = external.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined)
    throw configInvalid(`Two external documents have the name ${twice}.`, "Give one of them another name.")
}

function checkFolders(folders: readonly string[]): void {
  folders.forEach((folder, index) => {
    checkedFolder(`folders[${index}]`, folder)
  })
}

function checkExternal(document: ExternalDocument, index: number): void {
  const where = `external[${index}]`
  const { name, description, url, headers = {} } = document
  if (!isExternalName(name)) {
    throw configInvalid(`${where}.name is ${shownRef(name)}.`, "Use letters, digits, _ and -, at most 64.")
  }
  if (description === "")
    throw configInvalid(`${where} has no description.`, "Tell the model in one sentence what is in the document.")
  const isWeb = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
  if (!isWeb) throw configInvalid(`${where}.url is not a web address.`, "Use an address with https.")
  const isHeader = ([key, value]: [string, string]) => /^[\w-]+$/.test(key) && !/[\r\n\0]/.test(value)
  if (!Object.entries(headers).every(isHeader))
    throw configInvalid(`${where}.headers has an invalid header.`, "Use names and texts without line breaks.")
}

/** True if the options are the choice or the secrets of one caller: all runs of a runtime would share them. */
export function isPerRun({ folders, external = [] }: KnowledgeOptions): boolean {
  return folders !== undefined || external.some(({ headers }) => headers !== undefined)
}

export const extractors = shapeOf<Extractors>({
  csv: "function",
  docx: "function",
  html: "function",
  json: "function",
  md: "function",
  pdf: "function",
  txt: "function",
})

export const documentShape: Shape<ExternalDocument> = {
  name: required("text"),
  description: required("text"),
  url: required("text"),
  format: words(...knowledgeFormats),
  headers: textsByName,
}

const optionsShape: Shape<KnowledgeOptions> = {
  enabled: "boolean",
  folders: texts,
  external: listOf(shapeOf<ExternalDocument>(documentShape)),
  maxSearchResults: "number",
  maxReadBytes: "number",
  extractors,
}
const MAX_RESULTS = 50
const MAX_BYTES = 1_000_000
