import { LonghaulError } from "../../contract/error.ts"
import { checkKeys, kindOf } from "../known-keys.ts"

/** What a setting may be. A list of kinds means any of them. */
export type Kind =
  | "any"
  | "text"
  | "number"
  | "boolean"
  | "false"
  | "function"
  | "object"
  | "signal"
  | "list"
  | "texts"
  | "objects"
  | "texts or objects"

/** The kinds of all settings of a type; the compiler rejects an incomplete table. */
export type Shape<Options> = { readonly [Key in keyof Options]-?: Kind | readonly Kind[] }

/**
 * Throws `config_invalid` for unknown keys and for settings of the wrong type, which JavaScript callers can pass without a compiler
 * error. `path`: where the settings are, if not at the top.
 */
export function checkShape<Options>(where: string, given: unknown, shape: Shape<Options>, path = ""): void {
  checkKeys(where, given, Object.keys(shape))
  for (const [key, kinds] of Object.entries<Kind | readonly Kind[]>(shape)) {
    const value: unknown = Reflect.get(Object(given), key)
    if (value === undefined) continue
    const allowed = [kinds].flat()
    if (allowed.some((kind) => fits[kind](value))) continue
    const name = `${path}${key}`
    const expected = allowed.map((kind) => words[kind]).join(" or ")
    const wrong = partOf(allowed, value)
    throw new LonghaulError(
      "config_invalid",
      `${name}${wrong.at} is ${kindOf(wrong.value)}, not ${wrong.expected ?? expected}.`,
      {
        fix: `Pass ${name} as ${expected}, or omit it.`,
      },
    )
  }
}

/** The settings as far as they can be used before they are checked: what is wrong is reported by the check. */
export function usable<Options extends object>(given: Options, shape: Shape<Options>): Partial<Options> {
  const right = Object.entries<Kind | readonly Kind[]>(shape).flatMap(([key, kinds]) => {
    const value: unknown = Reflect.get(Object(given), key)
    return value !== undefined && [kinds].flat().some((kind) => fits[kind](value)) ? [[key, value]] : []
  })
  // Safe: each is one of the given settings.
  return Object.fromEntries(right) as Partial<Options>
}

/** The entry of a list that makes it wrong, where it is a list. */
function partOf(
  allowed: readonly Kind[],
  value: unknown,
): { readonly at: string; readonly value: unknown; readonly expected?: string } {
  const kind = allowed.find((each) => each in entries)
  if (kind === undefined) return { at: "", value }
  if (!Array.isArray(value)) return { at: "", value, expected: words.list }
  const entry = entries[kind]
  const index = value.findIndex((each) => !entry?.some((of) => fits[of](each)))
  return { at: `[${index}]`, value: value[index], expected: entry?.map((of) => words[of]).join(" or ") ?? "" }
}

const entries: Partial<Record<Kind, readonly Kind[]>> = {
  texts: ["text"],
  objects: ["object"],
  "texts or objects": ["text", "object"],
}

const isObject = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value)
const isText = (value: unknown) => typeof value === "string"

const fits: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  any: () => true,
  text: isText,
  number: (value) => typeof value === "number" && Number.isFinite(value),
  boolean: (value) => typeof value === "boolean",
  false: (value) => value === false,
  function: (value) => typeof value === "function",
  object: isObject,
  signal: (value) => isObject(value) && typeof Reflect.get(Object(value), "addEventListener") === "function",
  list: Array.isArray,
  texts: (value) => Array.isArray(value) && value.every(isText),
  objects: (value) => Array.isArray(value) && value.every(isObject),
  "texts or objects": (value) => Array.isArray(value) && value.every((each) => isText(each) || isObject(each)),
}

const words: Readonly<Record<Kind, string>> = {
  any: "anything",
  text: "a text",
  number: "a number",
  boolean: "true or false",
  false: "false",
  function: "a function",
  object: "an object",
  signal: "an AbortSignal",
  list: "an array",
  texts: "an array of texts",
  objects: "an array of objects",
  "texts or objects": "an array of texts or objects",
}
