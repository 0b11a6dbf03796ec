import type { RunEvent } from "../contract/event.ts"
import type { Json } from "../contract/json.ts"
import type { ToolCallRecord, Usage } from "../contract/result.ts"
import type { ToolOutcome } from "../contract/tool.ts"
import { plainText } from "../lib/content.ts"
import { isJsonObject } from "../lib/json.ts"
import { addUsage, noUsage } from "../lib/usage.ts"
import { describeCompaction, describeFailover, describeRecord } from "./describe-record.ts"
import {
  agentIndent,
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
  readonly typed?: (() => string) | undefined
  /** Earlier calls that have no result yet. */
  readonly open?: readonly ToolCallRecord[]
  readonly now?: () => number
}

/** Shows a run to the person who waits for it. */
export function createProgress(options: ProgressOptions): Progress {
  return new RunProgress(options)
}

/** A warning that `follow` shows, because what is missing may be an option of the command. */
export const EXTENSION_MISSING = "extension_missing"

class RunProgress implements Progress {
  readonly #options: ProgressOptions
  readonly #calls: Map<string, Call>
  /** Texts that were shown while they came. */
  readonly #streamed = new Set<string>()
  #activity: string
  #turn = 0
  #usage: Usage = noUsage

  constructor(options: ProgressOptions) {
    const { screen, typed, open = [], now = () => performance.now() } = options
    const startedAt = now()
    this.#options = options
    this.#calls = new Map(open.map(({ id, name, args }) => [id, { name, args }]))
    this.#activity = open.length === 0 ? "starting" : runningOf(this.#calls)
    screen.setStatus((frame) => {
      const words = [this.#activity, ...this.#spent(), duration(now() - startedAt)]
      const status = `${spinner[frame % spinner.length]} ${words.join(" · ")}`
      return typed === undefined ? status : `${status}\n${typed()}`
    })
  }

  say(text: string): void {
    this.#options.screen.line(this.#options.colours.yellow(text))
  }

  close(): void {
    this.#options.screen.close()
  }

  onEvent(event: RunEvent): void {
    const { colours } = this.#options
    if (event.agent !== undefined) {
      this.#onAgentEvent(event, event.agent)
      return
    }
    switch (event.type) {
      case "agent-start":
      case "agent-end":
        this.#line(`${colours.yellow("↳")} agent ${clip(describeRecord(event), 200)}`)
        break
      case "run-start":
        this.#showStart(event)
        break
      case "turn-start":
        this.#turn = event.turn
        this.#activity = "waiting for the model"
        break
      case "reasoning-start":
      case "reasoning-delta":
        this.#activity = "thinking"
        break
      case "text-start":
        this.#activity = "writing"
        break
      case "text-delta":
        this.#activity = "writing"
        this.#showDelta(event.id, event.delta)
        break
      case "text-end":
        this.#showText(event.id, event.text)
        break
      case "tool-call":
        this.#calls.set(event.callId, { name: event.name, args: event.args })
        this.#activity = runningOf(this.#calls)
        break
      case "tool-progress":
        this.#activity = `${labelOf(this.#calls.get(event.callId))}: ${clip(event.message, 40)}`
        break
      case "tool-result":
        this.#showOutcome(event.callId, event.outcome, event.durationMs)
        this.#activity = runningOf(this.#calls)
        break
      case "usage":
      case "metering":
        this.#usage = addUsage(this.#usage, event.usage)
        break
      case "compaction-start":
        this.#activity = "summarising the conversation"
        break
      case "compaction":
        if (event.usage) this.#usage = addUsage(this.#usage, event.usage)
        this.#line(`${colours.yellow("▸")} conversation shortened: ${describeCompaction(event)}`)
        break
      case "steer":
        this.#line(`${colours.yellow("▸")} ${steered(event)}`)
        break
      case "retry":
        this.#showRetry(event)
        break
      case "failover":
        this.#line(`${colours.yellow("↷")} ${clip(describeFailover(event), 300)}`)
        break
      case "warning":
        if (event.code === EXTENSION_MISSING) break
        this.#line(`${colours.yellow("!")} ${event.code}: ${clip(event.message, 300)}`)
        break
    }
  }

  /** The steps of an agent, indented. Its texts are for the agent that started it. */
  #onAgentEvent(event: RunEvent, agent: string): void {
    const { colours } = this.#options
    const indent = agentIndent(agent)
    switch (event.type) {
      case "tool-call":
        this.#calls.set(`${agent}/${event.callId}`, { name: event.name, args: event.args })
        this.#activity = runningOf(this.#calls)
        break
      case "tool-result":
        this.#showOutcome(`${agent}/${event.callId}`, event.outcome, event.durationMs, indent)
        this.#activity = runningOf(this.#calls)
        break
      case "usage":
      case "metering":
        this.#usage = addUsage(this.#usage, event.usage)
        break
      case "compaction":
        if (event.usage) this.#usage = addUsage(this.#usage, event.usage)
        break
      case "agent-start":
      case "agent-end":
        this.#line(`${indent}${colours.yellow("↳")} agent ${clip(describeRecord(event), 200)}`)
        break
      case "warning":
        this.#line(`${indent}${colours.yellow("!")} ${event.code}: ${clip(event.message, 300)}`)
        break
    }
  }

  #spent(): readonly string[] {
    if (this.#turn === 0) return []
    return [`turn ${this.#turn}`, tokens(totalTokens(this.#usage)), ...costOf(this.#usage)]
  }

  #line(text: string): void {
    if (!this.#options.statusOnly) this.#options.screen.line(text)
  }

  #showStart({ runId, input }: RunEvent & { readonly type: "run-start" }): void {
    if (this.#options.headless) return
    const words = [`run ${runId}`, modelLabel(input.model), `in ${visible(startFolder(input))}`]
    this.#line(this.#options.colours.dim(words.join(" · ")))
  }

  #showDelta(id: string, delta: string): void {
    const { screen, statusOnly } = this.#options
    if (!screen.streams || statusOnly) return
    this.#streamed.add(id)
    screen.stream(delta)
  }

  #showText(id: string, text: string): void {
    if (this.#streamed.delete(id)) this.#options.screen.endText()
    else if (text.trim() !== "") for (const each of visible(text).trimEnd().split("\n")) this.#line(each)
  }

  #showOutcome(callId: string, outcome: ToolOutcome, durationMs: number, indent = ""): void {
    const { colours } = this.#options
    const { name, args } = this.#calls.get(callId) ?? { name: "a tool", args: null }
    this.#calls.delete(callId)
    const took = colours.dim(duration(durationMs))
    const words = [colours.bold(clip(name, 60)), shortArguments(args), took].filter((word) => word !== "").join(" ")
    const message = plainText(outcome.output, " ")
    if (outcome.status === "ok") this.#line(`${indent}${colours.green("✓")} ${words}`)
    else this.#line(`${indent}${colours.red("✗")} ${words} ${colours.red(`${outcome.status}: ${clip(message, 200)}`)}`)
  }

  #showRetry({ failure, delayMs, attempt }: RunEvent & { readonly type: "retry" }): void {
    const { screen, colours } = this.#options
    const again = `retrying in ${duration(delayMs)} (attempt ${attempt + 1})`
    const voided = this.#streamed.size > 0 ? "; the text above is discarded" : ""
    this.#streamed.clear()
    screen.endText()
    const message = clip(failure.message, 200).replace(/\.$/, "")
    this.#line(`${colours.yellow("↻")} ${failure.code}: ${message}: ${again}${voided}`)
    this.#activity = `waiting to retry after ${failure.code}`
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
