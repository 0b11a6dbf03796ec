/**
 * An output as the policy sees it: JSON, and each string that JSON escapes once more as it is, so that an escape hides nothing
 * from a pattern. Throws for a value that cannot be written.
 */
export function outputText(output: unknown): string {
  if (typeof output === "string") return output
  const unescaped: string[] = []
  const note = (text: string) => {
    if (JSON.stringify(text).length !== text.length + 2) unescaped.push(text)
  }
  const text = JSON.stringify(output, (key, value: unknown) => {
    note(key)
    if (typeof value === "string") note(value)
    return typeof value === "bigint" ? String(value) : visible(value)
  })
  return [text ?? "", ...unescaped].join("\n")
}

/** All that a framework could show of an exception, which may be any value. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return outputText(error)
  return [error.name, error.message, outputText(error)].join("\n")
}

/** Contents that JSON would leave out. */
function visible(value: unknown): unknown {
  if (value instanceof Map || value instanceof Set) return [...value]
  if (value instanceof Error)
    return { ...value, message: value.message, ...(value.cause ? { cause: value.cause } : {}) }
  return value
}
