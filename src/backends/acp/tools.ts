import type { ToolCall } from "../../contract/backend.ts"
import type { OwnTool } from "../../contract/capabilities.ts"
import type { Json, JsonObject } from "../../contract/json.ts"
import { canonicalJson, isJsonObject, textOrEmpty } from "../../lib/json.ts"
import { type AcpCallFacts, objectOf } from "./protocol.ts"

/** A call, with the title under which it was announced: later titles may contain texts of the model. */
export interface SeenCall extends AcpCallFacts {
  readonly firstTitle: string
  /** False: known only from the question about it. */
  readonly isAnnounced: boolean
}

/** How an agent names its tools. The protocol has only kinds and titles. */
export interface ToolNaming {
  /** The agent's own name for the tool of a call, if it reports it. */
  nativeName(call: SeenCall): string | undefined
  /** False: such a name may also be the model's words, and counts only for tools of MCP servers. */
  readonly isCertain: boolean
  /** The names that a tool of an MCP server may have there. */
  serverTool(server: string, tool: string): readonly string[]
  /** The tools that the policy knows by another name. */
  readonly known: readonly OwnTool[]
  /** The tool that arguments belong to, where a kind has several tools. */
  byArguments?(kind: string, args: JsonObject): string | undefined
}

/** The tools of a kind, for agents that do not name them. */
const byKind: Readonly<Record<string, OwnTool>> = {
  execute: { name: "Bash", nativeName: "execute", effect: "once", risk: "high" },
  edit: { name: "Edit", nativeName: "edit", effect: "once", risk: "medium" },
  delete: { name: "Delete", nativeName: "delete", effect: "once", risk: "high" },
  move: { name: "Move", nativeName: "move", effect: "once", risk: "high" },
  read: { name: "Read", nativeName: "read", effect: "none", risk: "low" },
  search: { name: "Grep", nativeName: "search", effect: "none", risk: "low" },
  fetch: { name: "WebFetch", nativeName: "fetch", effect: "none", risk: "low" },
}

export const kindTools: readonly OwnTool[] = Object.values(byKind)

/** The call of the runtime's tools that a question is about. Undefined: it is not certain to be one. */
export function oursIn(
  call: SeenCall,
  asked: AcpCallFacts | undefined,
  bridge: string,
  tools: readonly string[],
  naming: ToolNaming,
): string | undefined {
  if (call.kind !== "other" || (asked !== undefined && asked.kind !== "other")) return undefined
  const native = naming.nativeName(call)
  if (native === undefined) return undefined
  // Some agents do not repeat the arguments in their question.
  const given = asked?.rawInput
  const isSame = isEmpty(given) || isEmpty(call.rawInput) || sameJson(given ?? null, call.rawInput ?? null)
  return isSame ? tools.find((tool) => naming.serverTool(bridge, tool).includes(native)) : undefined
}

/** The tool of a call, in the vocabulary of policies. A tool that is not known is treated with care. */
export function ownTool(call: SeenCall, servers: readonly string[], naming: ToolNaming): OwnTool {
  const kind = call.kind ?? "other"
  const native = naming.nativeName(call)
  if (native !== undefined) {
    const known = naming.known.find(({ nativeName }) => nativeName === native)
    if (known && naming.isCertain) return known
    // The name of one server may begin like that of another.
    const [server] = servers
      .flatMap((name) => naming.serverTool(name, "").map((prefix) => ({ name, prefix })))
      .filter(({ prefix }) => native.startsWith(prefix))
      .toSorted((one, other) => other.prefix.length - one.prefix.length)
    if (server) return careful(`mcp:${server.name}/${native.slice(server.prefix.length)}`, native)
  }
  const named = naming.byArguments?.(kind, objectOf(call.rawInput))
  const tool = naming.known.find(({ name }) => name === named) ?? byKind[kind]
  if (tool) return tool
  return native !== undefined && naming.isCertain ? careful(native, native) : careful(`acp:${kind}`, kind)
}

/**
 * The arguments of a call. Exact where the agent announced them before its question; else what it shows of them, which
 * may be shortened.
 */
export function argumentsOf(call: SeenCall, asked?: AcpCallFacts): Pick<ToolCall, "args" | "inexact"> {
  const question = objectOf(asked?.rawInput)
  // Questions about files have a form of their own; others repeat what was announced.
  const isRepeated = call.kind === "other" && !isEmpty(question)
  const isOther =
    (typeof question.command === "string" && question.command !== objectOf(call.rawInput).command) ||
    (isRepeated && !sameJson(question, call.rawInput ?? null))
  if (isJsonObject(call.rawInput) && call.isAnnounced && !isEmpty(call.rawInput) && !isOther) {
    return { args: call.rawInput }
  }
  if (!isEmpty(question)) return { args: question, inexact: true }
  return { args: isEmpty(call.rawInput) ? shownIn(call) : (call.rawInput ?? {}), inexact: true }
}

/** Adds what an update says to what is known. */
export function merged(known: SeenCall | undefined, update: AcpCallFacts, isAnnounced: boolean): SeenCall {
  const base = known ?? { id: update.id, firstTitle: update.title ?? "", isAnnounced }
  const { rawInput, ...rest } = update
  const keeps = rawInput === undefined || (isEmpty(rawInput) && known?.rawInput !== undefined)
  return { ...base, ...rest, ...(!keeps && { rawInput }), isAnnounced: base.isAnnounced || isAnnounced }
}

export function sameJson(one: Json, other: Json): boolean {
  return canonicalJson(one) === canonicalJson(other)
}

/** The part of a call that a question shows, for a call whose arguments the agent does not reveal. */
function shownIn({ title = "", kind, content = [], locations = [] }: SeenCall): JsonObject {
  if (kind === "execute") return { command: title }
  const diffs = content.filter(({ type }) => type === "diff")
  const [diff] = diffs
  if (diff !== undefined && diffs.length === 1) {
    return { path: textOrEmpty(diff.path), oldText: textOrEmpty(diff.oldText), newText: textOrEmpty(diff.newText) }
  }
  const [text] = content.map((part) => textOrEmpty(objectOf(part.content).text)).filter((each) => each !== "")
  const parsed = text === undefined ? undefined : parsedObject(text)
  if (parsed) return parsed
  const paths = [...new Set([...diffs, ...locations].map(({ path }) => textOrEmpty(path)))]
  // A rule about one path must not decide about several.
  const where = paths.length === 1 ? { path: paths[0] ?? "" } : { paths }
  return { title, ...(paths.length > 0 && where), ...(text !== undefined && { text }) }
}

function parsedObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isEmpty(value: Json | undefined): boolean {
  if (value === undefined || value === null) return true
  if (!isJsonObject(value)) return false
  // Agents add the folder before the arguments are complete.
  return Object.keys(value).every((key) => key === "cwd")
}

function careful(name: string, nativeName: string): OwnTool {
  return { name, nativeName, effect: "once", risk: "high" }
}
