import { homedir } from "node:os"
import { dirname, join, resolve } from "node:path"
import type { RunInput, RuntimeConfig } from "../../contract/run.ts"
import { insidePath, realPathOf } from "../../hosts/node/files/confine.ts"
import { stateFolders } from "../../hosts/node/store/state-folder.ts"
import { closest } from "../../lib/closest.ts"
import { isJsonObject } from "../../lib/json.ts"
import { isSecretName } from "../../lib/text/credential.ts"
import { UsageError } from "../arguments.ts"
import { clip } from "../format.ts"
import { isBucket } from "./store-choice.ts"

type InputKeys = "system" | "effort" | "temperature" | "maxOutputTokens" | "limits" | "allowedTools" | "disabledTools"
type ProgramKeys = "tools" | "hooks" | "observers" | "resolvePricing"

/** The checked settings of a config file. */
export interface FileSettings extends Pick<RunInput, InputKeys>, Pick<RuntimeConfig, ProgramKeys | "unknownPrice"> {
  readonly model?: string
  /** An absolute path, like `store`. */
  readonly workspace?: string
  readonly store?: string
  /** True: the skills of the workspace and of the user are offered. */
  readonly skills?: boolean
  readonly memory?: "off" | "read-only" | "read-write"
  /** False: the AGENTS.md files of the workspace are not given to the model. */
  readonly agentsMd?: boolean
}

/** Rejects invalid settings; the error names the file, the key and the expected value. */
export function checkSettings(file: string, given: unknown, { isProgram }: { isProgram: boolean }): FileSettings {
  if (!isJsonObject(given)) {
    throw new UsageError(`${file} does not contain an object.`, 'Write settings as { "model": "offline" }.')
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

/** The settings that restrict a run, and for each other setting the reason it was dropped. */
export function narrowed(settings: FileSettings): {
  readonly kept: FileSettings
  readonly left: readonly (readonly [key: string, why: string])[]
} {
  const { store, unknownPrice, limits, skills, memory, ...others } = settings
  const { turns, ...otherLimits } = limits ?? {}
  const isOwnStore = store === undefined || isOwnFolder(store)
  const isFewTurns = turns === undefined || turns <= defaultTurns
  const left: (readonly [string, string])[] = []
  if (!isOwnStore) left.push(["store", "keeps runs outside your state folder"])
  if (unknownPrice === "warn") left.push(["unknownPrice", "removes a limit in dollars"])
  if (skills) left.push(["skills", "trusts the skills of the workspace"])
  if (memory !== undefined && memory !== "off") left.push(["memory", "lets runs remember"])
  if (!isFewTurns) left.push(["limits.turns", `raises the turn limit of ${defaultTurns}`])
  return {
    kept: {
      ...others,
      ...(skills === false && { skills }),
      ...(memory === "off" && { memory }),
      ...(isOwnStore && store !== undefined && { store }),
      ...(unknownPrice === "refuse" && { unknownPrice }),
      ...(limits && { limits: { ...otherLimits, ...(isFewTurns && turns !== undefined && { turns }) } }),
    },
    left,
  }
}

/** True if runs stored there are the user's own: no repository can contain the folder. */
export function isOwnFolder(folder: string): boolean {
  return (
    !isBucket(folder) && stateFolders().some((own) => insidePath(realPathOf(own), realPathOf(folder)) !== undefined)
  )
}

/** The file name of auto-discovery. */
export const programName = "longhaul.config.js"

const defaultTurns = 100

interface Rule {
  /** Completes the sentence "use …". */
  readonly expects: string
  accepts(value: unknown): boolean
  /** For an object with its own keys. */
  readonly inside?: Rules
}

type Rules = Readonly<Record<string, Rule>>

const text: Rule = {
  expects: "a non-empty string",
  accepts: (value) => typeof value === "string" && value.trim() !== "",
}

const names: Rule = {
  expects: 'a list of tool names, such as ["Read", "Grep"]',
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

/** Settings that JSON can express. */
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
  skills: { expects: "true or false", accepts: isBoolean },
  memory: oneOf("off", "read-only", "read-write"),
  agentsMd: { expects: "true or false", accepts: isBoolean },
} as const satisfies Record<Exclude<keyof FileSettings, ProgramKeys> | "$schema", Rule>

/** Settings that need code. */
const programRules = {
  tools: {
    expects: "a list of tools made with defineTool",
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
      // An object may contain anything, including a secret.
      const shown = isJsonObject(value) ? "an object" : clip(JSON.stringify(value) ?? typeof value, 60)
      throw new UsageError(`${file}: invalid value for ${name}: ${shown}.`, `Use ${rule.expects}, or omit it.`)
    }
    if (rule.inside && isJsonObject(value)) checkAgainst(rule.inside, file, `${name}.`, value)
  }
}

function unknownKey(file: string, name: string, known: readonly string[]): UsageError {
  const shown = JSON.stringify(clip(name, 60))
  if (isSecretName(name)) {
    return new UsageError(
      `${file}: ${shown} looks like a secret, which does not belong in a shared file.`,
      "Remove it and set it in the environment, such as ANTHROPIC_API_KEY.",
    )
  }
  if (Object.hasOwn(programRules, name)) {
    return new UsageError(
      `${file}: ${shown} is code, which JSON cannot contain.`,
      `Move it to ${join(dirname(file), programName)} and name that file with --config.`,
    )
  }
  const meant = closest(name.slice(name.lastIndexOf(".") + 1), known)
  const list = `Known keys: ${known.join(", ")}.`
  return new UsageError(`${file}: unknown key ${shown}.`, meant ? `Did you mean ${meant}? ${list}` : list)
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

function isBoolean(value: unknown): boolean {
  return typeof value === "boolean"
}

function isFunction(value: unknown): boolean {
  return typeof value === "function"
}
