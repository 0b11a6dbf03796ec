import { mkdir, readdir, readFile, rm, rmdir, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { JsonObject } from "../../../contract/json.ts"
import { isDead, processOwner } from "../owner.ts"
import { isCoherent } from "../store/fs-store.ts"
import { endProcesses } from "./process-sweep.ts"

/** One folder per shell, named by its nonce: long outputs and the owner, so that a successor can clean up. */
export async function openShellFolder(spillFolder: string, nonce: string): Promise<string> {
  const folder = join(spillFolder, nonce)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(join(folder, ownerName), JSON.stringify(processOwner()), { mode: 0o600 })
  return folder
}

/** A file without content that not even its owner may read. */
export async function emptyFileIn(folder: string): Promise<string> {
  const path = join(folder, emptyName)
  await writeFile(path, "", { mode: 0 })
  return path
}

/** Outputs stay: a resumed run may still read them. */
export async function closeShellFolder(folder: string): Promise<void> {
  for (const name of [ownerName, emptyName]) await rm(join(folder, name), { force: true })
  await rmdir(folder).catch(() => {})
}

/**
 * Kills processes left running by shells of dead processes, and removes outputs that were not written to for a week.
 * Returns how many processes it killed.
 */
export async function sweepShellFolders(spillFolder: string): Promise<number> {
  let ended = 0
  const nonces = (await readdir(spillFolder).catch(() => [])).filter((name) => noncePattern.test(name))
  const isLocal = isCoherent(spillFolder)
  for (const nonce of nonces) {
    const folder = join(spillFolder, nonce)
    const owner = await readOwner(folder)
    if (owner !== undefined && isDead(owner, isLocal)) {
      ended += await endProcesses({ mark: markOf(nonce) }, 0)
      await closeShellFolder(folder)
    }
    await removeOld(folder, owner === undefined)
  }
  return ended
}

/** The marker in the environment of every process of a shell. */
export function markOf(nonce: string, command?: number): string {
  return command === undefined ? `${nonce}.` : `${nonce}.${command}.`
}

const ownerName = "owner.json"
const emptyName = "empty"
const noncePattern = /^[0-9a-f]{32}$/
const keptMs = 7 * 24 * 3600 * 1000

/** Undefined if there is none, or an incomplete one: such a shell has started nothing. */
async function readOwner(folder: string): Promise<JsonObject | undefined> {
  try {
    return JSON.parse(await readFile(join(folder, ownerName), "utf8")) as JsonObject // Written by openShellFolder.
  } catch {
    return undefined
  }
}

async function removeOld(folder: string, isClosed: boolean): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  for (const name of names) {
    const path = join(folder, name)
    const modifiedMs = (await stat(path).catch(() => undefined))?.mtimeMs ?? Infinity
    const isOld = modifiedMs < Date.now() - keptMs
    if (isOld && (name !== ownerName || isClosed)) await rm(path, { recursive: true, force: true }).catch(() => {})
  }
  if (isClosed && names.length > 0) await rmdir(folder).catch(() => {})
}
