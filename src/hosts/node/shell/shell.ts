import type { Shell } from "../../../contract/env.ts"
import type { NodeShellOptions } from "./shell-options.ts"
import { checkShellOptions } from "./shell-settings.ts"

export type { NodeShellOptions } from "./shell-options.ts"

/**
 * Commands with `/bin/sh -c`, each in a session of its own. Without a sandbox a command may do whatever this process may:
 * its root is only where it starts, and whoever clears its environment and leaves its session cannot be found again.
 */
export function nodeShell(options: NodeShellOptions): Shell {
  const settings = checkShellOptions(options)
  let shell: Shell | undefined
  // Loaded for those who use it: most programs that import this package run no command.
  const opening = import("../later.ts").then(({ openShell }) => {
    shell = openShell(settings)
    return shell
  })
  return {
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
