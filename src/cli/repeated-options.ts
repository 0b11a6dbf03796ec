import { isRecalledPolicy } from "./approval/gate.ts"
import { shellWord } from "./format.ts"

/** The options of printed commands, as a shell reads them: each part begins with a space, or is empty. */
export interface Repeated {
  /** For commands that only read the run. */
  readonly store: string
  /** For commands that continue it. */
  readonly all: string
  /** The steps for a person to take before they continue it. */
  readonly notes: readonly string[]
}

/** As given on the command line. */
export type Given = {
  readonly [Name in (typeof unrecorded)[number] | (typeof sinceResumed)[number] | "policy" | "workspace-id"]?:
    | string
    | boolean
    | undefined
}

/**
 * The options that a later command needs again, because the journal does not have them. `isResumed`: the run was resumed by this command,
 * whose options the journal does not have either.
 */
export function repeatedOptions(
  given: Given,
  store?: string,
  { isResumed = false }: { readonly isResumed?: boolean } = {},
): Repeated {
  const at = optionText("store", store) + optionText("workspace-id", given["workspace-id"])
  const policy =
    typeof given.policy === "string" && (isResumed || !isRecalledPolicy(given.policy)) ? given.policy : undefined
  const names = isResumed ? [...unrecorded, ...sinceResumed] : unrecorded
  const options = names.map((name) => optionText(name, given[name]))
  const isReviewed = policy !== undefined && !isRecalledPolicy(policy)
  return {
    store: at,
    all: [at, ...options, optionText("policy", policy)].join(""),
    notes: isReviewed ? [`${policy} may have changed since the run began: review it before you continue.`] : [],
  }
}

/** Programs and code are never taken from a journal. */
const unrecorded = ["config", "no-config", "mcp-config"] as const
const sinceResumed = ["workspace", "model", "backend", "ask", "bash", "sandbox", "node"] as const

function optionText(name: string, value: string | boolean | undefined): string {
  if (value === undefined || value === false) return ""
  if (value === true) return ` --${name}`
  // A value that looks like an option must be part of its own.
  return ` --${name}${value.startsWith("-") || value === "" ? "=" : " "}${shellWord(value)}`
}
