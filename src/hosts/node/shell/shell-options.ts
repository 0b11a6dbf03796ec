import type { CommandEnvironmentOptions } from "./command-environment.ts"

export interface NodeShellOptions extends CommandEnvironmentOptions {
  /** The folder that commands work in. It must exist. Without a sandbox nothing keeps a command inside. */
  readonly root: string
  /** Additional readable folders for sandboxed commands, for programs outside /usr. */
  readonly readOnlyRoots?: readonly string[]
  /**
   * Folders inside the root that appear empty to a sandboxed command, as for `nodeFiles`. Without a sandbox, none may
   * exist.
   */
  readonly hidden?: readonly string[]
  /** Folder for output that is too long to show. Outside the root. Default: next to the runs. */
  readonly spillFolder?: string
  /** Maximum bytes of one command's output that are saved. Default 1 GB. */
  readonly maxSpillBytes?: number
  /** `required`: nothing runs outside a tested sandbox. `auto`: best effort if there is none. Default `off`. */
  readonly sandbox?: "off" | "auto" | "required"
  /** Network access of a sandboxed command. Default `none`. A list of hosts is rejected: bubblewrap cannot filter. */
  readonly network?: "none" | "all" | { readonly allow: readonly string[] }
}
