/** The part of https://standardschema.dev that we rely on: zod, valibot, arktype and others all carry it. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1
    readonly vendor: string
    /** Never there at run time: it carries the types. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    /** Standard JSON Schema, which newer versions of the libraries add. May throw. */
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

export function isStandardSchema(value: unknown): value is StandardSchema {
  // Some libraries make their schemas callable.
  return ((typeof value === "object" && value !== null) || typeof value === "function") && "~standard" in value
}

/** `path: what is wrong`, as for JSON Schema. */
export function describeStandardIssue(issue: StandardIssue): string {
  const keys = (issue.path ?? []).map((segment) => (typeof segment === "object" ? segment.key : segment))
  return `${formatPath(keys)}: ${issue.message}`
}

/** `files[0].path`; the arguments as a whole are `arguments`. */
export function formatPath(keys: readonly PropertyKey[]): string {
  let path = ""
  for (const key of keys) {
    if (typeof key === "number") path += `[${key}]`
    else path += path === "" ? String(key) : `.${String(key)}`
  }
  return path === "" ? "arguments" : path
}
