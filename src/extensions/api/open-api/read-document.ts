import { LonghaulError } from "../../../contract/error.ts"
import type { Json, JsonObject } from "../../../contract/json.ts"
import { isJsonObject } from "../../../lib/json.ts"

/** Reads a document from JSON, YAML or an object. */
export async function readDocument(given: string | JsonObject): Promise<JsonObject> {
  const document = typeof given === "string" ? await parsed(given) : given
  const version = isJsonObject(document) ? document.openapi : undefined
  if (isJsonObject(document) && typeof version === "string" && /^3\./.test(version)) return document
  throw new LonghaulError("config_invalid", "The document is not an OpenAPI 3 document.", {
    fix: "Pass the text or the object of a document with `openapi: 3.x`.",
  })
}

async function parsed(text: string): Promise<Json> {
  try {
    return JSON.parse(text)
  } catch {}
  try {
    const { parse } = await import("yaml")
    return parse(text, { maxAliasCount: 100 })
  } catch (error) {
    throw new LonghaulError("config_invalid", "The OpenAPI document is neither JSON nor YAML.", { cause: error })
  }
}

/** Returns a function that replaces the references in a part of a document by what they refer to. */
export function resolver(document: JsonObject): (part: Json | undefined) => Json {
  let left = 0
  /** `isMap`: the names in it are those of properties, not words of a schema. */
  function resolve(part: Json, above: readonly string[], isMap = false): Json {
    left--
    // Documents may refer to themselves, and expand without bound: what is cut off accepts anything.
    if (left < 0 || above.length > MAX_DEPTH) return {}
    if (Array.isArray(part)) return part.map((item: Json) => resolve(item, above))
    if (!isJsonObject(part)) return part
    const { $ref: reference } = part
    if (typeof reference === "string" && !isMap) {
      if (above.includes(reference)) return {}
      return resolve(target(document, reference), [...above, reference])
    }
    const entries = Object.entries(part).flatMap(([name, value]): [string, Json][] => {
      if (isMap) return [[name, resolve(value, above)]]
      if (unread.includes(name)) return []
      return [[name, literal.includes(name) ? value : resolve(value, above, maps.includes(name))]]
    })
    const resolved = Object.fromEntries(entries)
    return isMap ? resolved : modern(resolved)
  }
  return (part) => {
    left = MAX_NODES
    return part === undefined ? {} : resolve(part, [])
  }
}

function target(document: JsonObject, reference: string): Json {
  let found: Json | undefined = reference.startsWith("#/") ? document : undefined
  for (const name of reference.slice(2).split("/")) {
    const key = unescaped(name)
    found = (isJsonObject(found) || Array.isArray(found)) && Object.hasOwn(found, key) ? Object(found)[key] : undefined
  }
  if (found !== undefined) return found
  const message = `The OpenAPI document refers to ${JSON.stringify(reference.slice(0, 200))}, which it does not contain.`
  throw new LonghaulError("config_invalid", message, {
    fix: "Bundle the document into one file: only local references are read.",
  })
}

function unescaped(name: string): string {
  const text = name.replaceAll("~1", "/").replaceAll("~0", "~")
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Version 3.0 has its own words for what JSON Schema says otherwise. */
function modern(schema: JsonObject): JsonObject {
  const { nullable, exclusiveMinimum, exclusiveMaximum, minimum, maximum, ...rest } = schema
  const isNullable = nullable === true && typeof rest.type === "string"
  const ends = {
    ...limit("minimum", "exclusiveMinimum", minimum, exclusiveMinimum),
    ...limit("maximum", "exclusiveMaximum", maximum, exclusiveMaximum),
  }
  return { ...rest, ...(isNullable && { type: [rest.type ?? "null", "null"] }), ...ends }
}

function limit(name: string, strictName: string, value: Json | undefined, strict: Json | undefined): JsonObject {
  if (strict === true && value !== undefined) return { [strictName]: value }
  const kept = value === undefined ? {} : { [name]: value }
  return typeof strict === "number" || isJsonObject(strict) ? { ...kept, [strictName]: strict } : kept
}

/** Neither checked nor worth a model's attention. */
const unread = ["example", "examples", "xml", "externalDocs", "discriminator"]
/** Values, not schemas. */
const literal = ["default", "enum", "const", "required"]
const maps = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"]

const MAX_DEPTH = 20
const MAX_NODES = 20_000
