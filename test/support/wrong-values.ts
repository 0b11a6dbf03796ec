import type { Kind, ObjectShape, TypeShape } from "./public-types.ts"

/** A value inside one that works otherwise. */
export interface TriedValue {
  /** The settings that lead to it, from the argument on. */
  readonly path: readonly string[]
  readonly what: string
  readonly value: unknown
}

/** Values that work, by the name of their type. */
export type Samples = Readonly<Record<string, () => unknown>>

/** What JavaScript code passes by mistake, one of each kind. */
const mistakes: readonly (readonly [Kind | "symbol" | "bigint", unknown])[] = [
  ["null", null],
  ["text", "wrong"],
  ["number", 7],
  ["boolean", true],
  ["array", [7]],
  ["object", { wrong: 7 }],
  ["function", () => 7],
  ["symbol", Symbol("wrong")],
  ["bigint", 7n],
]

/** One value of each kind that needs nothing inside. */
const examples: readonly (readonly [Kind, unknown])[] = [
  ["null", null],
  ["text", "x"],
  ["number", 1],
  ["boolean", true],
  ["boolean", false],
  ["array", []],
  ["function", () => "x"],
]

/** Every way in which a value of a type can be wrong, down to a depth of settings. `right`: one that works. */
export class WrongValues {
  readonly #samples: Samples
  readonly #deepest: number

  constructor(samples: Samples, deepest = 5) {
    this.#samples = samples
    this.#deepest = deepest
  }

  *of(type: TypeShape, right: unknown, depth = 0): Generator<TriedValue> {
    yield* this.#wrongKinds(type)
    if (depth > this.#deepest || isJson(type)) return
    const taken = type.objects.filter((object) => isWhole(right, object))
    for (const object of taken.length > 0 ? taken : type.objects) {
      if (object.isInstance) yield* wrongInstances(type, object)
      else yield* this.#wrongMembers(object, right, depth)
    }
    const entry = Array.isArray(right) ? right[0] : undefined
    for (const wrong of type.items ? this.of(type.items(), entry, depth + 1) : []) {
      yield { ...wrong, path: ["0", ...wrong.path], value: [wrong.value] }
    }
  }

  *#wrongKinds(type: TypeShape): Generator<TriedValue> {
    const { kinds, words } = type
    const isAny = kinds.size === 7
    for (const [kind, value] of mistakes) {
      const isAllowed = kind === "symbol" || kind === "bigint" ? isAny : kinds.has(kind)
      if (!isAllowed) yield { path: [], what: kind, value }
    }
    if (words) yield { path: [], what: "unknown word", value: "no such word" }
    if (kinds.has("number") && !isJson(type)) yield { path: [], what: "NaN", value: Number.NaN }
  }

  *#wrongMembers(object: ObjectShape, right: unknown, depth: number): Generator<TriedValue> {
    const whole = isWhole(right, object) ? right : Object(this.#sampleOf(object))
    if (object.members.length > 0 && !object.values) {
      yield { path: [], what: "unknown key", value: { ...whole, wrongKey: 7 } }
      // Without its settings: they are lost, silently, if it passes for an object.
      yield { path: [], what: "promise", value: Promise.resolve(whole) }
      yield { path: [], what: "map", value: new Map(Object.entries(whole)) }
    }
    for (const { name, isOptional, type } of object.members) {
      for (const wrong of this.of(type(), Reflect.get(whole, name), depth + 1)) {
        yield { ...wrong, path: [name, ...wrong.path], value: { ...whole, [name]: wrong.value } }
      }
      const { [name]: _, ...others } = whole
      if (!isOptional) yield { path: [name], what: "missing", value: others }
    }
    for (const wrong of object.values ? this.of(object.values(), undefined, depth + 1) : []) {
      yield { ...wrong, path: ["some", ...wrong.path], value: { ...whole, some: wrong.value } }
    }
  }

  /** Every kind of value that a type allows in each of its settings, also where another kind is usual. */
  *allowed(type: TypeShape, right: unknown, depth = 0): Generator<TriedValue> {
    for (const [kind, value] of type.words ? [] : examples) {
      if (type.kinds.has(kind)) yield { path: [], what: kind, value }
    }
    for (const word of type.words ?? []) yield { path: [], what: word, value: word }
    if (depth > this.#deepest || isJson(type)) return
    for (const object of type.objects.filter(({ isInstance }) => !isInstance)) {
      const whole = isWhole(right, object) ? right : Object(this.#sampleOf(object))
      for (const { name, type } of object.members) {
        for (const tried of this.allowed(type(), Reflect.get(whole, name), depth + 1)) {
          yield { ...tried, path: [name, ...tried.path], value: { ...whole, [name]: tried.value } }
        }
      }
      for (const tried of object.values ? this.allowed(object.values(), undefined, depth + 1) : []) {
        yield { ...tried, path: ["some", ...tried.path], value: { ...whole, some: tried.value } }
      }
    }
    for (const tried of type.items ? this.allowed(type.items(), undefined, depth + 1) : []) {
      yield { ...tried, path: ["0", ...tried.path], value: [tried.value] }
    }
  }

  /** A value that works, as far as its type says. */
  sample(type: TypeShape, name: string): unknown {
    const given = this.#samples[name]
    if (type.words) return type.words[0]
    if (type.kinds.has("text")) return given && type.objects.length === 0 ? given() : "x"
    if (type.objects[0]) return this.#sampleOf(type.objects[0])
    if (type.kinds.has("number")) return 1
    if (type.kinds.has("boolean")) return true
    if (type.kinds.has("function")) return () => undefined
    return type.kinds.has("array") ? [] : null
  }

  #sampleOf(object: ObjectShape): unknown {
    const given = this.#samples[object.name]
    if (given) return given()
    const needed = object.members.filter(({ isOptional }) => !isOptional)
    return Object.fromEntries(needed.map(({ name, type }) => [name, this.sample(type(), name)]))
  }
}

/** An instance is refused without its methods. */
function* wrongInstances({ objects }: TypeShape, object: ObjectShape): Generator<TriedValue> {
  if (objects.every(({ isInstance }) => isInstance) && object.members.length > 0) {
    yield { path: [], what: "empty object", value: {} }
  }
}

/** Values of JSON have no settings inside. */
function isJson({ kinds, objects }: TypeShape): boolean {
  return kinds.size >= 6 || objects.some(({ name }) => name === "JsonObject")
}

/** True for a value with all that an object of this type must have. */
function isWhole(value: unknown, { members }: ObjectShape): value is Record<string, unknown> {
  const isObject = typeof value === "object" && value !== null
  return isObject && members.every(({ name, isOptional }) => isOptional || Reflect.has(value, name))
}
