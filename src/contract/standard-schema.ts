/** The part of https://standardschema.dev that we rely on: zod, valibot, arktype and others implement it. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1
    readonly vendor: string
    /** Absent at run time: it carries the types. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    /** Standard JSON Schema, added by newer versions of the libraries. May throw. */
    readonly jsonSchema?: { readonly input: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown> }
  }
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

export interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

export type InferOutput<Schema extends StandardSchema> = NonNullable<Schema["~standard"]["types"]>["output"]

/** A Standard Schema of an object, as for a tool's arguments. */
export type StandardObjectSchema = StandardSchema<object & { readonly [Symbol.iterator]?: never }, unknown>
