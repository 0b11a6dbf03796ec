import type { Failure } from "../contract/error.ts"
import type { RunRecord, SteerReason } from "../contract/event.ts"
import type { Json } from "../contract/json.ts"
import type { Usage } from "../contract/result.ts"
import type { RunState } from "../contract/runtime.ts"
import { hiddenCharacters } from "../lib/text/hidden-characters.ts"
import type { Colours } from "./output.ts"

/**
 * Text from a model, a tool or a file must not control the terminal or hide in it: such characters are made visible.
 */
export function visible(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(hiddenCharacters, (character) => {
    const code = character.charCodeAt(0)
    if (code < 0x20) return String.fromCharCode(0x2400 + code)
    return code === 0x7f ? "\u2421" : "\ufffd"
  })
}

/** One line of at most `length` characters. */
export function clip(text: string, length: number): string {
  const line = visible(text).replaceAll(/\s+/g, " ").trim()
  if (line.length <= length) return line
  // A cut inside a surrogate pair would print an invalid character.
  return `${line.slice(0, length - 1).replace(/[\ud800-\udbff]$/, "")}…`
}

/** A short summary of a call's arguments: its main argument first, without the name; the rest as name=value. */
export function shortArguments(args: Json, length = 60): string {
  if (args === null || typeof args !== "object" || Array.isArray(args)) return args === null ? "" : shortValue(args, 40)
  const entries = Object.entries(args).sort(([left], [right]) => rankOf(left) - rankOf(right))
  const words = entries.map(([name, value], index) => {
    if (index === 0 && rankOf(name) < subjects.length) return shortValue(value, 40)
    const isLong = typeof value === "string" && value.length > 100
    return isLong ? `${name}=(${counted(value.length, "character")})` : `${name}=${shortValue(value, 24)}`
  })
  return clip(words.join(" "), length)
}

export function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)}ms`
  const seconds = milliseconds / 1000
  if (seconds < 10) return `${seconds.toFixed(1)}s`
  if (seconds < 60) return `${Math.floor(seconds)}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}m ${String(Math.floor(seconds % 60)).padStart(2, "0")}s`
  return `${Math.floor(minutes / 60)}h ${String(minutes % 60).padStart(2, "0")}m`
}

/** All processed tokens; `null` if the provider does not report them. */
export function totalTokens({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: Usage): number | null {
  const buckets = [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens]
  return buckets.every((bucket) => bucket !== null) ? buckets.reduce((sum, bucket) => sum + bucket, 0) : null
}

export function tokens(count: number | null): string {
  if (count === null) return "unknown tokens"
  if (count < 10_000) return counted(count, "token")
  return `${(count / 1000).toFixed(count < 100_000 ? 1 : 0)}k tokens`
}

/** An unknown cost is never shown as zero, and neither is a very small one. */
export function dollars(costUsd: number | null): string {
  if (costUsd === null) return "cost unknown"
  return costUsd > 0 && costUsd < 0.0001 ? "<$0.0001" : `$${costUsd.toFixed(4)}`
}

/** The usage of a run or a call, as text. */
export function spending(usage: Usage): string {
  return `${tokens(totalTokens(usage))} · ${dollars(usage.costUsd)}`
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`
}

/** Quotes a word for commands that users paste. */
export function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** In the user's time zone: 2031-04-19 06:30:00. */
export function localTime(milliseconds: number): string {
  const date = new Date(milliseconds)
  const two = (value: number) => String(value).padStart(2, "0")
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

/** The offline model is always labelled. */
export function modelLabel(model: string | null | undefined): string {
  if (!model) return "no model"
  return /^offline(:|$)/.test(model) ? "offline model: rules, not an LLM" : visible(model)
}

/** The label of a run's status. `lost`: recorded as running, but its process is dead. `damaged`: its journal cannot be read. */
export function statusWord({ status, lost, damaged }: Shown): StatusWord {
  if (damaged) return "damaged"
  return lost ? "lost" : status
}

type StatusWord = RunState["status"] | "lost" | "damaged"

interface Shown {
  readonly status: RunState["status"]
  readonly lost?: true
  readonly damaged?: true
}

export function statusLabel(status: StatusWord, colours: Colours): string {
  const colour = {
    done: colours.green,
    failed: colours.red,
    cancelled: colours.yellow,
    paused: colours.yellow,
    queued: colours.cyan,
    running: colours.cyan,
    lost: colours.red,
    damaged: colours.red,
    not_found: colours.red,
  }
  return colour[status](status)
}

export function failureLines({ code, message, fix }: Failure, colours: Colours): string[] {
  const lines = [`${colours.red(`error ${code}:`)} ${visible(message)}`]
  if (fix !== undefined) lines.push(`${colours.cyan("fix:")} ${visible(fix)}`)
  return lines
}

/** A message sent to the model between two turns, and its reason. */
export function steered({ text, reason }: RunRecord & { readonly type: "steer" }): string {
  return `sent to the model${reason === undefined ? "" : ` because ${steerReasons[reason]}`}: ${clip(text, 200)}`
}

const steerReasons: Readonly<Record<SteerReason, string>> = {
  repair: "its answer did not match the schema",
  "output-limit": "its answer was cut at the output limit",
  resume: "the run was resumed",
  agent: "an agent in the background has ended",
}

const subjects: readonly string[] = ["command", "pattern", "path", "url", "query", "name"]

function rankOf(name: string): number {
  const rank = subjects.indexOf(name)
  return rank === -1 ? subjects.length : rank
}

function shortValue(value: Json, length: number): string {
  return clip(typeof value === "string" ? value : JSON.stringify(value), length)
}

/** An exception's own description. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The indentation of an agent's lines: the deeper it is in the tree, the further to the right. */
export function agentIndent(agent: string | undefined): string {
  return agent === undefined ? "" : "  ".repeat(agent.split("/").length)
}
