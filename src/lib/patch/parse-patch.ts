import { type FilePatch, malformed, shown } from "./file-patch.ts"
import { isBegin, parseEnvelope } from "./parse-envelope.ts"
import { beginsUnified, parseUnified } from "./parse-unified.ts"
import { unwrap } from "./unwrap.ts"

/** Parses a patch in either format, out of whatever a model has put around it. */
export function parsePatch(patch: string): readonly FilePatch[] {
  const lines = unwrap(patch)
  const start = lines.findIndex((line, at) => isBegin(line) || beginsUnified(lines, at))
  if (start === -1) throw malformed(whyNot(lines))
  const isEnvelope = isBegin(lines[start] ?? "")
  if (isEnvelope && start > 0) {
    throw malformed(`${shown(lines[0] ?? "")} precedes "*** Begin Patch": pass nothing but the patch.`)
  }
  const patches = isEnvelope ? parseEnvelope(lines) : parseUnified(lines.slice(start))
  if (patches.length === 0) throw malformed("The patch is empty: it does not name a file.")
  return patches
}

function whyNot(lines: readonly string[]): string {
  if (lines.every((line) => line.trim() === "")) return "The patch is empty."
  if (lines.some((line) => /^\*\*\* (Add|Delete|Update) File:/.test(line))) {
    return `The patch does not start with "*** Begin Patch".`
  }
  if (lines.some((line) => /^\*{15}/.test(line))) return "This is a context diff: pass a unified diff."
  if (lines.some((line) => line.startsWith("@@"))) return "The patch does not name a file."
  return `This is not a patch: pass "*** Begin Patch" … "*** End Patch", or a unified diff.`
}
