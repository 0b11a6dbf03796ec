import { realpathSync } from "node:fs"
import { join, resolve } from "node:path"
import type { LonghaulError } from "../../../contract/error.ts"
import { configInvalid } from "../../../lib/failures.ts"
import { sandboxWords, texts, textsByName } from "../../../lib/schema/contract-shapes.ts"
import { checkShape, required, type Shape } from "../../../lib/schema/shape.ts"
import { type Confinement, confineTo, insidePath, realPathOf } from "../files/confine.ts"
import { defaultSpillFolder, stateFolders } from "../store/state-folder.ts"
import type { CommandEnvironmentOptions } from "./command-environment.ts"
import { refuseSystemFolder } from "./sandbox.ts"
import type { NodeShellOptions } from "./shell-options.ts"

export interface ShellSettings extends CommandEnvironmentOptions {
  /** The real path of the root. */
  readonly root: string
  readonly confinement: Confinement
  readonly readOnlyRoots: readonly string[]
  /** Real paths of folders inside the roots that commands must not see. */
  readonly hidden: readonly string[]
  readonly spillFolder: string
  readonly maxSpillBytes: number
  readonly sandbox: "off" | "auto" | "required"
  readonly network: "none" | "all"
}

const optionsShape: Shape<NodeShellOptions> = {
  root: required("text"),
  readOnlyRoots: texts,
  hidden: texts,
  spillFolder: "text",
  maxSpillBytes: "number",
  sandbox: sandboxWords,
  // Refused below, with the reason.
  network: "any",
  env: textsByName,
  passEnv: texts,
}

/** Rejects invalid or misleading settings before the first command. */
export function checkShellOptions(options: NodeShellOptions): ShellSettings {
  checkShape<NodeShellOptions>("nodeShell", options, optionsShape)
  const { sandbox = "off", network, maxSpillBytes = 1024 ** 3 } = options
  if (process.platform === "win32") throw configInvalid("/bin/sh does not exist on Windows.", "Run it in WSL.")
  if (network !== undefined && network !== "none" && network !== "all") {
    throw configInvalid(
      "The shell's network cannot be limited to a list of hosts: bubblewrap allows all or nothing.",
      'Use "none" or "all", or run the whole process behind a filtering proxy.',
    )
  }
  if (network === "none" && sandbox === "off") {
    throw configInvalid("The network cannot be closed without a sandbox.", 'Set `sandbox` to "required".')
  }
  const readOnlyRoots = (options.readOnlyRoots ?? []).map((path) => resolve(path))
  const confinement = confineTo([options.root], readOnlyRoots, options.hidden)
  const root = realpathSync.native(options.root)
  const stores = [...stateFolders(), ...(options.hidden ?? [])].map((path) => resolve(path))
  for (const store of stores) refuseLinkTo(store, root, resolve(options.root))
  const hidden = [...new Set(stores.map(realPathOf))].filter((store) =>
    [root, ...readOnlyRoots].some((folder) => insidePath(folder, store) !== undefined),
  )
  const exposed = exposedStore({ root, hidden })
  if (sandbox === "off" && exposed) throw exposed
  if (sandbox !== "off") for (const path of [root, ...readOnlyRoots]) refuseSystemFolder(path)
  const spillFolder = resolve(options.spillFolder ?? defaultSpillFolder())
  const isHidden = hidden.some((folder) => insidePath(folder, realPathOf(spillFolder)) !== undefined)
  if (insidePath(root, spillFolder) !== undefined && !isHidden) {
    throw configInvalid(
      `The spill folder ${spillFolder} is inside the root ${root}.`,
      "Choose a folder outside the roots.",
    )
  }
  return {
    ...options,
    root,
    confinement,
    readOnlyRoots,
    hidden,
    spillFolder,
    maxSpillBytes,
    sandbox,
    network: network ?? "none",
  }
}

/** Undefined if no store is in the root. Without a sandbox nothing hides one: a command could rewrite its runs. */
export function exposedStore({ root, hidden }: Pick<ShellSettings, "root" | "hidden">): LonghaulError | undefined {
  const store = hidden.find((folder) => insidePath(root, folder) !== undefined)
  if (store === undefined) return undefined
  return configInvalid(
    `Runs are stored in ${store}, inside the folder ${root}, where commands without a sandbox could change them.`,
    'Set `sandbox` to "required", work in another folder, or store runs elsewhere.',
  )
}

/** A command could replace the link, and Longhaul would use a forged store behind it. */
function refuseLinkTo(store: string, root: string, given: string): void {
  const inside = insidePath(given, store) ?? insidePath(root, store)
  if (inside === undefined || realPathOf(store) === join(root, inside)) return
  throw configInvalid(
    `The folder ${store}, where runs are stored, is reached through a link inside ${root}, which commands could change.`,
    "Let commands work in another folder, or name the store by its real path.",
  )
}
