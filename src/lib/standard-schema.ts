import type { StandardIssue, StandardSchema } from "../contract/standard-schema.ts"

export function isStandardSchema(value: unknown): value is StandardSchema {
  // Some libraries make their schemas callable.
  return ((typeof value === "object" && value !== null) || typeof value === "function") && "~standard" in value
}

/** `path: problem`, as for JSON Schema. */
export function describeStandardIssue(issue: StandardIssue, whole: string): string {
  const keys = (issue.path ?? []).map((segment) => (typeof segment === "object" ? segment.key : segment))
  return `${formatPath(keys, whole)}: ${issue.message}`
}

/** `files[0].path`; the value itself is named `whole`. */
export function formatPath(keys: readonly PropertyKey[], whole: string): string {
  let path = ""
  for (const key of keys) {
    if (typeof key === "number") path += `[${key}]`
    else path += path === "" ? String(key) : `.${String(key)}`
  }
  return path === "" ? whole : path
}
