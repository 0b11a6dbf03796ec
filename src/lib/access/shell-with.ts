import type { Shell, ShellCommand } from "../../contract/env.ts"

/** The same shell, whose commands have these settings unless they have their own. */
export function shellWith(shell: Shell, settings: Pick<ShellCommand, "redact" | "outputFolder" | "refusals">): Shell {
  return {
    isSandboxRequired: shell.isSandboxRequired === true,
    hidesRefused: shell.hidesRefused === true,
    get containment() {
      return shell.containment
    },
    run: (command) => shell.run({ ...settings, ...command }),
    start: (command) => shell.start({ ...settings, ...command }),
    poll: (shellId) => shell.poll(shellId),
    stop: (shellId) => shell.stop(shellId),
    close: () => shell.close(),
  }
}
