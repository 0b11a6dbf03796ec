import { realpathSync } from "node:fs"
import { resolve } from "node:path"
import { LonghaulError } from "../../contract/error.ts"
import type { CommandEnvironmentOptions } from "./command-environment.ts"
import { type Confinement, confineTo, insidePath } from "./confine.ts"
import { refuseSystemFolder } from "./sandbox.ts"
import type { NodeShellOptions } from "./shell-options.ts"
import { defaultSpillFolder } from "./state-folder.ts"

export interface ShellSettings extends CommandEnvironmentOptions {
  /** Where the root really is. */
  readonly root: string
  readonly confinement: Confinement
  readonly readOnlyRoots: readonly string[]
  readonly spillFolder: string
  readonly maxSpillBytes: number
  readonly sandbox: "off" | "auto" | "required"
  readonly network: "none" | "all"
}

/** What cannot work, or would not keep what it says, is refused before the first command. */
export function checkShellOptions(options: NodeShellOptions): ShellSettings {
  const { sandbox = "off", network, maxSpillBytes = 1024 ** 3 } = options
  if (process.platform === "win32") throw invalid("There is no /bin/sh on Windows.", "Run it in WSL.")
  if (!["off", "auto", "required"].includes(sandbox)) {
    throw invalid(`There is no sandbox mode ${JSON.stringify(sandbox)}.`, 'Use "off", "auto" or "required".')
  }
  if (network !== undefined && network !== "none" && network !== "all") {
    throw invalid(
      "A shell's network cannot be limited to a list of hosts: bubblewrap allows all or nothing.",
      'Use "none" or "all", or run the whole process behind a filtering proxy.',
    )
  }
  if (network === "none" && sandbox === "off") {
    throw invalid("Without a sandbox the network cannot be closed.", 'Set `sandbox` to "required".')
  }
  const readOnlyRoots = (options.readOnlyRoots ?? []).map((path) => resolve(path))
  const confinement = confineTo([options.root], readOnlyRoots)
  const root = realpathSync.native(options.root)
  if (sandbox !== "off") for (const path of [root, ...readOnlyRoots]) refuseSystemFolder(path)
  const spillFolder = resolve(options.spillFolder ?? defaultSpillFolder())
  if (insidePath(root, spillFolder) !== undefined) {
    throw invalid(
      `The spill folder ${spillFolder} lies inside the root ${root}.`,
      "Keep it where commands do not work.",
    )
  }
  return {
    ...options,
    root,
    confinement,
    readOnlyRoots,
    spillFolder,
    maxSpillBytes,
    sandbox,
    network: network ?? "none",
  }
}

function invalid(message: string, fix: string): LonghaulError {
  return new LonghaulError("config_invalid", message, { fix })
}
