import type { ToolCall } from "../../contract/backend.ts"
import type { OwnTool } from "../../contract/capabilities.ts"
import type { Json } from "../../contract/json.ts"
import { isJsonObject, textOrEmpty } from "../../lib/json.ts"
import { parsePatch } from "../../lib/patch/parse-patch.ts"
import { type HookQuestion, objectOf } from "./protocol.ts"

/** A call of one of Codex's own tools, in the vocabulary of policies. */
export interface OwnCall {
  readonly call: ToolCall
  readonly tool: OwnTool
}

/** A call that a policy has permitted, as Codex will name it when it asks. */
export interface PermittedCall {
  readonly name: string
  readonly args: Json
  /** Of a command. */
  readonly command: string
  readonly cwd: string
}

/** Tools that Codex has instead of the runtime's tools of the same name. */
export const ownTools: readonly OwnTool[] = [
  { name: "Bash", nativeName: "exec_command", effect: "once", risk: "high" },
  { name: "ApplyPatch", nativeName: "apply_patch", effect: "once", risk: "medium" },
]

const knownTools: readonly OwnTool[] = [
  ...ownTools,
  { name: "Read", nativeName: "view_image", effect: "none", risk: "low" },
  ...["tool_search", "list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource"].map(
    (name): OwnTool => ({ name, nativeName: name, effect: "none", risk: "low" }),
  ),
]

/** True if a hook means Codex's own tool by this name. */
export function isOwnName(tool: string): boolean {
  return tool === "Bash" || knownTools.some(({ nativeName }) => nativeName === tool)
}

/**
 * The call that a hook asks about. The arguments are those of the hook. A command for another folder begins with `cd`, so
 * that a policy reads its paths correctly. A patch that is passed through the shell is also given as `patch`: Codex applies
 * it without a shell, and policies read the paths in it. `cwd`: the folder of the thread.
 */
export function ownCall(question: HookQuestion, servers: readonly string[], cwd: string): OwnCall {
  const { callId, tool, input } = question
  const command = textOrEmpty(objectOf(input).command)
  if (tool === "Bash") {
    const isElsewhere = question.cwd !== cwd
    const patch = isElsewhere ? undefined : patchInShell(command)
    if (patch !== undefined) {
      return { call: { callId, name: "ApplyPatch", args: { command, patch } }, tool: named("ApplyPatch") }
    }
    const args = isElsewhere ? { command: `cd ${shellCommand([question.cwd])} && ${command}` } : input
    return { call: { callId, name: "Bash", args }, tool: named("Bash") }
  }
  if (tool === "apply_patch") {
    return { call: { callId, name: "ApplyPatch", args: { patch: command } }, tool: named("ApplyPatch") }
  }
  const known = knownTools.find(({ nativeName }) => nativeName === tool)
  if (known) return { call: { callId, name: known.name, args: input }, tool: known }
  const name = mcpName(tool, servers) ?? tool
  return { call: { callId, name, args: input }, tool: { name, nativeName: tool, effect: "once", risk: "high" } }
}

/**
 * The hook's input for arguments that a policy has changed. Undefined: they cannot be passed on. A patch in a shell
 * command cannot be replaced: the command would have to be rewritten.
 */
export function hookInput({ name }: ToolCall, args: Json): Json | undefined {
  if (name !== "ApplyPatch") return isJsonObject(args) ? args : undefined
  const { command, patch } = objectOf(args)
  return command === undefined && typeof patch === "string" ? { command: patch } : undefined
}

/** One argument list as a shell command. */
export function shellCommand(words: readonly string[]): string {
  return words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ")
}

/** The server and the tool of a call of the caller's MCP servers. */
export function mcpParts(name: string): { readonly server: string; readonly tool: string } | undefined {
  const [, server, tool] = /^mcp:([^/]+)\/(.+)$/s.exec(name) ?? []
  return server === undefined || tool === undefined ? undefined : { server, tool }
}

/** True if an approval request names exactly the permitted command, in a usual shell. */
export function isSameCommand(asked: string, permitted: string): boolean {
  const [shell = "", flag = "", command, ...more] = unquoted(asked) ?? []
  return usualShell.test(shell) && /^-l?c$/.test(flag) && command === permitted && more.length === 0
}

/** True if every changed file is one that the patch names. `changed`: absolute paths. */
export function isWithinPatch(patch: string, cwd: string, changed: readonly string[]): boolean {
  try {
    const paths = parsePatch(patch).flatMap((file) =>
      file.kind === "update" && file.moveTo !== undefined ? [file.path, file.moveTo] : [file.path],
    )
    const named = new Set(paths.map((path) => resolved(cwd, path)))
    return changed.length > 0 && changed.every((path) => named.has(resolved(cwd, path)))
  } catch {
    return false
  }
}

/** The simplest form that Codex itself recognises as a patch. Any other form stays a command. */
function patchInShell(command: string): string | undefined {
  const [, , , patch] = /^\s*apply_?patch\s*<<\s*(['"]?)(\w+)\1[ \t]*\n(.*\n)\2\s*$/s.exec(command) ?? []
  return patch
}

function mcpName(tool: string, servers: readonly string[]): string | undefined {
  const known = servers.filter((each) => tool.startsWith(`mcp__${each}__`)).toSorted((a, b) => b.length - a.length)[0]
  const server = known ?? /^mcp__(.+?)__./s.exec(tool)?.[1]
  return server === undefined ? undefined : `mcp:${server}/${tool.slice(`mcp__${server}__`.length)}`
}

function named(name: string): OwnTool {
  // Safe: only names of the table are looked up.
  return ownTools.find((tool) => tool.name === name) as OwnTool
}

/** The words of a command line that was quoted word by word. Undefined: it is not one. */
function unquoted(line: string): readonly string[] | undefined {
  const words: string[] = []
  let word: string | undefined
  for (let at = 0; at < line.length; at++) {
    const char = line[at] ?? ""
    if (char === " ") {
      if (word !== undefined) words.push(word)
      word = undefined
    } else if (char === "'" || char === '"') {
      const end = endOfQuote(line, at)
      if (end === -1) return undefined
      const inside = line.slice(at + 1, end)
      word = (word ?? "") + (char === "'" ? inside : inside.replace(/\\([\\"$`])/g, "$1"))
      at = end
    } else {
      word = (word ?? "") + (char === "\\" ? (line[++at] ?? "") : char)
    }
  }
  return word === undefined ? words : [...words, word]
}

function endOfQuote(line: string, start: number): number {
  if (line[start] === "'") return line.indexOf("'", start + 1)
  for (let at = start + 1; at < line.length; at++) {
    if (line[at] === "\\") at++
    else if (line[at] === '"') return at
  }
  return -1
}

function resolved(cwd: string, path: string): string {
  const parts: string[] = []
  for (const part of (path.startsWith("/") ? path : `${cwd}/${path}`).split("/")) {
    if (part === "..") parts.pop()
    else if (part !== "" && part !== ".") parts.push(part)
  }
  return `/${parts.join("/")}`
}

const usualShell = /^(\/usr(\/local)?)?\/bin\/(ba|z|da)?sh$/
