import { basename, resolve } from "node:path"
import type { JsonObject } from "../../contract/json.ts"
import type { Policy, PolicySource } from "../../contract/policy.ts"
import { closest } from "../../lib/closest.ts"
import { isJsonObject } from "../../lib/json.ts"
import { isOurs } from "../../lib/own-names.ts"
import { type OptionTable, UsageError } from "../arguments.ts"
import { shellWord } from "../format.ts"

const sandboxes = ["off", "auto", "required"] as const
type Sandbox = (typeof sandboxes)[number]

/** Options that decide what tools may do without asking. */
export const guardOptions = {
  ask: {
    type: "string",
    value: "<a,b>",
    help: 'Ask before these tools run ("all" for every tool); without a terminal, pause.',
  },
  policy: { type: "string", value: "<file>", help: "Policy file that decides which calls run." },
  bash: { type: "boolean", help: "Let the model run shell commands with your permissions." },
  sandbox: {
    type: "string",
    value: "<mode>",
    values: sandboxes,
    help: "Sandbox for commands: off (default), auto (if bubblewrap is available) or required.",
  },
} as const satisfies OptionTable

export interface GuardChoice {
  readonly ask?: string
  readonly bash?: boolean
  readonly sandbox?: string
  readonly policy?: string
}

export interface Guard {
  /** Tools that pause the run before they run. */
  readonly ask: readonly string[]
  readonly bash: boolean
  readonly sandbox: Sandbox
  /** The policy file that the user named. Absolute. */
  readonly policy?: string | undefined
}

/** The value given now, else the value the run was started with. */
export function guardOf(choice: GuardChoice, began?: Guard): Guard {
  const sandbox = sandboxes.find((mode) => mode === (choice.sandbox ?? began?.sandbox ?? "off"))
  if (sandbox === undefined) {
    throw new UsageError(
      `Invalid value for --sandbox: ${JSON.stringify(choice.sandbox)}.`,
      `Use one of: ${sandboxes.join(", ")}.`,
    )
  }
  const policy = choice.policy === undefined ? recalledPolicy(began?.policy) : resolve(choice.policy)
  return {
    policy,
    ask: choice.ask === undefined ? (began?.ask ?? []) : namesIn(choice.ask),
    bash: choice.bash ?? began?.bash ?? false,
    sandbox,
  }
}

/** The policy file that the run began under. Tools may have changed a file of another name, and a program must be named each time. */
function recalledPolicy(path: string | undefined): string | undefined {
  if (path === undefined || isRecalledPolicy(path)) return path
  throw new UsageError(
    `The run began under ${path}, which may have changed since.`,
    `Review it, then add: --policy ${shellWord(path)}`,
  )
}

/** True if a run that began under this file is resumed under it, without naming it again. */
export function isRecalledPolicy(path: string): boolean {
  return isOurs(basename(path)) && /\.(ya?ml|json)$/i.test(path)
}

/** A misspelt name would never match a call. Bash may be named even if it is not enabled. */
export function checkAsked(given: string | undefined, toolNames: readonly string[]): void {
  const known = [...new Set([...toolNames, "Bash", "all"])]
  const unknown = namesIn(given ?? "").find((name) => !known.includes(name))
  if (unknown === undefined) return
  const meant = closest(unknown, known)
  throw new UsageError(
    `Unknown tool in --ask: ${JSON.stringify(unknown)}.`,
    `${meant ? `Did you mean ${meant}? ` : ""}Use a comma-separated list of: ${known.join(", ")}.`,
  )
}

function namesIn(list: string): readonly string[] {
  return list.split(",").flatMap((name) => name.trim() || [])
}

/** Stored with the run, so that a process that resumes it applies the same approvals. */
export function guardMetadata(guard: Guard): JsonObject | undefined {
  const { ask, bash, sandbox, policy } = guard
  if (ask.length === 0 && !bash && sandbox === "off" && policy === undefined) return undefined
  return { guard: { ask: [...ask], bash, sandbox, ...(policy !== undefined && { policy }) } }
}

export function recordedGuard(metadata: JsonObject | undefined): Guard | undefined {
  const guard = metadata?.guard
  if (!isJsonObject(guard)) return undefined
  const ask = Array.isArray(guard.ask) ? guard.ask.filter((name) => typeof name === "string") : []
  const sandbox = sandboxes.find((mode) => mode === guard.sandbox) ?? "off"
  const policy = typeof guard.policy === "string" ? { policy: guard.policy } : {}
  return { ask, bash: guard.bash === true, sandbox, ...policy }
}

/**
 * The policy of a run on the command line. A file that was found only restricts. `--bash` is an approval of Bash, unless `--ask` names it.
 * Runs pause for other questions: `approve` answers them later.
 */
export function policyOf({ ask, bash, policy }: Guard, found: readonly PolicySource[] = []): Policy {
  const asked = ask.map((name) => [name === "all" ? "*" : name, "high"] as const)
  const isAsked = ask.includes("all") || ask.includes("Bash")
  return {
    ask: "pause",
    ...(policy !== undefined && { file: policy }),
    ...(found.length > 0 && { documents: found }),
    ...(bash && !isAsked && { preApproved: ["Bash"] }),
    ...(asked.length > 0 && { tiers: Object.fromEntries(asked) }),
  }
}
