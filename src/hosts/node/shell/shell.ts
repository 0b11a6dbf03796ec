import type { Shell } from "../../../contract/env.ts"
import type { NodeShellOptions } from "./shell-options.ts"
import { checkShellOptions } from "./shell-settings.ts"

export type { NodeShellOptions } from "./shell-options.ts"

/**
 * Commands with `/bin/sh -c`, each in its own session. Without a sandbox a command has this process's permissions: its
 * root is only where it starts, and a process that clears its environment and leaves its session cannot be found again.
 */
export function nodeShell(options: NodeShellOptions): Shell {
  const settings = checkShellOptions(options)
  let shell: Shell | undefined
  // Loaded on demand: most importers of this package run no command.
  const opening = import("../lazy.ts").then(({ openShell }) => {
    shell = openShell(settings)
    return shell
  })
  return {
    isSandboxRequired: settings.sandbox === "required",
    hidesRefused: settings.sandbox === "required",
    get containment() {
      return shell?.containment ?? (settings.sandbox === "required" ? "sandbox" : "best-effort")
    },
    run: async (command) => (await opening).run(command),
    start: async (command) => (await opening).start(command),
    poll: async (shellId) => (await opening).poll(shellId),
    stop: async (shellId) => (await opening).stop(shellId),
    close: async () => (await opening).close(),
  }
}
