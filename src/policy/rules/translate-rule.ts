import type { Matcher, RuleVerdict } from "../../contract/policy.ts"
import { readers, writers } from "./known-tools.ts"

/** A matcher with the same meaning; or a note why there is none. A note with a matcher says what is different. */
export type Translated =
  | { readonly matcher: Matcher; readonly note?: string }
  /** `tool`: the tools that it is about. If a refusal is lost, no permission for them may be translated. */
  | { readonly note: string; readonly tool?: readonly string[] }

/** Translates a rule such as `Bash(git diff:*)`, `Read(./src/**)` or `mcp__mail__send`. */
export function translateRule(text: string, verdict: RuleVerdict): Translated {
  const [, name = "", content] = /^([\w*-]+)(?:\((.*)\))?$/s.exec(text.trim()) ?? []
  const isPermission = verdict === "allow"
  if (name.startsWith("mcp__")) {
    return content === undefined || !isPermission ? fromServer(name, isPermission) : unknown
  }
  if (name === "Bash") return content === undefined ? { matcher: { tool: "Bash" } } : fromCommand(content, isPermission)
  if (name === "WebFetch" && content !== undefined) return fromDomain(content, isPermission)
  if (Object.hasOwn(wholeTools, name) && content === undefined) return { matcher: { tool: wholeTools[name] ?? [] } }
  if (content === undefined || !pathTools.has(name)) return { ...unknown, tool: wholeTools[name] ?? [] }
  // Claude Code consults path rules only for these two; a refusal may become wider, a permission may not.
  if (isPermission && name !== "Read" && name !== "Edit") {
    return { note: `Claude Code ignores paths in rules for ${name}, so it allows nothing.` }
  }
  const tool = readerNames.has(name) ? readers : writers
  const path = isPermission ? permittedPaths(content) : refusedPaths(content)
  if (path === undefined) return { note: "Its path cannot be expressed as a pattern.", tool }
  if (isPermission) return { matcher: { tool, path } }
  return { matcher: readerNames.has(name) ? { read: path } : { write: path } }
}

const unknown = { note: "It names no tool that is known here." }

const wholeTools: Readonly<Record<string, readonly string[]>> = {
  Read: readers,
  Edit: writers,
  Write: ["Write"],
  MultiEdit: ["MultiEdit"],
  NotebookEdit: ["NotebookEdit"],
  Glob: ["Glob"],
  Grep: ["Grep"],
  LS: ["List"],
  WebFetch: ["WebFetch"],
  WebSearch: ["WebSearch"],
}

const readerNames: ReadonlySet<string> = new Set(["Read", "Glob", "Grep", "LS"])
const pathTools: ReadonlySet<string> = new Set([...readerNames, "Edit", "Write", "MultiEdit", "NotebookEdit"])

/** `mcp__server`, `mcp__server__*` and `mcp__server__tool`. */
function fromServer(name: string, isPermission: boolean): Translated {
  const [, server = "", tool = "*"] = /^mcp__(.+?)(?:__(.+))?$/.exec(name) ?? []
  if (isPermission && server.includes("*")) return { note: "A star in place of a server allows nothing." }
  return { matcher: { tool: `mcp:${server}/${tool}` } }
}

function fromCommand(content: string, isPermission: boolean): Translated {
  const plain = /^[^;&|<>()`$"'\\\n]*/.exec(content)?.[0] ?? ""
  const given = content
    .replace(/(?<=.):\*$/, " *")
    .trim()
    .split(/\s+/)
  if (given[0] === "*" && given.length === 1) return { matcher: { tool: "Bash" } }
  // A pattern is for one command, and its words are as the program receives them.
  const isPlain = plain === content && given[0] !== "" && given[0] !== ":*"
  if (isPermission) {
    return isPlain ? { matcher: { tool: "Bash", command: given.join(" ") } } : { note: notOneCommand }
  }
  // A wider refusal: every command that begins with the words before the first sign of the shell.
  const words = isPlain
    ? given
    : [
        ...plain
          .trim()
          .split(/\s+/)
          .slice(0, /\s$/.test(plain) ? undefined : -1),
        "**",
      ]
  if (words[0] === "" || words[0]?.startsWith("*")) return { note: notOneCommand, tool: ["Bash"] }
  const last = words.length - 1
  const wider = words.flatMap((word, index) => {
    if (word === "*" && index < last) return ["**"]
    // The star may reach beyond the word.
    return word.includes("*") && word !== "*" && word !== "**" ? [word, "**"] : [word]
  })
  const command = wider.filter((word, index) => word !== "**" || wider[index - 1] !== "**").join(" ")
  const matcher = { tool: "Bash", command }
  return isPlain ? { matcher } : { matcher, note: "It became wider: only its first words can be compared." }
}

const notOneCommand = "It is not the words of a single command."

function fromDomain(content: string, isPermission: boolean): Translated {
  const [, host] = /^domain:((?:\*\.)?[a-z0-9.-]+|\*)$/i.exec(content.trim()) ?? []
  if (host === undefined) return { note: "It names no domain.", tool: ["WebFetch"] }
  const url = [`*://${host}/**`]
  if (!isPermission && !host.startsWith("*")) url.push(`*://*.${host}/**`)
  return { matcher: { tool: "WebFetch", url } }
}

/** `//p` is absolute, `/p` and `./p` start at the workspace. Undefined if it cannot be expressed. */
function permittedPaths(content: string): readonly string[] | undefined {
  const start = startOf(content)
  if (start === undefined || /[?[\]{}!\\]|(^|\/)\.(\/|$)/.test(start.path)) return undefined
  // With a slash inside, a bare path starts at the workspace as well.
  const isAnywhere = start.isBare && !start.path.replace(/\/$/, "").includes("/")
  const path = start.path.endsWith("/") ? `${start.path}**` : start.path
  return [isAnywhere ? `**/${path}` : path]
}

function refusedPaths(content: string): readonly string[] | undefined {
  const start = startOf(content)
  if (start === undefined || /[!\\]/.test(content)) return undefined
  const alternatives = expandBraces(start.path)
  return alternatives?.flatMap((each) => {
    const path = each.replace(/(?<=[^~])\/$/, "").replaceAll(/\?|\[[^\]]*\]/g, "*")
    const anywhere = start.isBare && !path.startsWith("**") ? `**/${path}` : path
    // A folder is refused with everything in it.
    if (anywhere.endsWith("**")) return [anywhere]
    return anywhere.endsWith("/") ? [`${anywhere}**`] : [anywhere, `${anywhere}/**`]
  })
}

/** `*.{pem,key}` is `*.pem` and `*.key`. Undefined if there are too many alternatives, or braces without a partner. */
function expandBraces(path: string): readonly string[] | undefined {
  let open = [path]
  for (let round = 0; round < mostBraces; round++) {
    if (!open.some((each) => /[{}]/.test(each))) return open
    open = open.flatMap((each) => {
      const [, before, inside, after] = /^(.*?)\{([^{}]*)\}(.*)$/s.exec(each) ?? []
      return inside === undefined ? [each] : inside.split(",").map((part) => `${before}${part}${after}`)
    })
    if (open.length > mostAlternatives) return undefined
  }
  return undefined
}

const mostBraces = 5
const mostAlternatives = 50

function startOf(content: string): { readonly path: string; readonly isBare: boolean } | undefined {
  const text = content.trim()
  if (text === "" || /(^|\/)\.\.(\/|$)/.test(text) || /^~[^/]/.test(text)) return undefined
  if (text.startsWith("//")) return { path: text.slice(1), isBare: false }
  if (text.startsWith("~/")) return { path: text, isBare: false }
  const [, anchor = "", path = ""] = /^(\.?\/)?(.*)$/s.exec(text) ?? []
  return path === "" ? undefined : { path, isBare: anchor === "" }
}
