import type { RunEvent } from "../contract/event.ts"
import type { Json } from "../contract/json.ts"
import type { ToolCallRecord, Usage } from "../contract/result.ts"
import type { ToolOutcome } from "../contract/tool.ts"
import { plainText } from "../lib/content.ts"
import { isJsonObject } from "../lib/json.ts"
import { addUsage, noUsage } from "../lib/usage.ts"
import {
  clip,
  counted,
  dollars,
  duration,
  modelLabel,
  shortArguments,
  steered,
  tokens,
  totalTokens,
  visible,
} from "./format.ts"
import type { Colours } from "./output.ts"
import type { Screen } from "./screen.ts"
import { startFolder } from "./start-folder.ts"

export interface Progress {
  onEvent(event: RunEvent): void
  /** A message from the program itself. */
  say(text: string): void
  /** Nothing more will be shown. */
  close(): void
}

export interface ProgressOptions {
  readonly screen: Screen
  readonly colours: Colours
  /** Shows only the status. */
  readonly statusOnly?: boolean
  /** Omits the line that names the run. */
  readonly headless?: boolean
  /** The user's current input, for the line below the status. */
  readonly typed?: () => string
  /** Earlier calls that have no result yet. */
  readonly open?: readonly ToolCallRecord[]
  readonly now?: () => number
}

/** Shows a run to the person who waits for it. */
export function createProgress(options: ProgressOptions): Progress {
  const { screen, colours, statusOnly = false, headless = false, typed, open = [] } = options
  const { now = () => performance.now() } = options
  const startedAt = now()
  const calls = new Map<string, Call>(open.map(({ id, name, args }) => [id, { name, args }]))
  const streamed = new Set<string>()
  let activity = open.length === 0 ? "starting" : runningOf(calls)
  let turn = 0
  let usage: Usage = noUsage

  screen.setStatus((frame) => {
    const spent = turn === 0 ? [] : [`turn ${turn}`, tokens(totalTokens(usage)), ...costOf(usage)]
    const words = [activity, ...spent, duration(now() - startedAt)]
    const status = `${spinner[frame % spinner.length]} ${words.join(" · ")}`
    return typed === undefined ? status : `${status}\n${typed()}`
  })

  const line = (text: string) => {
    if (!statusOnly) screen.line(text)
  }

  function showText(id: string, text: string): void {
    if (streamed.delete(id)) screen.endText()
    else if (text.trim() !== "") for (const each of visible(text).trimEnd().split("\n")) line(each)
  }

  function showOutcome(callId: string, outcome: ToolOutcome, durationMs: number): void {
    const { name, args } = calls.get(callId) ?? { name: "a tool", args: null }
    calls.delete(callId)
    const took = colours.dim(duration(durationMs))
    const words = [colours.bold(clip(name, 60)), shortArguments(args), took].filter((word) => word !== "").join(" ")
    const message = plainText(outcome.output, " ")
    if (outcome.status === "ok") line(`${colours.green("✓")} ${words}`)
    else line(`${colours.red("✗")} ${words} ${colours.red(`${outcome.status}: ${clip(message, 200)}`)}`)
  }

  function showRetry({ failure, delayMs, attempt }: RunEvent & { readonly type: "retry" }): void {
    const again = `retrying in ${duration(delayMs)} (attempt ${attempt + 1})`
    const voided = streamed.size > 0 ? "; the text above is discarded" : ""
    streamed.clear()
    screen.endText()
    line(`${colours.yellow("↻")} ${failure.code}: ${clip(failure.message, 200).replace(/\.$/, "")}: ${again}${voided}`)
    activity = `waiting to retry after ${failure.code}`
  }

  function onEvent(event: RunEvent): void {
    switch (event.type) {
      case "run-start":
        if (!headless)
          line(
            colours.dim(
              `run ${event.runId} · ${modelLabel(event.input.model)} · in ${visible(startFolder(event.input))}`,
            ),
          )
        break
      case "turn-start":
        turn = event.turn
        activity = "waiting for the model"
        break
      case "reasoning-start":
      case "reasoning-delta":
        activity = "thinking"
        break
      case "text-start":
        activity = "writing"
        break
      case "text-delta":
        activity = "writing"
        if (screen.streams && !statusOnly) {
          streamed.add(event.id)
          screen.stream(event.delta)
        }
        break
      case "text-end":
        showText(event.id, event.text)
        break
      case "tool-call":
        calls.set(event.callId, { name: event.name, args: event.args })
        activity = runningOf(calls)
        break
      case "tool-progress":
        activity = `${labelOf(calls.get(event.callId))}: ${clip(event.message, 40)}`
        break
      case "tool-result":
        showOutcome(event.callId, event.outcome, event.durationMs)
        activity = runningOf(calls)
        break
      case "usage":
        usage = addUsage(usage, event.usage)
        break
      case "steer":
        line(`${colours.yellow("▸")} ${steered(event)}`)
        break
      case "retry":
        showRetry(event)
        break
      case "warning":
        line(`${colours.yellow("!")} ${event.code}: ${clip(event.message, 300)}`)
        break
    }
  }

  return {
    onEvent,
    say: (text) => screen.line(colours.yellow(text)),
    close: () => screen.close(),
  }
}

const spinner = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]

/** An unknown or zero price is not shown in a status line. */
function costOf({ costUsd }: Usage): readonly string[] {
  return costUsd === null || costUsd === 0 ? [] : [dollars(costUsd)]
}

interface Call {
  readonly name: string
  readonly args: Json
}

function runningOf(calls: ReadonlyMap<string, Call>): string {
  if (calls.size === 0) return "waiting for the model"
  if (calls.size > 3) return `running ${counted(calls.size, "tool")}`
  return `running ${Array.from(calls.values(), labelOf).join(", ")}`
}

/** The tool; for Bash, the command that runs. */
function labelOf(call: Call | undefined): string {
  if (call === undefined) return "a tool"
  const { name, args } = call
  const command = name === "Bash" && isJsonObject(args) ? args.command : undefined
  return typeof command === "string" ? `${name} ${clip(command, 40)}` : clip(name, 40)
}
