import type { Tool as McpTool } from "@modelcontextprotocol/client"
import type { Json, JsonObject, JsonSchema } from "../../contract/json.ts"
import { canonicalJson, isJsonObject } from "../../lib/json.ts"
import { mcpSafe } from "../../lib/mcp-servers.ts"
import { sha256 } from "../../lib/sha256.ts"
import { hiddenCharacters } from "../../lib/text/hidden-characters.ts"

/** A tool of a server as its definition says, under the name that the model gets. */
export interface Definition {
  readonly server: string
  /** As the server calls it. */
  readonly tool: string
  /** As the model calls it. */
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
  readonly hints: JsonObject
  /** Of everything that the server says about it. */
  readonly digest: string
}

/** Names are unique, at most 64 characters long, and the same for the same list. */
export function definitionsOf(server: string, tools: readonly McpTool[]): readonly Definition[] {
  const names = new Map<string, number>()
  for (const { name } of tools) names.set(toolName(server, name), (names.get(toolName(server, name)) ?? 0) + 1)
  return tools.map((tool): Definition => {
    const { name, description = "", annotations } = tool
    const plain = toolName(server, name)
    const isUnique = plain.length <= MAX_NAME_LENGTH && names.get(plain) === 1
    const hints: Json = isJsonObject(annotations) ? annotations : {}
    return {
      server,
      tool: name,
      name: isUnique ? plain : `${plain.slice(0, MAX_NAME_LENGTH - 7)}_${sha256(`${server}/${name}`).slice(0, 6)}`,
      description: visible(description),
      // The protocol layer has checked that it is a JSON Schema of an object.
      inputSchema: visibleJson(tool.inputSchema as JsonSchema) as JsonSchema,
      hints,
      digest: sha256(canonicalJson(definedBy(tool))),
    }
  })
}

/** The part that the digest covers, and that is shown if it changes. */
export function definedBy({ name, description = "", inputSchema, annotations }: McpTool): JsonObject {
  // Came as JSON.
  return { name, description, inputSchema: inputSchema as Json, hints: (annotations ?? {}) as Json } as JsonObject
}

function toolName(server: string, tool: string): string {
  return `mcp__${mcpSafe(server)}__${mcpSafe(tool)}`
}

/** Characters that people do not see must not reach the model either. */
export function visible(text: string): string {
  return text.replace(hiddenCharacters, "")
}

function visibleJson(value: Json): Json {
  if (typeof value === "string") return visible(value)
  if (Array.isArray(value)) return value.map(visibleJson)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [visible(key), visibleJson(each)]))
}

const MAX_NAME_LENGTH = 64
