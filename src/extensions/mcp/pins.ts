import type { Tool as McpTool } from "@modelcontextprotocol/client"
import type { ExtensionRun } from "../../contract/extension.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import type { McpServer } from "../../contract/mcp.ts"
import { canonicalJson, isJsonObject } from "../../lib/json.ts"
import { sha256 } from "../../lib/sha256.ts"
import { definedBy, visible } from "./definitions.ts"

/**
 * What a workspace knows of a server's tools. The first list is trusted; later ones have to agree with it, or a person accepts
 * the change. Versions are only added, so that two runs at the same time agree on one.
 */
export class Pins {
  readonly #folder: ReturnType<ExtensionRun["shared"]["folder"]>
  readonly #prefix: string

  constructor(shared: ExtensionRun["shared"], name: string, server: McpServer) {
    this.#folder = shared.folder(".longhaul/mcp/pins")
    this.#prefix = `${name}-${sha256(identityOf(server)).slice(0, 8)}-`
  }

  /** The pinned definitions by tool; they are the given ones if there were none. */
  async pinned(tools: readonly McpTool[]): Promise<PinnedTools> {
    for (;;) {
      const version = await this.#newest()
      if (version > 0) return this.#read(version)
      if ((await this.#write(1, tools)) === "created") return byName(tools)
    }
  }

  /** Accepts the tools as they are now. */
  async accept(tools: readonly McpTool[]): Promise<void> {
    let version = (await this.#newest()) + 1
    while ((await this.#write(version, tools)) === "exists") version++
  }

  async #newest(): Promise<number> {
    const names = await this.#folder.list()
    const versions = names.flatMap((name) => {
      const digits = name.startsWith(this.#prefix) ? /^(\d+)\.json$/.exec(name.slice(this.#prefix.length)) : null
      return digits ? [Number(digits[1])] : []
    })
    return Math.max(0, ...versions)
  }

  async #read(version: number): Promise<PinnedTools> {
    const bytes = await this.#folder.read(this.#nameOf(version))
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes ?? undefined))
    const tools = isJsonObject(value) && isJsonObject(value.tools) ? value.tools : {}
    return new Map(Object.entries(tools))
  }

  #write(version: number, tools: readonly McpTool[]): Promise<"created" | "exists"> {
    const text = JSON.stringify({ tools: Object.fromEntries(byName(tools)) })
    return this.#folder.create(this.#nameOf(version), new TextEncoder().encode(text))
  }

  #nameOf(version: number): string {
    return `${this.#prefix}${version}.json`
  }
}

export type PinnedTools = ReadonlyMap<string, Json>

/** One that is new, or differs from what is pinned, with the difference for people. */
export interface ChangedTool {
  readonly name: string
  readonly difference: string
}

/** A renamed tool is a new one: nobody has seen it under this name. */
export function changedTools(pinned: PinnedTools, tools: readonly McpTool[]): readonly ChangedTool[] {
  return tools.flatMap((tool): ChangedTool[] => {
    const before = pinned.get(tool.name)
    const now = definedBy(tool)
    if (before === undefined) return [{ name: tool.name, difference: "it is new" }]
    return canonicalJson(before) === canonicalJson(now)
      ? []
      : [{ name: tool.name, difference: difference(isJsonObject(before) ? before : {}, now) }]
  })
}

function byName(tools: readonly McpTool[]): PinnedTools {
  return new Map(tools.map((tool) => [tool.name, definedBy(tool)]))
}

function difference(before: JsonObject, now: JsonObject): string {
  const parts = Object.keys(now).filter((key) => canonicalJson(before[key] ?? null) !== canonicalJson(now[key] ?? null))
  return parts.map((key) => `${key} was ${shown(before[key])} and is ${shown(now[key])}`).join("; ")
}

function shown(value: Json | undefined): string {
  const text = visible(JSON.stringify(value ?? null))
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text
}

/** Another address or command is another server. */
export function identityOf(server: McpServer): string {
  return "url" in server ? server.url : canonicalJson([server.command, ...(server.args ?? [])])
}

const LONGEST_SHOWN = 300
