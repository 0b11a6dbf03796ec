import type { CommandEnvironmentOptions } from "./command-environment.ts"

export interface NodeShellOptions extends CommandEnvironmentOptions {
  /** The folder that commands work in. It must exist. Without a sandbox nothing keeps a command from leaving it. */
  readonly root: string
  /** Folders that a sandboxed command may read too, for programs that are not installed below /usr. */
  readonly readOnlyRoots?: readonly string[]
  /** Folders inside the root that are empty for a sandboxed command, as `nodeFiles` takes them. Without a sandbox, none may be there. */
  readonly hidden?: readonly string[]
  /** Where output goes that is too long to be shown. Outside the root. Default: beside the runs. */
  readonly spillFolder?: string
  /** The most bytes of one command's output that are kept. Default 1 GB. */
  readonly maxSpillBytes?: number
  /** `required`: nothing runs outside a sandbox that was tried. `auto`: best effort where there is none. Default `off`. */
  readonly sandbox?: "off" | "auto" | "required"
  /** What a sandboxed command can reach. Default `none`. A list of hosts is refused: bubblewrap cannot filter. */
  readonly network?: "none" | "all" | { readonly allow: readonly string[] }
}
