import type { JsonObject } from "../../../contract/json.ts"
import type { Tool } from "../../../contract/tool.ts"
import { usesNothing } from "../../../lib/access/arguments.ts"
import { isJsonObject } from "../../../lib/json.ts"
import type { CheckedService } from "../service.ts"
import type { Operation } from "./operation.ts"

/** The tool ApiSearch: an API may have a thousand operations, and a call needs one. */
export function apiSearch(services: readonly CheckedService[]): Tool {
  const entries = services.flatMap(({ name, operations = [] }) =>
    operations.map((operation) => ({ service: name, operation, words: wordsOf(searchText(operation)) })),
  )
  return {
    name: "ApiSearch",
    description: `Finds operations of ${services.map(({ name }) => name).join(", ")} and says how ApiCall calls them.`,
    inputSchema: {
      type: "object",
      properties: {
        query: { type: "string", minLength: 1, maxLength: 400, description: "What the operation does, or its id." },
        service: { type: "string", enum: services.map(({ name }) => name) },
        limit: { type: "integer", minimum: 1, maximum: 20, default: 5 },
      },
      required: ["query"],
      additionalProperties: false,
    },
    uses: usesNothing,
    effect: "none",
    concurrent: true,
    risk: "low",
    run(args) {
      const { query, service, limit } = isJsonObject(args) ? args : {}
      const text = String(query)
      const sought = wordsOf(text)
      const found = entries
        .filter((entry) => service === undefined || entry.service === service)
        .map((entry) => ({ ...entry, score: scoreOf(entry.operation, entry.words, text, sought) }))
        .filter(({ score }) => score > 0)
        .sort((left, right) => right.score - left.score)
        .slice(0, typeof limit === "number" ? limit : 5)
      if (found.length === 0) return `No operation matches ${JSON.stringify(text)}.`
      return found.map((entry) => described(entry.service, entry.operation)).join("\n\n")
    },
  }
}

function scoreOf({ id }: Operation, words: ReadonlySet<string>, query: string, sought: ReadonlySet<string>): number {
  const exact = query.split(/\s+/).includes(id) ? 100 : 0
  const own = wordsOf(id)
  return exact + [...sought].reduce((score, word) => score + (own.has(word) ? 2 : words.has(word) ? 1 : 0), 0)
}

function described(service: string, { id, method, path, summary, parameters, body }: Operation): string {
  const of = (place: "path" | "query") => schemaOf(parameters.filter((each) => each.in === place))
  const inQuery = parameters.some((each) => each.in === "query")
  return [
    `${id}: ${summary}`.trim(),
    `ApiCall service: ${service}, method: ${method}, path: ${path}`,
    ...(parameters.some((each) => each.in === "path") ? [`in the path: ${JSON.stringify(of("path"))}`] : []),
    ...(inQuery ? [`query: ${JSON.stringify(of("query"))}`] : []),
    ...(body ? [`body${body.required ? "" : " (optional)"}: ${JSON.stringify(body.schema)}`] : []),
  ].join("\n")
}

/** Parameters as the schema of an object. */
export function schemaOf(parameters: Operation["parameters"]): JsonObject {
  const properties = parameters.map(({ name, description, schema }): [string, JsonObject] => [
    name,
    description === undefined ? schema : { ...schema, description },
  ])
  const required = parameters.filter((each) => each.required).map(({ name }) => name)
  return { type: "object", properties: Object.fromEntries(properties), ...(required.length > 0 && { required }) }
}

function searchText({ id, method, path, summary, parameters }: Operation): string {
  return [id, method, path, summary, ...parameters.map(({ name }) => name)].join(" ")
}

/** Without endings of plurals, in which ids and questions differ most. */
function wordsOf(text: string): ReadonlySet<string> {
  const words = text
    .replace(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu)
  return new Set(words?.map((word) => (word.length > 3 ? word.replace(/s$/, "") : word)))
}
