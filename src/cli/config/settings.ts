import { homedir } from "node:os"
import { dirname, join, resolve } from "node:path"
import type { RunInput, RuntimeConfig } from "../../contract/run.ts"
import { insidePath, realPathOf } from "../../hosts/node/files/confine.ts"
import { stateFolders } from "../../hosts/node/store/state-folder.ts"
import { closest } from "../../lib/closest.ts"
import { isJsonObject } from "../../lib/json.ts"
import { isSecretName } from "../../lib/secrets.ts"
import { UsageError } from "../arguments.ts"
import { clip } from "../format.ts"
import { isBucket } from "./store-choice.ts"

type InputKeys = "system" | "effort" | "temperature" | "maxOutputTokens" | "limits" | "allowedTools" | "disabledTools"
type ProgramKeys = "tools" | "hooks" | "observers" | "resolvePricing"

/** What a config file may say, checked. */
export interface FileSettings extends Pick<RunInput, InputKeys>, Pick<RuntimeConfig, ProgramKeys | "unknownPrice"> {
  readonly model?: string
  /** Absolute, as is `store`. */
  readonly workspace?: string
  readonly store?: string
}

/** Refuses what cannot be meant, with the file, the key and what would have been right. */
export function checkSettings(file: string, given: unknown, { isProgram }: { isProgram: boolean }): FileSettings {
  if (!isJsonObject(given)) {
    throw new UsageError(`${file} does not hold an object.`, 'Write settings as { "model": "offline" }.')
  }
  checkAgainst(isProgram ? { ...dataRules, ...programRules } : dataRules, file, "", given)
  // Safe: the rules, one for each setting, accepted all of its values.
  const { $schema: _, workspace, store, ...settings } = given as FileSettings & { readonly $schema?: string }
  const fromFile = (path: string) => resolve(dirname(file), path.replace(/^~(?=\/|$)/, homedir()))
  return {
    ...settings,
    ...(workspace !== undefined && { workspace: fromFile(workspace) }),
    ...(store !== undefined && { store: isBucket(store) ? store : fromFile(store) }),
  }
}

/** The settings without those that widen what a run may do, and why each of these does. */
export function narrowed(settings: FileSettings): {
  readonly kept: FileSettings
  readonly left: readonly (readonly [key: string, why: string])[]
} {
  const { store, unknownPrice, limits, ...others } = settings
  const { turns, ...otherLimits } = limits ?? {}
  const isOwnStore = store === undefined || isOwnFolder(store)
  const isFewTurns = turns === undefined || turns <= defaultTurns
  const left: (readonly [string, string])[] = []
  if (!isOwnStore) left.push(["store", "keeps runs outside your state folder"])
  if (unknownPrice === "warn") left.push(["unknownPrice", "lifts a limit in dollars"])
  if (!isFewTurns) left.push(["limits.turns", `raises the limit of ${defaultTurns}`])
  return {
    kept: {
      ...others,
      ...(isOwnStore && store !== undefined && { store }),
      ...(unknownPrice === "refuse" && { unknownPrice }),
      ...(limits && { limits: { ...otherLimits, ...(isFewTurns && turns !== undefined && { turns }) } }),
    },
    left,
  }
}

/** Whether runs kept there are the user's own: no repository can hold the folder. */
export function isOwnFolder(folder: string): boolean {
  return (
    !isBucket(folder) && stateFolders().some((own) => insidePath(realPathOf(own), realPathOf(folder)) !== undefined)
  )
}

/** Where a file that is found by itself is looked for under this name. */
export const programName = "longhaul.config.js"

const defaultTurns = 100

interface Rule {
  /** Completes: give it as … */
  readonly expects: string
  accepts(value: unknown): boolean
  /** Of an object with keys of its own. */
  readonly inside?: Rules
}

type Rules = Readonly<Record<string, Rule>>

const text: Rule = {
  expects: "a text that is not empty",
  accepts: (value) => typeof value === "string" && value.trim() !== "",
}

const names: Rule = {
  expects: 'a list of tools\' names, such as ["Read", "Grep"]',
  accepts: (value) => Array.isArray(value) && value.every(text.accepts),
}

const longest = 2 ** 31 - 1

const limitRules: Rules = {
  turns: wholeTo(longest),
  tokens: wholeTo(Number.MAX_SAFE_INTEGER),
  usd: {
    expects: "a number of dollars above 0",
    accepts: (value) => typeof value === "number" && Number.isFinite(value) && value > 0,
  },
  timeMs: wholeTo(longest),
}

/** What JSON can hold. */
const dataRules = {
  $schema: text,
  model: text,
  workspace: text,
  store: text,
  system: text,
  effort: oneOf("minimal", "low", "medium", "high", "max"),
  temperature: {
    expects: "a number from 0 to 2",
    accepts: (value) => typeof value === "number" && value >= 0 && value <= 2,
  },
  maxOutputTokens: wholeTo(longest),
  limits: { expects: "an object", accepts: isJsonObject, inside: limitRules },
  allowedTools: names,
  disabledTools: names,
  unknownPrice: oneOf("refuse", "warn"),
} as const satisfies Record<Exclude<keyof FileSettings, ProgramKeys> | "$schema", Rule>

/** What only a program can say. */
const programRules = {
  tools: {
    expects: "a list of tools, each made with defineTool",
    accepts: (value) => Array.isArray(value) && value.every((each) => isJsonObject(each) && isFunction(each.run)),
  },
  hooks: { expects: "an object of functions", accepts: (value) => isJsonObject(value) },
  observers: {
    expects: "a list of observers, each with recordEvent",
    accepts: (value) => Array.isArray(value) && value.every((each) => isFunction(each?.recordEvent)),
  },
  resolvePricing: { expects: "a function", accepts: isFunction },
} as const satisfies Record<ProgramKeys, Rule>

function checkAgainst(rules: Rules, file: string, prefix: string, given: Readonly<Record<string, unknown>>): void {
  for (const [key, value] of Object.entries(given)) {
    const rule = Object.hasOwn(rules, key) ? rules[key] : undefined
    const name = `${prefix}${key}`
    if (rule === undefined) throw unknownKey(file, name, Object.keys(rules))
    if (value === undefined) continue
    if (!rule.accepts(value)) {
      // What an object holds may be anything, a secret too.
      const shown = isJsonObject(value) ? "an object" : clip(JSON.stringify(value) ?? typeof value, 60)
      throw new UsageError(`${file}: ${name} is ${shown}.`, `Give ${name} as ${rule.expects}, or leave it out.`)
    }
    if (rule.inside && isJsonObject(value)) checkAgainst(rule.inside, file, `${name}.`, value)
  }
}

function unknownKey(file: string, name: string, known: readonly string[]): UsageError {
  const shown = JSON.stringify(clip(name, 60))
  if (isSecretName(name)) {
    return new UsageError(
      `${file}: ${shown} looks like a secret, which does not belong into a file that is passed around.`,
      "Take it out, and set it in the environment, such as ANTHROPIC_API_KEY.",
    )
  }
  if (Object.hasOwn(programRules, name)) {
    return new UsageError(
      `${file}: ${shown} is code, which JSON cannot hold.`,
      `Put it into ${join(dirname(file), programName)}, and name that with --config.`,
    )
  }
  const meant = closest(name.slice(name.lastIndexOf(".") + 1), known)
  const list = `Known keys: ${known.join(", ")}.`
  return new UsageError(`${file} has the unknown key ${shown}.`, meant ? `Did you mean ${meant}? ${list}` : list)
}

function wholeTo(largest: number): Rule {
  return {
    expects: `a whole number from 1 to ${largest}`,
    accepts: (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= largest,
  }
}

function oneOf(...words: readonly string[]): Rule {
  return {
    expects: `one of ${words.map((word) => JSON.stringify(word)).join(", ")}`,
    accepts: (value) => words.some((word) => word === value),
  }
}

function isFunction(value: unknown): boolean {
  return typeof value === "function"
}
