export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export type JsonObject = { readonly [key: string]: Json }
export type JsonSchema = JsonObject
/** A JSON Schema of an object, as for a tool's arguments. */
export type JsonObjectSchema = JsonSchema & { readonly type: "object" }

/** The type of a value after it was written as JSON and parsed again. */
export type AsJson<T> = unknown extends T
  ? Json
  : T extends Json
    ? T
    : T extends { toJSON(): infer Written }
      ? Written
      : T extends NotJson
        ? never
        : T extends object
          ? { readonly [Key in keyof T]: AsJson<T[Key]> }
          : never

/** The same type if it is JSON-compatible, with `never` for every part that is not. */
export type JsonSafe<T> = unknown extends T
  ? T
  : // biome-ignore lint/suspicious/noConfusingVoidType: a function without a return value returns void.
    T extends Json | undefined | void | { toJSON(): unknown }
    ? T
    : T extends NotJson
      ? never
      : T extends object
        ? { [Key in keyof T]: JsonSafe<T[Key]> }
        : never

type NotJson =
  | bigint
  | symbol
  | ((...args: never[]) => unknown)
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | PromiseLike<unknown>
