import { LonghaulError } from "../../contract/error.ts"
import { whyNotJson } from "../json.ts"
import { checkKeys, isObject, kindOf } from "../known-keys.ts"

/** The possible values of a setting. A list means any of them. */
export type Field = Kind | Part | readonly (Kind | Part)[]

type Kind =
  | "any"
  | "text"
  | "number"
  | "boolean"
  | "false"
  | "function"
  | "object"
  | "signal"
  | "bytes"
  | "json"
  | "undefined"

/** A value that is looked into: it has one of these. */
export interface Part {
  /** The only texts that are allowed. */
  readonly words?: readonly string[]
  /** Of the entries of an array. */
  readonly list?: Field
  /** Of the values of an object, whatever their names. */
  readonly record?: Field
  /** The settings of an object. */
  readonly shape?: Readonly<Record<string, Entry>>
  readonly isOpen?: boolean
  /** The members of a value that something else creates: others are not checked. */
  readonly members?: Readonly<Record<string, Entry>>
  readonly fix?: string | undefined
}

type Entry = Field | Needed
interface Needed {
  readonly required: Field
}

/** The settings of a type, all of them, and which must be given; the compiler rejects an incomplete table. */
export type Shape<Options> = {
  readonly [Key in keyof Options]-?: undefined extends Options[Key] ? Field : Field | Needed
}

export const required = (field: Field): Needed => ({ required: field })
export const words = (...known: readonly string[]): Part => ({ words: known })
export const listOf = (field: Field): Part => ({ list: field })
/** Of values by any name. */
export const recordOf = (field: Field): Part => ({ record: field })
export const shapeOf = <Options>(shape: Shape<Options>): Part => ({ shape })
/** An object that may have other members: of unknown keys only near misses are rejected. */
export const openShapeOf = <Options>(shape: Shape<Options>): Part => ({ shape, isOpen: true })
/** The return value of another function, or an object of a class: it may have other members. */
export const having = (members: Readonly<Record<string, Entry>>, fix?: string): Part => ({
  members,
  fix,
})

/**
 * Throws `config_invalid` for unknown keys and for settings of the wrong type, which JavaScript callers can pass without a compiler
 * error. `path`: where the settings are, if not at the top.
 */
export function checkShape<Options>(where: string, given: unknown, shape: Shape<Options>, path = ""): void {
  checkEntries(where, given, shape, path)
}

/** Throws `config_invalid` for an argument of the wrong type. */
export function checkArgument(name: string, value: unknown, field: Field): void {
  const allowed: readonly (Kind | Part)[] = [field].flat()
  const chosen = closestOf(
    allowed.filter((each) => fits(each, value)),
    value,
  )
  if (chosen === undefined) throw wrong(name, kindOf(value), allowed)
  if (typeof chosen === "string") return
  if (chosen.words) checkWord(name, value, allowed)
  else if (chosen.list !== undefined) {
    // Safe: it fits, so it is an array.
    for (const [index, entry] of (value as readonly unknown[]).entries())
      checkArgument(`${name}[${index}]`, entry, chosen.list)
  } else if (chosen.record !== undefined) {
    for (const [key, entry] of Object.entries(Object(value))) checkArgument(`${name}.${key}`, entry, chosen.record)
  } else if (chosen.shape) checkEntries(name, value, chosen.shape, `${name}.`, chosen.isOpen)
  else checkMembers(name, value, chosen)
}

/** Of several shapes the one whose required settings are given: one of them may name the type. */
function closestOf(fitting: readonly (Kind | Part)[], value: unknown): Kind | Part | undefined {
  const given = (part: Kind | Part) =>
    Object.entries(entriesOf(part)).filter(
      ([key, entry]) => isRequired(entry) && isGiven(Reflect.get(Object(value), key), entry),
    ).length
  return fitting.length > 1 ? fitting.toSorted((left, right) => given(right) - given(left))[0] : fitting[0]
}

function entriesOf(part: Kind | Part): Readonly<Record<string, Entry>> {
  if (typeof part === "string") return {}
  return part.shape ?? part.members ?? {}
}

const isGiven = (value: unknown, entry: Entry) =>
  value !== undefined &&
  fieldsOf(entry).some((each) =>
    typeof each === "object" && each.words ? each.words.some((word) => word === value) : fits(each, value),
  )

/** The settings as far as they can be used before they are checked: what is wrong is reported by the check. */
export function usable<Options extends object>(given: Options, shape: Shape<Options>): Partial<Options> {
  const right = Object.entries<Field | Needed>(shape).flatMap(([key, entry]) => {
    const value: unknown = Reflect.get(Object(given), key)
    return value !== undefined && fieldsOf(entry).some((each) => fits(each, value)) ? [[key, value]] : []
  })
  // Safe: each is one of the given settings.
  return Object.fromEntries(right) as Partial<Options>
}

function checkEntries(
  where: string,
  given: unknown,
  shape: Readonly<Record<string, Entry>>,
  path: string,
  isOpen = false,
): void {
  checkKeys(where, given, Object.keys(shape), isOpen)
  for (const [key, entry] of Object.entries(shape)) {
    const value: unknown = Reflect.get(Object(given), key)
    if (value !== undefined) checkArgument(`${path}${key}`, value, fieldsOf(entry))
    else if (isRequired(entry)) throw wrong(`${path}${key}`, "missing", fieldsOf(entry))
  }
}

const isRequired = (entry: Entry): entry is Needed => typeof entry === "object" && "required" in entry

function fieldsOf(entry: Entry): readonly (Kind | Part)[] {
  return [isRequired(entry) ? entry.required : entry].flat()
}

function checkWord(name: string, value: unknown, allowed: readonly (Kind | Part)[]): void {
  const known = allowed.flatMap((each) => (typeof each === "object" && each.words ? each.words : []))
  if (allowed.includes("text") || known.some((each) => each === value)) return
  throw new LonghaulError("config_invalid", `${name} is ${JSON.stringify(String(value).slice(0, 80))}.`, {
    fix: `Use one of: ${known.join(", ")}.`,
  })
}

function checkMembers(name: string, value: unknown, { members = {}, fix }: Part): void {
  for (const [key, entry] of Object.entries(members)) {
    const member: unknown = Reflect.get(Object(value), key)
    if (isGiven(member, entry)) checkArgument(`${name}.${key}`, member, fieldsOf(entry))
    else if (member !== undefined || isRequired(entry)) {
      const kind = fieldsOf(entry).includes("function") ? "function " : ""
      const what = kind === "" && member !== undefined ? `a ${key} that is ${kindOf(member)}` : `no ${kind}${key}`
      throw new LonghaulError("config_invalid", `${name} has ${what}.`, {
        fix: fix ?? `Give ${name} the member ${key}.`,
      })
    }
  }
}

function wrong(name: string, found: string, allowed: readonly (Kind | Part)[]): LonghaulError {
  const expected = [...new Set(allowed.map(nameOf))].join(" or ")
  const fix = allowed.flatMap((each) => (typeof each === "object" && each.fix !== undefined ? [each.fix] : []))[0]
  return new LonghaulError("config_invalid", `${name} is ${found}, not ${expected}.`, {
    fix: fix ?? (found === "missing" ? `Pass ${name} as ${expected}.` : `Pass ${name} as ${expected}, or omit it.`),
  })
}

/** True if a value is of the right kind, whatever is in it. */
function fits(part: Kind | Part, value: unknown): boolean {
  if (typeof part === "string") return kinds[part].fits(value)
  if (part.words) return typeof value === "string"
  if (part.list !== undefined) return Array.isArray(value)
  if (part.members) return kindOf(value) !== "null" && /object|function/.test(typeof value) && !Array.isArray(value)
  return isObject(value)
}

function nameOf(part: Kind | Part): string {
  if (typeof part === "string") return kinds[part].name
  if (part.words) return part.words.map((word) => JSON.stringify(word)).join(" or ")
  return part.list === undefined ? "an object" : "an array"
}

const kinds: Readonly<Record<Kind, { readonly name: string; fits(value: unknown): boolean }>> = {
  any: { name: "anything", fits: () => true },
  text: { name: "a text", fits: (value) => typeof value === "string" },
  number: { name: "a number", fits: Number.isFinite },
  boolean: { name: "true or false", fits: (value) => typeof value === "boolean" },
  false: { name: "false", fits: (value) => value === false },
  function: { name: "a function", fits: (value) => typeof value === "function" },
  object: { name: "an object", fits: isObject },
  signal: {
    name: "an AbortSignal",
    fits: (value) => typeof value === "object" && typeof Reflect.get(Object(value), "addEventListener") === "function",
  },
  bytes: { name: "bytes", fits: (value) => value instanceof Uint8Array },
  undefined: { name: "undefined", fits: (value) => value === undefined },
  json: { name: "JSON", fits: (value) => whyNotJson(value, "") === undefined },
}
