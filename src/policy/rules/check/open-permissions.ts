import type { PolicyRule } from "../../../contract/policy.ts"
import { programName } from "../command-pattern.ts"
import { listOf } from "../glob.ts"
import { compileTool } from "../tool-names.ts"

/** The real scope of a permission for commands, if that is wider than it looks. */
export function openPermissions(rules: readonly { readonly name: string; readonly rule: PolicyRule }[]) {
  return rules.flatMap(({ name, rule }) => {
    const { allow } = rule
    if (allow === undefined || !listOf(allow.tool ?? "*").some((tool) => compileTool(tool)("Bash"))) return []
    const { path, read, write, url, fetch, command = allow.exec } = allow
    if ([path, read, write, url, fetch].some((each) => each !== undefined)) return []
    if (command === undefined) return [{ rule: name, note: "allows every command that can be read" }]
    return listOf(command).flatMap((pattern) => {
      const note = noteOn(pattern)
      return note === undefined ? [] : [{ rule: name, note: `allows ${JSON.stringify(pattern)}: ${note}` }]
    })
  })
}

function noteOn(pattern: string): string | undefined {
  const [first = "", second] = pattern.trim().split(/\s+/)
  if (first.includes("*")) return "the star stands for any program, also one that the agent has written"
  const program = programName(first)
  if (interpreters.has(program))
    return `${program} runs any code that it is given, and any file that the agent can write`
  if (taskRunners.has(program)) return `${program} runs scripts from files of the workspace, with everything they do`
  if (starters.has(program)) return `options of ${program} can start other programs`
  if (program === "git" && (second === "*" || second === "**"))
    return "git can start other programs, by its configuration too"
  return undefined
}

const interpreters: ReadonlySet<string> = new Set(
  (
    "awk bash bun dash deno fish gawk irb java julia ksh lua node nodejs osascript perl php psql pwsh python python2 " +
    "python3 R Rscript ruby sh sqlite3 swift tclsh ts-node tsx zsh"
  ).split(" "),
)

const taskRunners: ReadonlySet<string> = new Set(
  (
    "ant bazel bundle cargo cmake composer docker docker-compose dotnet go gradle gradlew grunt gulp jest just lerna " +
    "make meson mvn mvnw ninja nox npm npx nx pip pip3 pipenv pnpm podman poetry pre-commit pytest rake rush sbt task tox " +
    "turbo uv uvx vite vitest yarn"
  ).split(" "),
)

const starters: ReadonlySet<string> = new Set(
  "emacs ex find gdb less man more nano nvim parallel rsync scp screen sed ssh strace tar tmux vi vim watch xargs zip".split(
    " ",
  ),
)
