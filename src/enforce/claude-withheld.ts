/**
 * An output of the same form with `reason` instead of its content: the SDK silently ignores a replacement of another form and shows
 * the original. Only words of the form itself are kept, and the path that the call named.
 */
export function withheldOutput(output: unknown, reason: string, input: unknown): unknown {
  const named = new Set(stringsIn(input))
  const withhold = (value: unknown, key = ""): unknown => {
    if (typeof value === "string") return isOfForm(key, value, named) ? value : reason
    if (typeof value === "number") return 0
    if (Array.isArray(value)) return value.map((each) => withhold(each))
    if (typeof value !== "object" || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withhold(member, name)]))
  }
  return withhold(output)
}

function isOfForm(key: string, value: string, named: ReadonlySet<string>): boolean {
  if (key === "type" || key === "mode") return words.has(value)
  return key === "filePath" && named.has(value)
}

/** A tool could hide content in a `type` of its own. */
const words: ReadonlySet<string> = new Set([
  "text",
  "image",
  "audio",
  "resource",
  "resource_link",
  "base64",
  "file",
  "notebook",
  "pdf",
  "parts",
  "create",
  "update",
  "content",
  "files_with_matches",
  "count",
])

function stringsIn(input: unknown): readonly string[] {
  if (typeof input !== "object" || input === null) return []
  return Object.values(input).filter((value) => typeof value === "string")
}
