import { fsyncSync, openSync, readFileSync, writeSync } from "node:fs"

/** Appends JSON lines to a file that outlives this process; each is written when the call returns. */
export function lineWriter(path: string): (value: object) => void {
  const file = openSync(path, "a", 0o600)
  return (value) => {
    writeSync(file, `${JSON.stringify(value)}\n`)
    fsyncSync(file)
  }
}

/** Empty if nothing was written. */
export function readLines<Line>(path: string): readonly Line[] {
  try {
    const lines = readFileSync(path, "utf8").split("\n").slice(0, -1)
    // Safe: the trial wrote the file itself, as lines of this type.
    return lines.map((line) => JSON.parse(line) as Line)
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return []
    throw error
  }
}
