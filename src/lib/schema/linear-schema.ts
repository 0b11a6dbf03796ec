import type { Json, JsonObject, JsonSchema } from "../../contract/json.ts"
import { isJsonObject } from "../json.ts"
import { compileLinearPattern, type LinearPattern, PatternError } from "../linear-pattern.ts"

/**
 * A schema whose author is not the host, made safe to check values with: patterns that cannot run in linear time are left out.
 * `dropped` says which.
 */
export interface LinearSchema {
  readonly schema: JsonSchema
  readonly dropped: readonly string[]
}

/** Throws PatternError, whose message completes "The schema …", for a schema whose references expand without bound. */
export async function linearSchema(schema: JsonSchema): Promise<LinearSchema> {
  if (expandedSize(schema) > MAX_EXPANDED) throw new PatternError("refers to itself too often to be checked")
  const sources = [...patternsIn(schema)]
  const compiled = await Promise.all(sources.map(compilePattern))
  const dropped = sources.filter((_, index) => compiled[index] === undefined)
  if (dropped.length === 0) return { schema, dropped }
  const isDropped = new Set(dropped)
  const kept = rewrite(schema, (node) => {
    const { pattern, patternProperties, ...others } = node
    const isKept = typeof pattern !== "string" || !isDropped.has(pattern)
    return {
      ...others,
      ...(pattern !== undefined && isKept && { pattern }),
      ...(isJsonObject(patternProperties) && {
        patternProperties: Object.fromEntries(Object.entries(patternProperties).filter(([key]) => !isDropped.has(key))),
      }),
    }
  })
  // Safe: only keywords of an object were left out.
  return { schema: kept as JsonSchema, dropped }
}

/** The patterns of a schema, compiled as far as they can run in linear time. */
export async function linearPatterns(schema: JsonSchema): Promise<ReadonlyMap<string, LinearPattern>> {
  const compiled = new Map<string, LinearPattern>()
  for (const source of patternsIn(schema)) {
    const pattern = await compilePattern(source)
    if (pattern) compiled.set(source, pattern)
  }
  return compiled
}

/**
 * The schema for one value, with each pattern replaced by what it says about the texts and keys of that value: the library that checks
 * it runs patterns with JavaScript's own engine, which backtracks. Undefined if the value is too long for its patterns.
 */
export function withoutPatterns(
  schema: JsonSchema,
  value: Json,
  patterns: ReadonlyMap<string, LinearPattern>,
): JsonSchema | undefined {
  const { texts, keys } = textsIn(value)
  if (costOf(patterns, texts) + costOf(patterns, keys) > MAX_COST) return undefined
  const rewritten = rewrite(schema, (node) => {
    const { pattern, patternProperties, ...others } = node
    const linear = typeof pattern === "string" ? patterns.get(pattern) : undefined
    const refused = linear ? [...texts].filter((text) => !linear.test(text)) : []
    const allOf = Array.isArray(others.allOf) ? others.allOf : []
    return {
      ...others,
      ...(pattern !== undefined && !linear && { pattern }),
      ...(refused.length > 0 && { allOf: [...allOf, { if: { not: { enum: refused } }, else: { pattern: NOTHING } }] }),
      ...(isJsonObject(patternProperties) && propertiesOf(others.properties, patternProperties, keys, patterns)),
    }
  })
  // Safe: as above.
  return rewritten as JsonSchema
}

/** The keys of the value that match a pattern become properties by name, with the same effect on all other keywords. */
function propertiesOf(
  given: Json | undefined,
  patternProperties: JsonObject,
  keys: ReadonlySet<string>,
  patterns: ReadonlyMap<string, LinearPattern>,
): JsonObject {
  const properties = new Map(Object.entries(isJsonObject(given) ? given : {}))
  const left: [string, Json][] = []
  for (const [source, schema] of Object.entries(patternProperties)) {
    const linear = patterns.get(source)
    if (!linear) left.push([source, schema])
    for (const key of linear ? keys : []) {
      if (!linear?.test(key)) continue
      const before = properties.get(key)
      properties.set(key, before === undefined ? schema : { allOf: [before, schema] })
    }
  }
  return { properties: Object.fromEntries(properties), patternProperties: Object.fromEntries(left) }
}

async function compilePattern(source: string): Promise<LinearPattern | undefined> {
  try {
    return await compileLinearPattern(source, { syntax: "JavaScript" })
  } catch (error) {
    if (error instanceof PatternError) return undefined
    throw error
  }
}

function patternsIn(schema: JsonSchema): ReadonlySet<string> {
  const found = new Set<string>()
  rewrite(schema, (node) => {
    if (typeof node.pattern === "string") found.add(node.pattern)
    if (isJsonObject(node.patternProperties)) for (const key of Object.keys(node.patternProperties)) found.add(key)
    return node
  })
  return found
}

/** A copy in which every schema below `schema`, and it itself, was changed. */
function rewrite(schema: Json, change: (node: JsonObject) => JsonObject): Json {
  if (Array.isArray(schema)) return schema.map((item: Json) => rewrite(item, change))
  if (!isJsonObject(schema)) return schema
  const entries = Object.entries(schema).map(([keyword, value]): [string, Json] => {
    if (VALUES.has(keyword)) return [keyword, value]
    if (!NAMED.has(keyword) || !isJsonObject(value)) return [keyword, rewrite(value, change)]
    return [keyword, Object.fromEntries(Object.entries(value).map(([name, each]) => [name, rewrite(each, change)]))]
  })
  return change(Object.fromEntries(entries))
}

/** The number of schemas that a check may visit for one place of a value. A reference inside its own target counts once. */
function expandedSize(root: JsonSchema): number {
  const known = new Map<string, number>()
  const visit = (node: Json): number => {
    if (Array.isArray(node)) return node.reduce<number>((sum, item: Json) => sum + visit(item), 0)
    if (!isJsonObject(node)) return 0
    let size = 1
    for (const [keyword, value] of Object.entries(node)) {
      if (VALUES.has(keyword) || DEFINITIONS.has(keyword)) continue
      size +=
        (keyword === "$ref" || keyword === "$dynamicRef") && typeof value === "string" ? target(value) : visit(value)
      if (size > MAX_EXPANDED) return size
    }
    return size
  }
  const target = (reference: string): number => {
    const before = known.get(reference)
    if (before !== undefined) return before
    known.set(reference, 1)
    const size = visit(resolve(root, reference) ?? {})
    known.set(reference, size)
    return size
  }
  return visit(root)
}

/** Only references within the document: the library follows no others. */
function resolve(root: Json, reference: string): Json | undefined {
  if (reference === "#") return root
  if (!reference.startsWith("#/")) return undefined
  let node: Json | undefined = root
  for (const part of reference.slice(2).split("/")) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~")
    if (Array.isArray(node)) node = node[Number(key)]
    else node = isJsonObject(node) && Object.hasOwn(node, key) ? node[key] : undefined
  }
  return node
}

function textsIn(value: Json): { readonly texts: ReadonlySet<string>; readonly keys: ReadonlySet<string> } {
  const texts = new Set<string>()
  const keys = new Set<string>()
  const visit = (node: Json): void => {
    if (typeof node === "string") texts.add(node)
    else if (Array.isArray(node)) node.forEach(visit)
    else if (isJsonObject(node)) {
      for (const [key, each] of Object.entries(node)) {
        keys.add(key)
        // A schema of property names checks keys as texts.
        texts.add(key)
        visit(each)
      }
    }
  }
  visit(value)
  return { texts, keys }
}

function costOf(patterns: ReadonlyMap<string, LinearPattern>, texts: ReadonlySet<string>): number {
  let characters = 0
  for (const text of texts) characters += text.length + 1
  let size = 0
  for (const pattern of patterns.values()) size += pattern.size
  return characters * size
}

/** Keywords whose values are values, not schemas. */
const VALUES: ReadonlySet<string> = new Set(["enum", "const", "default", "examples"])
/** Keywords whose values are schemas by name. */
const NAMED: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "dependencies",
  "$defs",
  "definitions",
])
const DEFINITIONS: ReadonlySet<string> = new Set(["$defs", "definitions"])
/** A pattern that no text matches. */
const NOTHING = "[^\\s\\S]"
const MAX_EXPANDED = 20_000
/** In steps of the engine: about two seconds. */
const MAX_COST = 50_000_000
