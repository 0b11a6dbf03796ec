import { LonghaulError } from "../contract/error.ts"
import { closest } from "../lib/closest.ts"
import { asksFor, helpText, invocation, UsageError } from "./arguments.ts"
import { commands } from "./commands.ts"
import { failureLines, reasonOf } from "./format.ts"
import { type Output, standardOutput } from "./output.ts"
import { version } from "./version.ts"

const output = standardOutput()
const exitCode = await main(process.argv.slice(2), output)
await output.drained()
// Keep-alive connections must not keep the process running.
process.exit(exitCode)

async function main(args: readonly string[], output: Output): Promise<number> {
  try {
    return await dispatch(args, output)
  } catch (error) {
    return reportError(error, asksFor("json", args), output)
  }
}

async function dispatch(args: readonly string[], output: Output): Promise<number> {
  const [first, ...rest] = args
  if (first === undefined) {
    output.complain(overview())
    return 2
  }
  if (first === "--version" || first === "-v") {
    output.print(await version())
    return 0
  }
  if (first === "--help" || first === "-h" || (first === "help" && rest.length === 0)) {
    output.print(overview())
    return 0
  }
  const name = first === "help" ? (rest[0] ?? "") : first
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (entry === undefined) throw unknownCommand(name)
  const { command } = await entry.load()
  if (first === "help" || asksFor("help", rest)) {
    output.print(helpText(name, command))
    return 0
  }
  return command.run(rest, output, commands)
}

function overview(): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length))
  return [
    "Longhaul runs AI agents to completion and keeps every step on disk.",
    "",
    "Usage: longhaul <command> [options]",
    "",
    "Commands:",
    ...Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`),
    "",
    "Options:",
    "  -h, --help     Show this help, or the help of a command.",
    "  -v, --version  Show the version.",
    "",
    "Exit codes: 0 done, 1 failed, 2 usage error, 3 paused, 130 cancelled.",
    "",
    `Start with: ${invocation()} run "List the files here and say what they are about"`,
  ].join("\n")
}

function unknownCommand(name: string): UsageError {
  const isOption = name.startsWith("-")
  const meant = closest(name, Object.keys(commands))
  const help = `See ${invocation()} --help.`
  if (isOption)
    return new UsageError(`Unknown option ${name} before the command.`, `Put options after the command. ${help}`)
  return new UsageError(`Unknown command ${JSON.stringify(name)}.`, meant ? `Did you mean ${meant}? ${help}` : help)
}

function reportError(error: unknown, json: boolean, output: Output): number {
  const known = LonghaulError.is(error)
    ? error
    : new LonghaulError("internal", reasonOf(error), {
        fix: "This is a bug in longhaul: please report it with the output above.",
      })
  if (json) output.printJson({ error: known.toJSON() })
  else for (const line of failureLines(known.toJSON(), output.errorColours)) output.complain(line)
  if (!LonghaulError.is(error) && error instanceof Error) output.complain(error.stack ?? "")
  return error instanceof UsageError ? 2 : 1
}
