import type { Tool as McpTool } from "@modelcontextprotocol/client"
import type { ExtensionRun } from "../../contract/extension.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import type { McpServer } from "../../contract/mcp.ts"
import { canonicalJson, isJsonObject, withTexts } from "../../lib/json.ts"
import { sha256 } from "../../lib/sha256.ts"
import { firstWords } from "../../lib/text/before-cut.ts"
import type { ServerConnection } from "./connection.ts"
import { definedBy, visible } from "./definitions.ts"

/**
 * What a workspace knows of a server's tools. The first list is trusted; later ones have to agree with it, or a person accepts
 * the change. Versions are only added, so that two runs at the same time agree on one.
 */
export class Pins {
  readonly #folder: ReturnType<ExtensionRun["shared"]["folder"]>
  readonly #prefix: string
  readonly #server: PinnedServer

  constructor(shared: ExtensionRun["shared"], server: PinnedServer) {
    this.#folder = shared.folder(".longhaul/mcp/pins")
    this.#prefix = `${server.name}-${sha256(identityOf(server.server)).slice(0, 8)}-`
    this.#server = server
  }

  /** The tools that differ from the pinned ones. If none are pinned, these are. A renamed tool is new. */
  async changed(tools: readonly McpTool[]): Promise<readonly ChangedTool[]> {
    const now = this.#definitions(tools)
    const pinned = await this.#pinned(now)
    return Object.entries(now).flatMap(([name, definition]): ChangedTool[] => {
      const before = pinned.get(name)
      if (before === undefined) return [{ name, difference: "it is new" }]
      return canonicalJson(before) === canonicalJson(definition)
        ? []
        : [{ name, difference: difference(isJsonObject(before) ? before : {}, definition) }]
    })
  }

  /** Accepts the tools as they are now. */
  async accept(tools: readonly McpTool[]): Promise<void> {
    const now = this.#definitions(tools)
    let version = (await this.#newest()) + 1
    while ((await this.#write(version, now)) === "exists") version++
  }

  async #pinned(now: Definitions): Promise<ReadonlyMap<string, Json>> {
    for (;;) {
      const version = await this.#newest()
      if (version > 0) return this.#read(version)
      if ((await this.#write(1, now)) === "created") return new Map(Object.entries(now))
    }
  }

  async #newest(): Promise<number> {
    const names = await this.#folder.list()
    const versions = names.flatMap((name) => {
      const digits = name.startsWith(this.#prefix) ? /^(\d+)\.json$/.exec(name.slice(this.#prefix.length)) : null
      return digits ? [Number(digits[1])] : []
    })
    return Math.max(0, ...versions)
  }

  async #read(version: number): Promise<ReadonlyMap<string, Json>> {
    const bytes = await this.#folder.read(this.#nameOf(version))
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes ?? undefined))
    const tools = isJsonObject(value) && isJsonObject(value.tools) ? value.tools : {}
    // Older versions wrote definitions as the server sent them.
    return new Map(Object.entries(tools).map(([name, each]) => [name, this.#masked(each)]))
  }

  #write(version: number, tools: Definitions): Promise<"created" | "exists"> {
    return this.#folder.create(this.#nameOf(version), new TextEncoder().encode(JSON.stringify({ tools })))
  }

  /** A server may repeat what it was given: a file of the workspace must not hold it. */
  #definitions(tools: readonly McpTool[]): Definitions {
    return Object.fromEntries(tools.map((tool) => [tool.name, this.#masked(definedBy(tool))]))
  }

  #masked<Value extends Json>(value: Value): Value {
    // Safe: only texts change.
    return withTexts(value, (text) => this.#server.masked(text)) as Value
  }

  #nameOf(version: number): string {
    return `${this.#prefix}${version}.json`
  }
}

/** The part of a connection that is needed here. */
type PinnedServer = Pick<ServerConnection, "name" | "server" | "masked">

type Definitions = Readonly<Record<string, JsonObject>>

/** A tool that is new, or differs from what is pinned, with the difference for people. */
export interface ChangedTool {
  readonly name: string
  readonly difference: string
}

function difference(before: JsonObject, now: JsonObject): string {
  const parts = Object.keys(now).filter((key) => canonicalJson(before[key] ?? null) !== canonicalJson(now[key] ?? null))
  return parts.map((key) => `${key} was ${shown(before[key])} and is ${shown(now[key])}`).join("; ")
}

function shown(value: Json | undefined): string {
  const text = visible(JSON.stringify(value ?? null))
  return text.length > MAX_SHOWN_LENGTH ? `${firstWords(text, MAX_SHOWN_LENGTH)}…` : text
}

/** Another address or command is another server. */
export function identityOf(server: McpServer): string {
  return "url" in server ? server.url : canonicalJson([server.command, ...(server.args ?? [])])
}

const MAX_SHOWN_LENGTH = 300
