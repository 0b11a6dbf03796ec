import { existsSync } from "node:fs"
import { realpath } from "node:fs/promises"
import { basename, dirname, join, resolve } from "node:path"
import type { PolicyDocument, PolicySource } from "../../../contract/policy.ts"
import { configInvalid } from "../../../lib/failures.ts"
import { isOurs } from "../../../lib/own-names.ts"
import { type CheckOptions, checkDocument } from "../../../policy/rules/check-document.ts"
import { presets } from "../../../policy/rules/presets.ts"
import { restrictingPart } from "../../../policy/rules/restrict.ts"
import { insidePath } from "../files/confine.ts"
import { foldersAbove } from "../folders-above.ts"
import { forgetFile, mayBePlanted, removedFiles, trustFile } from "../shell/command-record.ts"
import { readPolicy } from "./read-policy.ts"

/** A policy file with the files that it extends, those first. */
export interface LoadedPolicy {
  readonly path: string
  readonly sources: readonly PolicySource[]
  /** Settings of a found file that were ignored because they would permit something. */
  readonly ignored: readonly string[]
}

/** Loads a file that the user named: all of it applies, and it may be a program. Rejects with `config_invalid`. */
export async function loadPolicyFile(path: string, options: CheckOptions = {}): Promise<LoadedPolicy> {
  const whole = resolve(path)
  const sources = await readChain(whole, options, { mayExecute: true })
  return { path: whole, sources, ignored: [] }
}

/**
 * Loads a file that was found in or above a workspace. Only what restricts applies. A file that a command may have
 * written is refused: ignoring it could mean ignoring a changed policy.
 */
export async function loadFoundPolicy(path: string, options: CheckOptions = {}): Promise<LoadedPolicy> {
  const folder = await realpath(dirname(path))
  const sources = await readChain(path, options, { mayExecute: false, within: folder })
  return {
    path,
    sources: sources.map((each) => ({ ...each, restrictsOnly: true })),
    ignored: sources.flatMap(({ document, source }) =>
      restrictingPart(document).leftOut.map((setting) => `${setting} of ${source}`),
    ),
  }
}

/** The nearest policy file: from the workspace upwards to the root of the repository. */
export function findPolicyFile(workspace: string): string | undefined {
  for (const folder of foldersAbove(workspace)) {
    const found = names.map((name) => join(folder, name)).filter((path) => existsSync(path))
    const [first, second] = found
    if (second !== undefined) {
      throw configInvalid(
        `${folder} has several policy files: ${found.map((path) => basename(path)).join(", ")}.`,
        "Keep one.",
      )
    }
    if (first !== undefined) return first
    const [removed] = removedFiles(folder, names)
    if (removed !== undefined) {
      throw configInvalid(
        `${removed} is missing from a folder where commands ran, so its rules are missing, too.`,
        "Restore it, or name another policy file once.",
      )
    }
  }
  return undefined
}

const names = ["yaml", "yml", "json", "js"].map((extension) => `longhaul.policy.${extension}`)
const deepest = 10

interface Access {
  readonly mayExecute: boolean
  /** Files outside this folder are refused, and files that a command may have written. */
  readonly within?: string
}

/** The file and those that it extends, the most basic first. */
async function readChain(start: string, options: CheckOptions, access: Access): Promise<readonly PolicySource[]> {
  const sources: PolicySource[] = []
  const named: (readonly [path: string, text: string])[] = []
  const seen = new Set<string>()
  for (let path: string | undefined = start; path !== undefined; ) {
    const isFirst = path === start
    const real = await realpath(path).catch(() => undefined)
    if (real !== undefined) refuseRepeated(real, path, seen)
    if (access.within !== undefined && real !== undefined && insidePath(access.within, real) === undefined) {
      throw configInvalid(`${path} is outside ${access.within}.`, "If you trust it, name the policy file explicitly.")
    }
    const { value, text } = await readPolicy(path, access.mayExecute && isFirst)
    if (text !== undefined && access.within !== undefined && mayBePlanted(path, text)) {
      throw configInvalid(
        `${path} is new or was changed in a folder where commands ran.`,
        "Review it, then name it explicitly once.",
      )
    }
    const document = await checkDocument(value, path, { hasHomeFolder: true, ...options, mayExtendFiles: true })
    if (text !== undefined && access.within === undefined) named.push([path, text])
    const base = baseOf(document, path)
    sources.unshift({ document: base === undefined ? document : withoutExtends(document), source: basename(path) })
    path = base
  }
  // Only now: the user has not accepted a file that cannot be used.
  for (const [path, text] of named) {
    trustFile(path, text)
    // The file that the user names now replaces one that was removed.
    for (const removed of removedFiles(dirname(path), names)) forgetFile(removed)
  }
  return sources
}

function refuseRepeated(real: string, path: string, seen: Set<string>): void {
  if (seen.has(real)) throw configInvalid(`${path} extends itself.`, "Remove one extends.")
  if (seen.size === deepest)
    throw configInvalid(`More than ${deepest} policy files extend each other.`, "Merge some of them.")
  seen.add(real)
}

/** The file that a document extends. Tools can change files of other names, so those are refused. */
function baseOf({ extends: base }: PolicyDocument, path: string): string | undefined {
  if (base === undefined || Object.hasOwn(presets, base)) return undefined
  const file = resolve(dirname(path), base)
  if (isOurs(basename(file))) return file
  throw configInvalid(
    `${path} extends ${base}, which tools could change.`,
    "Name the file longhaul.policy.<name>.yaml: tools cannot write such files.",
  )
}

function withoutExtends({ extends: _, ...document }: PolicyDocument): PolicyDocument {
  return document
}
