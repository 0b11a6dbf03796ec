import type { OutputUnit, Schema, SchemaDraft, Validator } from "@cfworker/json-schema"
import type { Json, JsonObject } from "../contract/json.ts"
import type { Tool, ToolInput } from "../contract/tool.ts"
import { isJsonObject } from "../lib/json.ts"
import { formatPath } from "../lib/standard-schema.ts"
import { plainlyFits } from "./plainly-fits.ts"

/**
 * Checks a call's arguments and fills in defaults. The tool gets a copy: what was journalled is never touched.
 * A promise only while the schema library loads or where the tool brings its own validation.
 */
export function validateInput(tool: Tool, args: Json): ToolInput | Promise<ToolInput> {
  try {
    if (tool.validate !== undefined) return tool.validate(copyWithDefaults(args, undefined))
    const copy = copyWithDefaults(args, tool.inputSchema)
    if (plainlyFits(copy, tool.inputSchema)) return { ok: true, args: copy }
    if (validatorClass === undefined) return loadValidatorClass().then(() => validateInput(tool, args))
    const { valid, errors } = validatorFor(tool).validate(copy)
    return valid ? { ok: true, args: copy } : { ok: false, issues: describe(errors) }
  } catch (error) {
    const issue = issueOfHostileInput(error)
    if (issue === undefined) throw error
    return { ok: false, issues: [issue] }
  }
}

let validatorClass: typeof Validator | undefined

/** Not imported before the first call that needs it: it would be part of everybody's start-up time. */
async function loadValidatorClass(): Promise<void> {
  validatorClass = (await import("@cfworker/json-schema")).Validator
}

const compiled = new WeakMap<Tool, Validator>()

function validatorFor(tool: Tool): Validator {
  let validator = compiled.get(tool)
  if (validator === undefined) {
    if (validatorClass === undefined) throw new Error("The schema library is not loaded.")
    // A clone, because the library notes things in the schema it compiles, and ours is frozen.
    const schema: Schema = structuredClone(tool.inputSchema)
    validator = new validatorClass(schema, draftOf(schema), false)
    compiled.set(tool, validator)
  }
  return validator
}

function draftOf(schema: Schema): SchemaDraft {
  const dialect = typeof schema.$schema === "string" ? schema.$schema : ""
  if (dialect.includes("draft-04")) return "4"
  if (dialect.includes("draft-06") || dialect.includes("draft-07")) return "7"
  return dialect.includes("2019-09") ? "2019-09" : "2020-12"
}

/** Follows `properties` and `items` only: elsewhere a default could depend on which alternative was meant. */
function copyWithDefaults(value: Json, schema: Json | undefined): Json {
  if (Array.isArray(value)) {
    const items = isJsonObject(schema) ? schema.items : undefined
    return value.map((item: Json) => copyWithDefaults(item, items))
  }
  if (!isJsonObject(value)) {
    if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
      return value
    }
    throw new NotJson()
  }
  const properties = isJsonObject(schema) && isJsonObject(schema.properties) ? schema.properties : undefined
  const copy: Record<string, Json> = {}
  for (const key of Object.keys(value)) {
    const child = value[key]
    if (child !== undefined) setOwn(copy, key, copyWithDefaults(child, ownProperty(properties, key)))
  }
  if (properties !== undefined) addDefaults(copy, properties)
  return copy
}

function addDefaults(copy: Record<string, Json>, properties: JsonObject): void {
  for (const key of Object.keys(properties)) {
    if (key === "__proto__" || Object.hasOwn(copy, key)) continue
    const property = properties[key]
    const initial = isJsonObject(property) ? ownProperty(property, "default") : undefined
    if (initial !== undefined) copy[key] = copyWithDefaults(initial, property)
  }
}

function ownProperty(object: JsonObject | undefined, key: string): Json | undefined {
  return object !== undefined && Object.hasOwn(object, key) ? object[key] : undefined
}

/** JSON may hold a key `__proto__`; assigning it would change the object's prototype instead. */
function setOwn(object: Record<string, Json>, key: string, value: Json): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
  } else object[key] = value
}

class NotJson extends Error {}

/** What a model can provoke is its mistake and is told to it; anything else is a fault of the tool's schema. */
function issueOfHostileInput(error: unknown): string | undefined {
  if (error instanceof NotJson) return "arguments: must be JSON"
  if (error instanceof RangeError) return "arguments: nested too deeply"
  if (error instanceof URIError) return "arguments: a property name is not valid Unicode"
  return undefined
}

/** These only say that something below them is wrong, which has its own entry. */
const wrappers: ReadonlySet<string> = new Set([
  "$ref",
  "$recursiveRef",
  "allOf",
  "if",
  "properties",
  "patternProperties",
  "additionalProperties",
  "unevaluatedProperties",
  "dependentSchemas",
  "items",
  "prefixItems",
  "additionalItems",
  "unevaluatedItems",
])

const maxIssues = 20

function describe(errors: readonly OutputUnit[]): readonly string[] {
  const issues = new Set<string>()
  for (const error of errors) if (!wrappers.has(error.keyword)) issues.add(describeOne(error))
  const all = issues.size > 0 ? [...issues] : ["arguments: do not match the schema"]
  return all.length <= maxIssues ? all : [...all.slice(0, maxIssues), `… ${all.length - maxIssues} more`]
}

function describeOne({ keyword, instanceLocation, error }: OutputUnit): string {
  const keys = keysOf(instanceLocation)
  const quoted = /"(.*?)"/.exec(error)?.[1] ?? ""
  switch (keyword) {
    case "required":
      return `${formatPath([...keys, quoted])}: is required`
    case "false":
      return `${formatPath(keys)}: is not allowed here`
    case "type":
      return `${formatPath(keys)}: must be ${error.slice(error.indexOf("Expected ") + 9, -1).replaceAll('"', "")}, not ${quoted}`
    default:
      return `${formatPath(keys)}: ${error.replace(/^Instance /, "").replace(/\.$/, "")}`
  }
}

/** A JSON pointer such as `#/files/0/path`, percent-encoded. */
function keysOf(pointer: string): PropertyKey[] {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => {
      const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~")
      return /^\d{1,9}$/.test(key) ? Number(key) : key
    })
}
