import type { Json, JsonObject, JsonSchema } from "../../contract/json.ts"
import { type Answered, ToolError } from "../../contract/tool.ts"
import { isJsonObject } from "../../lib/json.ts"
import { schemaIssues } from "../../lib/json-schema.ts"
import { firstWords } from "../../lib/text/before-cut.ts"
import { visible } from "./definitions.ts"

/** A server's question to a person: a form of plain fields, or an address to open. */
export type ServerQuestion =
  | {
      readonly kind: "form"
      readonly message: string
      readonly fields: ReadonlyMap<string, JsonObject>
      readonly schema: JsonSchema
    }
  | { readonly kind: "url"; readonly message: string; readonly url: URL }

/** Throws a `ToolError` for a question that the protocol does not allow, or that people must not be asked. */
export function readQuestion(server: string, params: Json | undefined): ServerQuestion {
  const { message, requestedSchema, url } = isJsonObject(params) ? params : {}
  if (typeof message !== "string") throw unclear(server, "it has no message")
  if (url !== undefined) return { kind: "url", message, url: safeAddress(server, url) }
  if (!isJsonObject(requestedSchema)) throw unclear(server, "it names no fields")
  const { properties = {}, required = [] } = requestedSchema
  const entries = Object.entries(isJsonObject(properties) ? properties : {})
  if (entries.length > MAX_FIELDS) throw unclear(server, `it has more than ${MAX_FIELDS} fields`)
  const fields = new Map(entries.map(([name, field]) => [name, plainField(server, name, field)]))
  const needed = (Array.isArray(required) ? required : []).filter(
    (name) => typeof name === "string" && fields.has(name),
  )
  const plain = Object.fromEntries(
    Array.from(fields, ([name, { title: _, description: __, ...field }]) => [name, field]),
  )
  const schema = { type: "object", properties: plain, required: needed, additionalProperties: false }
  return { kind: "form", message, fields, schema }
}

/** The question as people see it. The server's words are marked. `problem`: why the last answer was not used. */
export function questionText(server: string, question: ServerQuestion, problem?: string): string {
  const notSent = problem === undefined ? [] : [`The last answer was not sent to the server: ${problem}`]
  const message = quoted(question.message)
  if (question.kind === "url") {
    const { url } = question
    return [
      ...notSent,
      `The MCP server ${server} asks you to open an address at ${url.host}:`,
      message,
      url.href,
      'Answer "accept" to agree, or deny the question. The address is not opened for you.',
    ].join("\n")
  }
  const names = [...question.fields.keys()]
  const needed = new Set(requiredOf(question))
  return [
    ...notSent,
    `The MCP server ${server} asks:`,
    message,
    ...Array.from(question.fields, ([name, field]) => `- ${shown(name)} (${describeField(field, needed.has(name))})`),
    names.length > 1
      ? `Answer with a JSON object of these fields, such as {${names.map((name) => `${JSON.stringify(shown(name))}: …`).join(", ")}}, or deny the question.`
      : `Answer with ${names.length === 1 ? `the value of ${shown(names[0] ?? "")}` : '"yes"'}, or deny the question.`,
  ].join("\n")
}

/** The answer as the server gets it, or why it does not match the question. */
export type ReadAnswer = { readonly response: JsonObject } | { readonly problem: string }

export async function readAnswer(
  question: ServerQuestion,
  { decision, text }: Pick<Answered, "decision" | "text">,
): Promise<ReadAnswer> {
  if (decision === "deny") return { response: { action: "decline" } }
  if (question.kind === "url") return readConsent(decision === "approve" ? "accept" : (text ?? ""))
  const content = contentOf(question, text)
  if (typeof content === "string") return { problem: content }
  const issues = await schemaIssues(question.schema, content, "the answer")
  return issues.length > 0 ? { problem: issues.join("; ") } : { response: { action: "accept", content } }
}

function readConsent(text: string): ReadAnswer {
  const word = text.trim().toLowerCase()
  if (["accept", "yes", "y"].includes(word)) return { response: { action: "accept" } }
  if (["decline", "no", "n"].includes(word)) return { response: { action: "decline" } }
  return { problem: 'answer "accept" or "decline"' }
}

type Form = ServerQuestion & { readonly kind: "form" }

/** Fields that the answer does not name get their default. Text: why the answer cannot be read. */
function contentOf({ fields }: Form, text: string | undefined): JsonObject | string {
  const given = text === undefined || text.trim() === "" ? {} : givenIn(fields, text)
  if (typeof given === "string") return given
  const defaults = Array.from(fields).filter(
    ([name, field]) => field.default !== undefined && !Object.hasOwn(given, name),
  )
  return { ...Object.fromEntries(defaults.map(([name, field]) => [name, field.default ?? null])), ...given }
}

function givenIn(fields: Form["fields"], text: string): JsonObject | string {
  const parsed = parsedJson(text)
  if (isJsonObject(parsed) && Object.keys(parsed).every((name) => fields.has(name))) return parsed
  const [only, ...others] = fields
  if (only === undefined) return {}
  if (others.length > 0) return "answer with a JSON object of the fields"
  const [name, field] = only
  return { [name]: fieldValue(field, text, parsed) }
}

/** The text as a value of the field's type; one of another type if it is none, which the schema then refuses. */
function fieldValue({ type }: JsonObject, text: string, parsed: Json | undefined): Json {
  const word = text.trim().toLowerCase()
  if (type === "boolean") return yes.has(word) ? true : no.has(word) ? false : text
  if (type === "string") return typeof parsed === "string" ? parsed : text
  if (type === "array") return Array.isArray(parsed) ? parsed : text.split(",").map((part) => part.trim())
  return typeof parsed === "number" ? parsed : text
}

function parsedJson(text: string): Json | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Only the keywords that forms have: a schema of a server is not trusted with patterns and references. */
function plainField(server: string, name: string, field: Json): JsonObject {
  if (name.length > MAX_NAME_LENGTH || !isJsonObject(field)) throw unclear(server, "one of its fields is not described")
  const { type, title, description, format, items } = field
  const texts = {
    ...(typeof title === "string" && { title }),
    ...(typeof description === "string" && { description }),
    ...(field.default !== undefined && { default: field.default }),
  }
  switch (type) {
    case "string": {
      const options = optionsOf(field)
      const known = typeof format === "string" && formats.has(format) ? { format } : {}
      return {
        type,
        ...texts,
        ...known,
        ...counts(field, ["minLength", "maxLength"]),
        ...(options && { enum: options }),
      }
    }
    case "number":
    case "integer":
      return { type, ...texts, ...counts(field, ["minimum", "maximum"]) }
    case "boolean":
      return { type, ...texts }
    case "array": {
      const options = isJsonObject(items) ? optionsOf(items) : undefined
      const inner = { type: "string", ...(options && { enum: options }) }
      return { type, ...texts, items: inner, ...counts(field, ["minItems", "maxItems"]) }
    }
    default:
      throw unclear(server, "one of its fields is not a plain value")
  }
}

function optionsOf(field: JsonObject): readonly string[] | undefined {
  const { enum: values, oneOf, anyOf } = field
  const titled = [oneOf, anyOf].find(Array.isArray)
  const listed = Array.isArray(values)
    ? values
    : titled?.map((option) => (isJsonObject(option) ? (option.const ?? null) : null))
  return listed?.filter((value) => typeof value === "string").slice(0, MAX_OPTIONS)
}

function counts(field: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.flatMap((name) => (typeof field[name] === "number" ? [[name, field[name]]] : [])))
}

function describeField(field: JsonObject, isNeeded: boolean): string {
  const { type, title, description, items, default: preset } = field
  const { enum: options = isJsonObject(items) ? items.enum : undefined } = field
  const about = [title, description].filter((text) => typeof text === "string").map(shown)
  return [
    `${type === "array" ? "list" : String(type)}${isNeeded ? ", required" : ""}`,
    ...(Array.isArray(options) ? [`one of ${options.map((option) => shown(JSON.stringify(option))).join(", ")}`] : []),
    ...(preset === undefined ? [] : [`default ${shown(JSON.stringify(preset))}`]),
    ...about.map((text) => JSON.stringify(text)),
  ].join("; ")
}

function requiredOf({ schema }: Form): readonly Json[] {
  return Array.isArray(schema.required) ? schema.required : []
}

/** People open such an address: it must be what it looks like. */
function safeAddress(server: string, given: Json): URL {
  const text = typeof given === "string" && given.length <= MAX_ADDRESS_LENGTH ? given : ""
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isLocal = url?.protocol === "http:" && ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname)
  if (!url || !(url.protocol === "https:" || isLocal)) throw unclear(server, "its address is not an https one")
  if (url.username !== "" || url.password !== "") throw unclear(server, "its address contains a login")
  return url
}

function quoted(message: string): string {
  const text = cut(visible(message), MAX_MESSAGE_LENGTH)
  return text
    .split("\n")
    .map((line) => `> ${line}`)
    .join("\n")
}

function shown(text: Json): string {
  return cut(visible(String(text)).replaceAll(/\s+/g, " "), MAX_LABEL_LENGTH)
}

/** The question is masked afterwards. */
function cut(text: string, length: number): string {
  return text.length > length ? `${firstWords(text, length)}…` : text
}

function unclear(server: string, reason: string): ToolError {
  return new ToolError("io", `The MCP server ${server} asked a question that cannot be shown: ${reason}.`)
}

const yes: ReadonlySet<string> = new Set(["true", "yes", "y"])
const no: ReadonlySet<string> = new Set(["false", "no", "n"])
const formats: ReadonlySet<string> = new Set(["email", "uri", "date", "date-time"])
const MAX_FIELDS = 20
const MAX_OPTIONS = 100
const MAX_NAME_LENGTH = 100
const MAX_LABEL_LENGTH = 200
const MAX_MESSAGE_LENGTH = 2_000
const MAX_ADDRESS_LENGTH = 2_000
