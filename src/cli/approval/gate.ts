import type { GateVerdict, Hooks } from "../../contract/hooks.ts"
import type { JsonObject } from "../../contract/json.ts"
import { closest } from "../../lib/closest.ts"
import { isJsonObject } from "../../lib/json.ts"
import { type OptionTable, UsageError } from "../arguments.ts"

const sandboxes = ["off", "auto", "required"] as const
type Sandbox = (typeof sandboxes)[number]

/** What the tools may do by themselves. */
export const guardOptions = {
  ask: {
    type: "string",
    value: "<a,b>",
    help: "Ask before these tools run; without a terminal, pause. all: before any.",
  },
  bash: { type: "boolean", help: "Let the model run commands, with all that you may do yourself." },
  sandbox: {
    type: "string",
    value: "<mode>",
    values: sandboxes,
    help: "For commands: off (default), auto where there is bubblewrap, required or none at all.",
  },
} as const satisfies OptionTable

export interface GuardChoice {
  readonly ask?: string
  readonly bash?: boolean
  readonly sandbox?: string
}

export interface Guard {
  /** Tools before which a run pauses. */
  readonly ask: readonly string[]
  readonly bash: boolean
  readonly sandbox: Sandbox
}

/** As it is said now, else as it was said when the run began. */
export function guardOf(choice: GuardChoice, began?: Guard): Guard {
  const sandbox = sandboxes.find((mode) => mode === (choice.sandbox ?? began?.sandbox ?? "off"))
  if (sandbox === undefined) {
    throw new UsageError(`--sandbox is ${JSON.stringify(choice.sandbox)}.`, `Give one of: ${sandboxes.join(", ")}.`)
  }
  return {
    ask: choice.ask === undefined ? (began?.ask ?? []) : namesIn(choice.ask),
    bash: choice.bash ?? began?.bash ?? false,
    sandbox,
  }
}

/** A misspelt name would never be asked about. Bash may be named where it is not offered. */
export function checkAsked(given: string | undefined, toolNames: readonly string[]): void {
  const known = [...new Set([...toolNames, "Bash", "all"])]
  const unknown = namesIn(given ?? "").find((name) => !known.includes(name))
  if (unknown === undefined) return
  const meant = closest(unknown, known)
  throw new UsageError(
    `--ask names ${JSON.stringify(unknown)}, which is not an available tool.`,
    `${meant ? `Did you mean ${meant}? ` : ""}Give some of these, with commas between them: ${known.join(", ")}.`,
  )
}

function namesIn(list: string): readonly string[] {
  return list.split(",").flatMap((name) => name.trim() || [])
}

/** Kept with the run, so that whoever goes on with it guards it in the same way. */
export function guardMetadata(guard: Guard): JsonObject | undefined {
  const { ask, bash, sandbox } = guard
  return ask.length > 0 || bash || sandbox !== "off" ? { guard: { ask: [...ask], bash, sandbox } } : undefined
}

export function recordedGuard(metadata: JsonObject | undefined): Guard | undefined {
  const guard = metadata?.guard
  if (!isJsonObject(guard)) return undefined
  const ask = Array.isArray(guard.ask) ? guard.ask.filter((name) => typeof name === "string") : []
  const sandbox = sandboxes.find((mode) => mode === guard.sandbox) ?? "off"
  return { ask, bash: guard.bash === true, sandbox }
}

/** Tools that a person let run unasked, each for one run. In memory only: another process asks again. */
export class Allowances {
  readonly #allowed = new Set<string>()

  add(runId: string, tool: string): void {
    this.#allowed.add(`${runId}/${tool}`)
  }

  has(runId: string, tool: string): boolean {
    return this.#allowed.has(`${runId}/${tool}`)
  }
}

/** The question of a pause that an allowance would have prevented. */
export function approvalQuestion(tool: string): string {
  return `${tool} needs an approval.`
}

/** The config file's own gate is asked first; either can pause. */
export function gatedBy({ ask }: Guard, allowances: Allowances, hooks: Hooks = {}): Hooks {
  if (ask.length === 0) return hooks
  return {
    ...hooks,
    async gateBeforeTool(call): Promise<GateVerdict> {
      const verdict = await hooks.gateBeforeTool?.(call)
      if (verdict?.allow === false) return verdict
      const isAsked = (ask.includes("all") || ask.includes(call.name)) && !allowances.has(call.runId, call.name)
      // What a person wrote themselves is not put before them again.
      return isAsked && !call.edited ? { allow: false, reason: approvalQuestion(call.name) } : { allow: true }
    },
  }
}
