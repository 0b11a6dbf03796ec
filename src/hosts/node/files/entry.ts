import type { Dirent, Stats } from "node:fs"
import type { FileEntry } from "../../../contract/env.ts"

export function toEntry(entry: Dirent): FileEntry {
  return { name: entry.name, kind: kindOf(entry) }
}

export function kindOf(entry: Dirent | Stats): FileEntry["kind"] {
  if (entry.isFile()) return "file"
  if (entry.isDirectory()) return "folder"
  return entry.isSymbolicLink() ? "link" : "other"
}
