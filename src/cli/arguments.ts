import { basename, relative } from "node:path"
import { parseArgs } from "node:util"
import { LonghaulError } from "../contract/error.ts"
import { closest } from "../lib/closest.ts"
import type { Output } from "./output.ts"

/** One command: what its help says, and what it does. Answers with the exit code. */
export interface Command {
  readonly summary: string
  /** What follows the command's name. */
  readonly usage: string
  readonly options: OptionTable
  /** Lines behind the options: examples, exit codes. */
  readonly notes?: readonly string[]
  /** What a shell may offer for its argument: one of these words, a run's id, a folder. */
  readonly completes?: readonly string[] | "runId" | "folder"
  run(args: readonly string[], output: Output, commands: CommandTable): Promise<number>
}

export type CommandTable = Readonly<
  Record<string, { readonly summary: string; load(): Promise<{ readonly command: Command }> }>
>

export type OptionTable = Readonly<Record<string, OptionSpec>>

export interface OptionSpec {
  readonly type: "string" | "boolean"
  readonly short?: string
  readonly multiple?: boolean
  /** What stands for the value in the help; `<dir>` and `<file>` are completed as such. */
  readonly value?: string
  /** All that it can be, for a shell's completion. */
  readonly values?: readonly string[]
  readonly help: string
}

/** A command line that cannot be understood: nothing was done. Exit code 2. */
export class UsageError extends LonghaulError {
  override readonly name = "UsageError"

  constructor(message: string, fix: string) {
    super("config_invalid", message, { fix })
  }
}

/** Taken by every command. */
export const commonOptions = {
  json: { type: "boolean", help: "Write JSON and nothing else to stdout." },
  help: { type: "boolean", short: "h", help: "Show this help." },
} as const satisfies OptionTable

export const storeOption = {
  store: {
    type: "string",
    value: "<dir>",
    help: "Where runs are kept. Default: $LONGHAUL_STORE, else the state folder.",
  },
} as const satisfies OptionTable

/** Taken by every command about one run. */
export const nodeOption = {
  node: { type: "string", value: "<id>", help: "The node of the run. Default: main." },
} as const satisfies OptionTable

export function parseCommandLine<Options extends OptionTable>(
  command: string,
  args: readonly string[],
  options: Options,
): ReturnType<typeof parseArgs<{ options: Options; strict: true; allowPositionals: true }>> {
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: true })
  } catch (error) {
    throw usageErrorOf(command, error, options)
  }
}

/** The flags before any `--`: what is asked for even where the rest cannot be parsed. */
export function asksFor(flag: "json" | "help", args: readonly string[]): boolean {
  const end = args.indexOf("--")
  const flags = end === -1 ? args : args.slice(0, end)
  const other = { json: "--stream-json", help: "-h" }[flag]
  return flags.includes(`--${flag}`) || flags.includes(other)
}

export interface NumberRange {
  readonly from: number
  readonly to: number
  readonly whole: boolean
}

/** A number in a range, or a usage error that says what would have been right. */
export function numberOption(name: string, text: string | undefined, range: NumberRange): number | undefined {
  return numberSetting(`--${name}`, text, range)
}

export function numberSetting(name: string, text: string | undefined, range: NumberRange): number | undefined {
  if (text === undefined) return undefined
  const value = text.trim() === "" ? Number.NaN : Number(text)
  if (value >= range.from && value <= range.to && (!range.whole || Number.isInteger(value))) return value
  const kind = range.whole ? "a whole number" : "a number"
  throw new UsageError(
    `${name} is ${JSON.stringify(text)}.`,
    `Give ${name} as ${kind} from ${range.from} to ${range.to}.`,
  )
}

export function onlyPositional(command: string, what: string, positionals: readonly string[]): string {
  const [first, second] = positionals
  if (first === undefined) {
    throw new UsageError(`${command} needs a ${what}.`, `Give one: ${invocation()} ${command} <${what}>.`)
  }
  refuseExtra(command, second)
  return first
}

export function noPositionals(command: string, positionals: readonly string[]): void {
  refuseExtra(command, positionals[0])
}

export function helpText(name: string, { summary, usage, options, notes = [] }: Command): string {
  const rows = Object.entries(options).map(([option, { short, value, help }]) => {
    const flag = `${short ? `-${short}, ` : ""}--${option}${value ? ` ${value}` : ""}`
    return [flag, help] as const
  })
  const width = Math.max(...rows.map(([flag]) => flag.length))
  return [
    summary,
    "",
    `Usage: longhaul ${name} ${usage}`,
    "",
    "Options:",
    ...rows.map(([flag, help]) => `  ${flag.padEnd(width)}  ${help}`),
    ...(notes.length > 0 ? ["", ...notes] : []),
  ].join("\n")
}

/** How the reader can start this program again: as it was started now. */
export function invocation(script: string = process.argv[1] ?? "", variables = process.env): string {
  if (basename(script) !== "main.js") return variables.npm_command === "exec" ? "npx longhaul" : "longhaul"
  return `node ${relative(process.cwd(), script)}`
}

function usageErrorOf(command: string, error: unknown, options: OptionTable): UsageError {
  const message = error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error)
  const given = /^Unknown option '(-{1,2}[^']*)'/.exec(message)?.[1]
  const help = `See ${invocation()} ${command} --help.`
  if (given === undefined) return new UsageError(message.endsWith(".") ? message : `${message}.`, help)
  const meant = closest(given.replace(/^-+/, ""), Object.keys(options))
  return new UsageError(`${command} has no option ${given}.`, meant ? `Did you mean --${meant}? ${help}` : help)
}

function refuseExtra(command: string, extra: string | undefined): void {
  if (extra === undefined) return
  throw new UsageError(
    `${command} does not know what to do with ${JSON.stringify(extra)}.`,
    `See ${invocation()} ${command} --help.`,
  )
}
