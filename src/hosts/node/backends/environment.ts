import { mkdirSync } from "node:fs"
import { lstat, readFile, realpath } from "node:fs/promises"
import { join } from "node:path"
import type { BackendEnv } from "../../../contract/backend-env.ts"
import { errnoOf } from "../errno.ts"
import { writePrivateFile } from "../files/private-file.ts"
import { fileTokens } from "../mcp/token-store.ts"
import { defaultSpillFolder, defaultStoreRoot } from "../store/state-folder.ts"
import type { Programs } from "./programs.ts"

export interface BackendHostOptions {
  /** The folder that the tools work in: no program is looked up there. */
  readonly workspace: string
  readonly stopMs?: number
  /** The host's variables, with the declared secrets. */
  variables(): Readonly<Record<string, string | undefined>>
}

type HostParts = Required<
  Pick<
    BackendEnv,
    "spawn" | "sweep" | "loopback" | "variable" | "exists" | "realPath" | "stateFolder" | "stateFile" | "tokens"
  >
>

/** Processes, sockets and folders for backends. Loaded on first use: most runtimes start no program. */
export function backendHost({ workspace, stopMs = 3_000, variables }: BackendHostOptions): HostParts {
  let programs: Programs | undefined
  return {
    async spawn(program) {
      const lazy = await import("../lazy.ts")
      programs ??= new lazy.Programs({ spillFolder: defaultSpillFolder(), outside: [workspace], stopMs, variables })
      return programs.spawn(program)
    },
    async sweep() {
      const { sweepShellFolders } = await import("../shell/shell-folder.ts")
      await sweepShellFolders(defaultSpillFolder()).catch(() => 0)
    },
    async loopback(service) {
      const { serveLoopback } = await import("../lazy.ts")
      return serveLoopback(service, { folder: join(defaultStoreRoot(), "gates"), version: "1" })
    },
    variable: (name) => variables()[name],
    exists: (path) =>
      lstat(path).then(
        () => true,
        // A path that cannot be read may exist.
        (error) => !["ENOENT", "ENOTDIR"].includes(errnoOf(error)),
      ),
    realPath: (path) => realpath(path),
    tokens: fileTokens(join(defaultStoreRoot(), "mcp-logins")),
    stateFolder(name) {
      const folder = join(defaultStoreRoot(), "backends", name)
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      return folder
    },
    async stateFile(name, text) {
      const path = join(defaultStoreRoot(), "backends", name)
      const isWritten = (await readFile(path, "utf8").catch(() => undefined)) === text
      if (!isWritten) await writePrivateFile(path, text)
      return path
    },
  }
}
