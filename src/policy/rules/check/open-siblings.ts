import type { Matcher, PolicyRule, RuleVerdict } from "../../../contract/policy.ts"
import type { Capability } from "../../../contract/tool.ts"
import { canonicalJson } from "../../../lib/json.ts"
import { verdictOf } from "../compile-rule.ts"
import { listOf } from "../glob.ts"
import { allCapabilities, readers } from "../known-tools.ts"
import { compileTool } from "../tool-names.ts"

interface NamedRule {
  readonly name: string
  readonly rule: PolicyRule
}

/** Refusals by the names of tools, where other tools can do the same: with the same paths or addresses, or with any. */
export function openSiblings(rules: readonly NamedRule[], fallback: RuleVerdict | undefined) {
  const refusals = rules.flatMap(({ name, rule }) => refusalIn(name, rule.deny ?? rule.ask))
  const allowed = rules.flatMap(({ rule }) => (verdictOf(rule) === "allow" ? listOf(rule.allow?.tool ?? "*") : []))
  const fits = (patterns: readonly string[], tool: string) => patterns.some((pattern) => compileTool(pattern)(tool))
  return refusals.flatMap(({ name, tools, about, what }) => {
    // Several rules may refuse the same to different tools.
    const together = refusals.filter((other) => other.what === what).flatMap((other) => other.tools)
    const words = about.meant(
      about.words.filter((word) => [...allCapabilities].some(([tool, can]) => can.includes(word) && fits(tools, tool))),
    )
    const open = [...allCapabilities].flatMap(([tool, can]) => {
      const isSibling = can.includes("exec") || words.some((word) => can.includes(word))
      const isOpen = fallback !== "deny" || fits(allowed, tool)
      // A path that is refused to Read is hidden from the other tools that show files.
      const isHidden = about.key === "path" && readers.includes(tool) && fits(together, "Read")
      return isSibling && isOpen && !isHidden && !about.except.includes(tool) && !fits(together, tool) ? [tool] : []
    })
    if (words.length === 0 || open.length === 0) return []
    return [{ rule: name, note: `leaves ${about.left(words)} open to ${open.join(", ")}: use ${about.instead(words)}` }]
  })
}

interface About {
  readonly key: "path" | "url" | undefined
  readonly words: readonly Capability[]
  /** Tools that do not use what the rule names. */
  readonly except: readonly string[]
  /** Of what its tools can do, what the rule is for. */
  meant(words: readonly Capability[]): readonly Capability[]
  left(words: readonly Capability[]): string
  instead(words: readonly Capability[]): string
}

const aboutPaths: About = {
  key: "path",
  words: ["read", "write"],
  except: [],
  meant: (words) => words,
  left: () => "these paths",
  instead: (words) => `\`${words.length === 2 ? "path" : words[0]}\` instead of \`tool\` and \`path\``,
}
const aboutAddresses: About = {
  key: "url",
  words: ["fetch"],
  // Its address is the one of the engine.
  except: ["WebSearch"],
  meant: (words) => words,
  left: () => "these addresses",
  instead: () => "`fetch` instead of `tool` and `url`",
}
const aboutAny: About = {
  key: undefined,
  words: ["read", "write", "fetch"],
  except: [],
  // To edit a file, it is read as well.
  meant: (words) => (words.includes("write") ? words.filter((word) => word !== "read") : words),
  left: (words) =>
    words.map((word) => ({ read: "reading", write: "writing", fetch: "fetching", exec: "" })[word]).join(" and "),
  instead: (words) => `${words.map(everything).join(" and ")} instead of \`tool\``,
}

function everything(word: Capability): string {
  return `\`${word}: "${word === "fetch" ? "*://*/**" : "**"}"\``
}

function refusalIn(name: string, { tool, path, url, command, args }: Matcher = {}) {
  // These are about a tool's own arguments.
  if (tool === undefined || command !== undefined || args !== undefined) return []
  const about = path !== undefined ? aboutPaths : url !== undefined ? aboutAddresses : aboutAny
  return [{ name, tools: listOf(tool), about, what: `${about.key} ${canonicalJson(listOf(path ?? url))}` }]
}

/** The paths that rules cannot keep from commands. */
export function openToCommands(rules: readonly NamedRule[]) {
  return rules.flatMap(({ name, rule }) => {
    const { path, read = path, write = path, tool } = rule.deny ?? rule.ask ?? {}
    if ((read ?? write) === undefined || !listOf(tool ?? "*").some((each) => compileTool(each)("Bash"))) return []
    const bringing = write === undefined ? "" : ", and `git checkout` can change them"
    const without =
      "without a required sandbox, programs such as node, make or `npm test` can use these paths: their code is not read" +
      bringing
    const inside =
      read === undefined
        ? "in a sandbox, new files that match are only reported"
        : "in a sandbox, files that appear later, hard links and earlier versions in git (`git show HEAD:…`) stay readable"
    const excepted =
      rule.except === undefined ? [] : ["an exception inside a folder that is refused stays refused in a sandbox"]
    return [without, inside, ...excepted].map((note) => ({
      rule: name,
      note: `is not complete: ${note}`,
    }))
  })
}
