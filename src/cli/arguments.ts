import { basename, relative } from "node:path"
import { parseArgs } from "node:util"
import { LonghaulError } from "../contract/error.ts"
import { closest } from "../lib/closest.ts"
import { isId } from "../lib/id.ts"
import { shellWord } from "./format.ts"
import type { Output } from "./output.ts"

/** One command: its help and its implementation, which returns the exit code. */
export interface Command {
  readonly summary: string
  /** Usage text after the command's name. */
  readonly usage: string
  readonly options: OptionTable
  /** Lines after the options: examples, exit codes. */
  readonly notes?: readonly string[]
  /** Completion candidates for the positional argument: one of these words, a run id, or a folder. */
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
  /** Placeholder for the value in the help; `<dir>` and `<file>` get path completion. */
  readonly value?: string
  /** All possible values, for shell completion. */
  readonly values?: readonly string[]
  readonly help: string
}

/** An invalid command line: nothing was done. Exit code 2. */
export class UsageError extends LonghaulError {
  override readonly name = "UsageError"

  constructor(message: string, fix: string) {
    super("config_invalid", message, { fix })
  }
}

/** Accepted by every command. */
export const commonOptions = {
  json: { type: "boolean", help: "Write only JSON to stdout." },
  help: { type: "boolean", short: "h", help: "Show this help." },
} as const satisfies OptionTable

export const storeOption = {
  store: {
    type: "string",
    value: "<dir>",
    help: "Store that holds the runs. Default: $LONGHAUL_STORE, else the state folder.",
  },
  "workspace-id": {
    type: "string",
    value: "<id>",
    help: "Tenant within the store. Default: default. See the command workspaces.",
  },
} as const satisfies OptionTable

/** As given on the command line. */
export interface StoreChoice {
  readonly store?: string
  readonly "workspace-id"?: string
}

export function workspaceIdOf({ "workspace-id": given = "default" }: StoreChoice): string {
  if (isId(given)) return given
  throw new UsageError(
    `Invalid value for --workspace-id: ${JSON.stringify(given)}.`,
    'Use 1 to 64 letters, digits, "_" and "-", starting with a letter or digit.',
  )
}

/** Accepted by every command about one run. */
export const nodeOption = {
  node: { type: "string", value: "<id>", help: "Node of the run. Default: main." },
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

/** The flags before any `--`, which apply even if the rest cannot be parsed. */
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

/** A number within a range, or a usage error that names the range. */
export function numberOption(name: string, text: string | undefined, range: NumberRange): number | undefined {
  return numberSetting(`--${name}`, text, range)
}

export function numberSetting(name: string, text: string | undefined, range: NumberRange): number | undefined {
  if (text === undefined) return undefined
  const value = text.trim() === "" ? Number.NaN : Number(text)
  if (value >= range.from && value <= range.to && (!range.whole || Number.isInteger(value))) return value
  const kind = range.whole ? "a whole number" : "a number"
  throw new UsageError(
    `Invalid value for ${name}: ${JSON.stringify(text)}.`,
    `Use ${kind} from ${range.from} to ${range.to}.`,
  )
}

export function onlyPositional(command: string, what: string, positionals: readonly string[]): string {
  const [first, second] = positionals
  if (first === undefined) {
    throw new UsageError(`Missing argument for ${command}: ${what}.`, `Run: ${invocation()} ${command} <${what}>.`)
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

/** How the user can start this program again: the same way as now. */
export function invocation(script: string = process.argv[1] ?? "", variables = process.env): string {
  if (basename(script) !== "main.js") return variables.npm_command === "exec" ? "npx longhaul" : "longhaul"
  return `node ${shellWord(relative(process.cwd(), script))}`
}

function usageErrorOf(command: string, error: unknown, options: OptionTable): UsageError {
  const message = error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error)
  const given = /^Unknown option '(-{1,2}[^']*)'/.exec(message)?.[1]
  const help = `See ${invocation()} ${command} --help.`
  if (given === undefined) return new UsageError(message.endsWith(".") ? message : `${message}.`, help)
  const meant = closest(given.replace(/^-+/, ""), Object.keys(options))
  return new UsageError(`Unknown option for ${command}: ${given}.`, meant ? `Did you mean --${meant}? ${help}` : help)
}

function refuseExtra(command: string, extra: string | undefined): void {
  if (extra === undefined) return
  throw new UsageError(
    `Unexpected argument for ${command}: ${JSON.stringify(extra)}.`,
    `See ${invocation()} ${command} --help.`,
  )
}
