import type { Files } from "../../contract/env.ts"
import type { RunProjection } from "../../journal/projection.ts"
import { usesOf } from "../../policy/rules/known-tools.ts"
import type { ResolvedConfig } from "../../settings/config/config.ts"
import type { OpenRun } from "../state/open-run.ts"

/** Digests of files by path; null: the file does not exist or cannot be read. */
export type FileDigests = Readonly<Record<string, string | null>>

/** The files that the run's calls named, newest first, as they are now. */
export async function digestFiles({ config, projection, input }: OpenRun): Promise<FileDigests> {
  const { files } = config.env
  if (files === undefined) return {}
  const paths = await namedPaths(projection)
  const digests = paths.map(async (path) => [path, await digestOf(config, files, path, input.cwd)] as const)
  return Object.fromEntries(await Promise.all(digests))
}

/**
 * Why another backend must not simply continue: its view of the files no longer agrees with the workspace. Undefined: it may. A run
 * that paused for this reason and is resumed again continues.
 */
export async function handoverProblem(run: OpenRun): Promise<string | undefined> {
  const { config, projection, target } = run
  const { checkpoint, handedOver } = projection
  const { chosen } = projection.route
  if (chosen === undefined || chosen.backend === target.backend.name || handedOver) return undefined
  const { files } = config.env
  if (files === undefined || checkpoint === undefined) return undefined
  const checks = Object.entries(checkpoint).map(async ([path, before]) => {
    const now = await digestOf(config, files, path, run.input.cwd)
    return now === before ? [] : [path]
  })
  const changed = (await Promise.all(checks)).flat()
  if (changed.length === 0) return undefined
  return `Files that the run used have changed since it stopped on ${chosen.backend}: ${changed.join(", ")}.`
}

async function namedPaths({ calls }: RunProjection): Promise<readonly string[]> {
  const named = new Set<string>()
  for (const { name, args, finalArgs = args } of [...calls.values()].reverse()) {
    const { read = [], write = [] } = await usesOf({ tool: name, args: finalArgs })
    for (const path of [...read, ...write]) if (path !== undefined) named.add(path)
    if (named.size >= MAX_FILES) break
  }
  return [...named].slice(0, MAX_FILES)
}

async function digestOf({ digest }: ResolvedConfig, files: Files, path: string, cwd: string): Promise<string | null> {
  try {
    const bytes = await files.read(path, cwd, { offset: 0, limit: MAX_BYTES })
    return digest(latin1.decode(bytes))
  } catch {
    return null
  }
}

const latin1 = new TextDecoder("latin1")
const MAX_FILES = 100
const MAX_BYTES = 4 * 1024 ** 2
