import type { FileChange, Files } from "../../contract/env.ts"
import { ToolError } from "../../contract/tool.ts"
import type { AddPatch, DeletePatch, FilePatch, Hunk, UpdatePatch } from "../../lib/patch/file-patch.ts"
import type { Redact } from "../../lib/text/before-cut.ts"
import { decodeText, encodeText, type TextFile } from "../../lib/text-file.ts"
import { onOneLine } from "../shared.ts"
import { applyHunks } from "./apply-hunks.ts"

export interface Plan {
  readonly changes: readonly FileChange[]
  /** One line for each file that changes. */
  readonly report: readonly string[]
}

/** A file as found and as changed by the patch so far; null: absent. */
interface Entry {
  readonly path: string
  readonly name: string
  readonly version: string | null
  readonly before: Uint8Array | null
  now: Uint8Array | null
  /** The file that was moved or copied here. */
  origin?: Entry
  remark?: string
}

/** Computes the changes of a patch against the current files, in order. Writes nothing. `redact`: for errors. */
export async function planChanges(
  patches: readonly FilePatch[],
  files: Files,
  cwd: string,
  redact: Redact,
): Promise<Plan> {
  const entries = new Map<string, Entry>()

  async function entryOf(path: string): Promise<Entry> {
    const name = files.display(path, cwd)
    const known = entries.get(name)
    if (known) return known
    const entry = await readEntry(path, name, files, cwd)
    entries.set(name, entry)
    return entry
  }

  /** If the two sides of a diff have different names, one may be that of a copy: the shorter one comes first. */
  async function sourceOf({ path, otherPath = path }: UpdatePatch): Promise<Entry> {
    for (const each of [path, otherPath].sort((left, right) => left.length - right.length)) {
      const entry = await entryOf(each).catch(() => undefined)
      if (entry?.now) return entry
    }
    return entryOf(path)
  }

  for (const patch of patches) {
    let entry = await (patch.kind === "update" ? sourceOf(patch) : entryOf(patch.path))
    if (patch.kind === "add") add(entry, patch)
    else if (patch.kind === "delete") remove(entry, patch, redact)
    else entry = update(entry, patch, patch.moveTo === undefined ? entry : await entryOf(patch.moveTo), redact)
    if (patch.remark !== undefined) entry.remark = patch.remark
  }
  return toPlan([...entries.values()])
}

async function readEntry(path: string, name: string, files: Files, cwd: string): Promise<Entry> {
  const found = await files.info(path, cwd).catch((error: unknown) => {
    if (error instanceof ToolError && error.code === "not_found") return undefined
    throw error
  })
  if (found?.kind === "folder") throw new ToolError("invalid_input", `${name} is a folder.`)
  // The version is read first: a change in between is then a conflict, and not overwritten.
  const before = found ? await files.read(path, cwd) : null
  return { path, name, version: found?.version ?? null, before, now: before }
}

function contentOf({ now, name }: Entry): Uint8Array {
  if (now === null) throw new ToolError("not_found", `${name} does not exist.`)
  return now
}

function requireAbsent({ now, name }: Entry): void {
  if (now === null) return
  throw new ToolError("conflict", `${name} already exists: update it, or delete it first in the same patch.`)
}

function add(entry: Entry, { content }: AddPatch): void {
  requireAbsent(entry)
  entry.now = new TextEncoder().encode(content)
  delete entry.origin
}

function remove(entry: Entry, { hunks }: DeletePatch, redact: Redact): void {
  const now = contentOf(entry)
  // A patch that states a file's content must know all of it.
  if (hunks.length > 0 && patchText(now, hunks, entry.name, redact).text !== "") {
    throw new ToolError("conflict", `${entry.name} has more lines than the patch removes.`)
  }
  entry.now = null
}

function update(entry: Entry, { hunks, copy = false }: UpdatePatch, target: Entry, redact: Redact): Entry {
  // A diff between a file and an absent one may name it on both sides.
  const isNew = entry.now === null && target === entry && hunks.every(({ line }) => line === 0)
  const before = isNew ? new Uint8Array() : contentOf(entry)
  const after = hunks.length === 0 ? before : patchBytes(before, hunks, entry.name, redact)
  if (target !== entry) {
    requireAbsent(target)
    target.origin = copy ? entry : (entry.origin ?? entry)
    if (!copy) entry.now = null
  }
  target.now = after
  return target
}

function patchText(bytes: Uint8Array, hunks: readonly Hunk[], name: string, redact: Redact): TextFile {
  const file = decodeText(bytes)
  if (file === undefined) throw new ToolError("invalid_input", `${name} is a binary file.`)
  const patched = applyHunks(file.text, hunks, name, redact)
  // Some show the byte order mark as part of the first line.
  const isMarkTwice = file.encoding !== "utf-8" && !file.text.startsWith("\ufeff")
  const text = isMarkTwice ? patched.replace(/^\ufeff/, "") : patched
  if (text === file.text) throw new ToolError("invalid_input", `${name}: the patch does not change the file.`)
  return { text, encoding: file.encoding }
}

function patchBytes(bytes: Uint8Array, hunks: readonly Hunk[], name: string, redact: Redact): Uint8Array {
  const patched = encodeText(patchText(bytes, hunks, name, redact))
  if (patched !== undefined) return patched
  throw new ToolError("invalid_input", `${name} is in Latin-1, which cannot represent all characters of the new lines.`)
}

function toPlan(entries: readonly Entry[]): Plan {
  const changed = entries.filter(({ before, now }) => !isSame(before, now))
  if (changed.length === 0) throw new ToolError("invalid_input", "The patch changes nothing.")
  const moves = new Set(changed.filter(isMove).map(({ origin }) => origin))
  return {
    changes: changed.map(({ path, now, version, origin }) => ({
      path,
      content: now,
      version,
      ...(origin && { like: origin.path }),
    })),
    report: changed
      .filter((entry) => entry.now !== null || !moves.has(entry))
      .map((entry) => reportOn(entry) + (entry.remark === undefined ? "" : ` (${entry.remark})`)),
  }
}

function isMove({ before, now, origin }: Entry): boolean {
  return before === null && now !== null && origin !== undefined && origin.before !== null && origin.now === null
}

function reportOn(entry: Entry): string {
  const name = onOneLine(entry.name)
  if (isMove(entry)) return `R ${onOneLine(entry.origin?.name ?? "")} → ${name}`
  return `${entry.before === null ? "A" : entry.now === null ? "D" : "M"} ${name}`
}

function isSame(left: Uint8Array | null, right: Uint8Array | null): boolean {
  if (left === null || right === null) return left === right
  return left.length === right.length && left.every((byte, index) => byte === right[index])
}
