import type { AlwaysScope, PolicyCall } from "../../contract/policy.ts"
import type { CommandLine, ReadableLine, ShellCommand } from "../shell/command-line.ts"
import { compileCommand, wordsOf } from "./command-pattern.ts"
import { usesOf } from "./known-tools.ts"

type ReadLine = (line: string) => Promise<CommandLine>

/** The scope that `always` would have: never the bare program. Undefined if no narrow scope can be stated. */
export async function alwaysScopeOf(call: PolicyCall, readLine: ReadLine): Promise<AlwaysScope | undefined> {
  const { tool, isShell = tool === "Bash" } = call
  if (!isShell) return { tool }
  const command = await commandOf(call)
  if (command === undefined) return undefined
  const line = await readLine(command)
  if (!isPlain(line)) return undefined
  const [first, ...others] = line.commands.map(scopeOf)
  if (first === undefined || others.some((scope) => scope !== first)) return undefined
  return { tool, command: first }
}

/** True if every command of the call is within the scope. */
export async function coversCall(scope: AlwaysScope, call: PolicyCall, readLine: ReadLine): Promise<boolean> {
  if (scope.tool !== call.tool) return false
  if (scope.command === undefined) return true
  const command = await commandOf(call)
  if (command === undefined) return false
  const line = await readLine(command)
  const pattern = compileCommand(scope.command)
  return isPlain(line) && line.commands.length > 0 && line.commands.every((each) => pattern.permits(wordsOf(each)))
}

async function commandOf(call: PolicyCall): Promise<string | undefined> {
  return (await usesOf(call)).exec?.[0]
}

/** Redirects and variables would be allowed as well. */
function isPlain(line: CommandLine): line is ReadableLine {
  if (!line.isReadable || line.commands.some(({ variables }) => variables.length > 0)) return false
  return line.redirects.every(({ target }) => target.isFixed && target.text === "/dev/null")
}

function scopeOf({ words, isOpen }: ShellCommand): string | undefined {
  if (isOpen || words.some(({ isFixed }) => !isFixed)) return undefined
  const texts = words.map(({ text }) => text)
  // A pattern cannot state these words.
  if (texts.some((text) => text === "" || /[\s*]/.test(text))) return undefined
  const depth = depthOf(texts)
  return depth === undefined ? texts.join(" ") : [...texts.slice(0, depth), "*"].join(" ")
}

/** The number of words that name what the program does; undefined if only the whole command does. */
function depthOf([program = "", subcommand = "", operand = ""]: readonly string[]): number | undefined {
  if (!programsWithSubcommands.has(program) || !isName(subcommand) || runsText.has(subcommand)) return undefined
  if (isInterpreter(subcommand)) return undefined
  if (!runsOthers.has(subcommand)) return 2
  // Behind the name of a container, any command follows.
  return isName(operand) && !isInterpreter(operand) && !startsContainers.has(program) ? 3 : undefined
}

/** Such a program runs whatever text it is given. */
function isInterpreter(name: string): boolean {
  return /^(ba|da|k|z|fi|a|c|tc)?sh$|^(python|node|ruby|perl|php|lua|deno|bun|tsx|ts-node|env|xargs|awk|npx|uvx)[\d.]*$/.test(
    name,
  )
}

function isName(word: string): boolean {
  return /^[a-z][a-z0-9:_-]*$/i.test(word)
}

/** Their second word says what they do. For others, it is what they do it to. */
const programsWithSubcommands: ReadonlySet<string> = new Set(
  (
    "apt apt-get aws az brew bun cargo composer conda deno docker dotnet gcloud gem gh git go gradle helm kubectl mvn " +
    "nix npm pip pip3 pnpm podman poetry pulumi rustup swift systemctl terraform uv yarn"
  ).split(" "),
)

const startsContainers: ReadonlySet<string> = new Set("docker podman kubectl".split(" "))

/** Their arguments are code, or change what later commands run. */
const runsText: ReadonlySet<string> = new Set("alias bisect config eval filter-branch repl set submodule".split(" "))

/** The next word says which program or script they run. */
const runsOthers: ReadonlySet<string> = new Set("compose dlx exec run run-script tool x".split(" "))
