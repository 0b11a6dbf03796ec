import type { ContentPart } from "../../contract/content.ts"
import type { Json } from "../../contract/json.ts"
import { type ToolContext, ToolError } from "../../contract/tool.ts"
import { usesNothing } from "../../lib/access/arguments.ts"
import { isInsideCharacter, startOf, truncateUtf8 } from "../../lib/truncate.ts"
import { defineTool } from "../../tools/kernel/define-tool.ts"
import { atPointer } from "./json-pointer.ts"

/** The results of one agent's calls. */
export interface ResultSource {
  /** Undefined: the agent has no result of that reference. */
  find(ref: string): Promise<FoundResult | undefined>
}

export interface FoundResult {
  readonly text: string
  /** True if the whole text is no longer stored: this is the part in the conversation. */
  readonly isPart: boolean
}

/** The context of a call of FetchData: no other tool gets the results. */
export interface FetchContext extends ToolContext {
  readonly results?: ResultSource
}

interface FetchArgs {
  readonly ref: string
  readonly offset?: number
  readonly limit?: number
  readonly pointer?: string
  readonly find?: string
}

/** Returns the stored results of the run's own calls. The runtime offers it where results are offloaded. */
export const fetchData = defineTool({
  name: "FetchData",
  description:
    "Returns a result of an earlier tool call that is stored, because it was too long for the conversation. " +
    "Without other arguments it returns the whole result, or the first page of one that is too long. " +
    "Fetch only the part that you need: a value in JSON with `pointer`, the places that contain a text with `find`, " +
    "a range of characters with `offset` and `limit`.",
  uses: usesNothing,
  effect: "none",
  inputSchema: {
    type: "object",
    properties: {
      ref: { type: "string", description: "The ref in the preview of the result." },
      offset: { type: "integer", description: "The first character, from 0; with `find`: where the search starts." },
      limit: { type: "integer", description: "The maximum number of characters; with `find`: of matches." },
      pointer: { type: "string", description: 'A JSON pointer, such as "/items/0/name": only this value is returned.' },
      find: { type: "string", description: "A plain text: its places are returned, each with its offset." },
    },
    required: ["ref"],
    additionalProperties: false,
  },
  run: async (args: FetchArgs, context) => {
    const { ref, pointer, find } = args
    checkArgs(args)
    // Safe: the runtime adds it to the context of this tool; without a runtime it is absent.
    const found = await (context as FetchContext).results?.find(ref)
    if (found === undefined) throw unknownRef(ref)
    const text = pointer === undefined ? found.text : textAt(found.text, pointer)
    const parts = find === undefined ? page(text, args) : matches(text, find, args)
    return found.isPart
      ? [...parts, note("The rest of this result is no longer stored. Run the tool again if you need it.")]
      : parts
  },
})

function checkArgs({ ref, offset = 0, limit = 1, pointer = "", find }: FetchArgs): void {
  if (ref.length > MAX_REF_LENGTH)
    throw new ToolError("not_found", `No ref is longer than ${MAX_REF_LENGTH} characters. Use the ref in a preview.`)
  if (offset < 0) throw new ToolError("invalid_input", "offset must be 0 or more.")
  if (limit < 1) throw new ToolError("invalid_input", "limit must be 1 or more.")
  if (pointer.length > MAX_POINTER_LENGTH) {
    throw new ToolError("invalid_input", `pointer is longer than ${MAX_POINTER_LENGTH} characters.`)
  }
  if (find === "") throw new ToolError("invalid_input", "find is empty. Pass the text to search for.")
  // The time of a search grows with the length of both texts.
  if (find !== undefined && find.length > MAX_FIND_LENGTH) {
    throw new ToolError("invalid_input", `find is longer than ${MAX_FIND_LENGTH} characters.`)
  }
}

function unknownRef(ref: string): ToolError {
  return new ToolError(
    "not_found",
    `This run has no stored result with the ref ${JSON.stringify(ref)}. Use the ref in a preview, or run the tool again.`,
  )
}

function textAt(text: string, pointer: string): string {
  let value: Json
  try {
    value = JSON.parse(text)
  } catch {
    throw new ToolError("invalid_input", "This result is not JSON. Use find, or offset and limit.")
  }
  const found = atPointer(value, pointer)
  if (typeof found === "string") return found
  try {
    return JSON.stringify(found)
  } catch {
    throw new ToolError(
      "invalid_input",
      `The value at ${JSON.stringify(pointer)} is nested too deeply. Use offset and limit without pointer.`,
    )
  }
}

/** The whole text if it fits in a result; otherwise a part, and where the next one starts. */
function page(text: string, { ref, offset = 0, limit = MAX_CHARACTERS, pointer }: FetchArgs): ContentPart[] {
  if (offset > 0 && offset >= text.length) {
    throw new ToolError(
      "invalid_input",
      `There is nothing at offset ${offset}: the text has ${text.length} characters.`,
    )
  }
  const isWhole = offset === 0 && limit >= text.length
  if (isWhole && text.length <= MAX_CHARACTERS && !truncateUtf8(text, { maxBytes: MAX_BYTES }).truncated) {
    return [{ type: "text", text }]
  }
  const start = isInsideCharacter(text, offset) ? offset - 1 : offset
  // At least one character, so that the next page is another one.
  const wanted = Math.max(2, Math.min(limit, PAGE_CHARACTERS))
  const { text: shown } = truncateUtf8(startOf(text.slice(start, start + wanted + 1), wanted), { maxBytes: PAGE_BYTES })
  const end = start + shown.length
  const place = `Characters ${start} to ${end - 1} of ${text.length}.`
  if (end === text.length) return [{ type: "text", text: shown }, note(`${place} This is the end.`)]
  const next = JSON.stringify({ ref, ...(pointer !== undefined && { pointer }), offset: end })
  return [{ type: "text", text: shown }, note(`${place} Call FetchData with ${next} for the next part.`)]
}

/** The places that contain a text, each with the characters around it. */
function matches(text: string, find: string, { offset = 0, limit = 20 }: FetchArgs): ContentPart[] {
  const lines: string[] = []
  const most = Math.min(limit, MAX_MATCHES)
  let at = text.indexOf(find, offset)
  for (; at !== -1 && lines.length < most; at = text.indexOf(find, at + find.length)) {
    const from = Math.max(0, at - AROUND)
    const start = isInsideCharacter(text, from) ? from + 1 : from
    const around = startOf(text.slice(start), at - start + find.length + AROUND)
    lines.push(`offset ${at}: ${around.replace(/\s+/g, " ")}`)
  }
  if (lines.length === 0) {
    const where = offset === 0 ? "" : ` from offset ${offset} on`
    return [note(`The ${text.length} characters do not contain ${JSON.stringify(find)}${where}.`)]
  }
  const rest = at === -1 ? "There are no more matches." : `There are more matches: search from offset ${at}.`
  return [{ type: "text", text: lines.join("\n") }, note(rest)]
}

function note(text: string): ContentPart {
  return { type: "text", text: `[${text}]` }
}

/** The limits of a result, see `createDispatcher`. */
const MAX_CHARACTERS = 100_000
const MAX_BYTES = 256 * 1024
/** They leave room for the note. */
const PAGE_CHARACTERS = 96_000
const PAGE_BYTES = 250_000

const MAX_REF_LENGTH = 200
const MAX_POINTER_LENGTH = 2000
const MAX_FIND_LENGTH = 200
const MAX_MATCHES = 200
const AROUND = 80
