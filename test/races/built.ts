import { execFileSync } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, statSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { WATCHDOG_MS } from "../support/watchdog.ts"

const repository = fileURLToPath(new URL("../..", import.meta.url))

/** The shipped package: `dist/`, or a separate build if that is missing or older than the source. */
export function builtPackage(): { readonly url: string; readonly temporary: string | null } {
  const dist = join(repository, "dist")
  if (newest(dist, ".js") > newest(join(repository, "src"), ".ts")) return { url: urlOf(dist), temporary: null }
  const temporary = mkdtempSync(join(tmpdir(), "longhaul-dist-"))
  // Its imports resolve as if it were in the repository.
  symlinkSync(join(repository, "node_modules"), join(temporary, "node_modules"))
  const arguments_ = ["-p", join(repository, "tsconfig.build.json"), "--outDir", temporary]
  try {
    execFileSync(join(repository, "node_modules/.bin/tsc"), arguments_, { stdio: "pipe", timeout: WATCHDOG_MS })
  } catch (error) {
    // A type error elsewhere does not keep tsc from emitting; without output there is nothing to race.
    if (newest(temporary, ".js") === 0) throw error
  }
  return { url: urlOf(temporary), temporary }
}

export async function importBuilt(url: string) {
  const journal = (await import(
    new URL("journal/journal.js", url).href
  )) as typeof import("../../src/journal/journal.ts")
  const reader = (await import(new URL("journal/reader.js", url).href)) as typeof import("../../src/journal/reader.ts")
  const recover = (await import(
    new URL("journal/recover.js", url).href
  )) as typeof import("../../src/journal/recover.ts")
  const projection = (await import(
    new URL("journal/projection.js", url).href
  )) as typeof import("../../src/journal/projection.ts")
  const stores = (await import(
    new URL("hosts/node/store/fs-store.js", url).href
  )) as typeof import("../../src/hosts/node/store/fs-store.ts")
  const bucket = (await import(
    new URL("stores/s3/index.js", url).href
  )) as typeof import("../../src/stores/s3/index.ts")
  return { ...journal, ...reader, ...recover, ...projection, ...stores, ...bucket }
}

export type Built = Awaited<ReturnType<typeof importBuilt>>

function urlOf(folder: string): string {
  return `${pathToFileURL(folder).href}/`
}

/** The last modification time of the relevant journal and store files. */
function newest(folder: string, extension: string): number {
  let time = 0
  // A bundled build has only declarations there.
  if (extension === ".js" && !existsSync(join(folder, "journal/journal.js"))) return 0
  for (const part of ["contract", "lib", "journal", "stores/s3", "hosts/node", "hosts/node/store"]) {
    try {
      for (const name of readdirSync(join(folder, part))) {
        if (!name.endsWith(extension) || name.endsWith(".d.ts") || name.includes(".test")) continue
        time = Math.max(time, statSync(join(folder, part, name)).mtimeMs)
      }
    } catch {
      return 0
    }
  }
  return time
}
