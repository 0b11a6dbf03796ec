import type { Shell, ShellOutput } from "../../../contract/env.ts"
import { ToolError } from "../../../contract/tool.ts"
import { onAbort } from "../../../lib/abort.ts"
import { newNonce } from "../../../lib/id.ts"
import { CommandStarter } from "./command-starter.ts"
import type { RunningCommand } from "./running-command.ts"
import type { ShellSettings } from "./shell-settings.ts"

/** The implementation of `nodeShell`, loaded on first use. */
export function openShell(settings: ShellSettings): Shell {
  const starter = new CommandStarter(settings)
  const started = new Map<string, RunningCommand>()

  function named(shellId: string): RunningCommand {
    const command = started.get(shellId)
    if (command === undefined) throw new ToolError("not_found", `Unknown background command: ${shellId}.`)
    return command
  }

  return {
    get containment() {
      return starter.isContained ? "sandbox" : "best-effort"
    },

    async run(command) {
      const begun = await starter.begin(command, false)
      const timer = setTimeout(() => void begun.stop("timeout"), Math.min(command.timeoutMs, longestTimerMs))
      const forget = onAbort(command.signal, () => void begun.stop("abort"))
      const ending = await begun.ended
      clearTimeout(timer)
      forget()
      return starter.reported({ ...begun.output.take(false), ...ending, running: false })
    },

    async start(command) {
      const stillRunning = [...started].filter(([, { ending }]) => ending === undefined)
      if (stillRunning.length >= mostStarted) {
        throw new ToolError(
          "conflict",
          `${mostStarted} background commands are already running: stop one of them first.`,
        )
      }
      const begun = await starter.begin(command, true)
      const shellId = `shell_${newNonce().slice(0, 8)}`
      started.set(shellId, begun)
      forgetOldest(started)
      void begun.ended.then(onAbort(command.signal, () => void begun.stop("abort")))
      return { shellId }
    },

    async poll(shellId) {
      return starter.reported(outputOf(named(shellId)))
    },

    async stop(shellId) {
      const command = named(shellId)
      await command.stop("abort")
      return starter.reported(outputOf(command))
    },

    close: () => starter.close(),
  }
}

const longestTimerMs = 2 ** 31 - 1
const mostStarted = 16
/** Ended commands whose last output may still be polled. */
const mostRemembered = 64

function outputOf({ output, ending }: RunningCommand): ShellOutput {
  if (ending === undefined) return { ...output.take(true), exitCode: null, running: true }
  const { endedBy: _, durationMs: __, signalName: ___, ...end } = ending
  return { ...output.take(false), ...end, running: false }
}

function forgetOldest(started: Map<string, RunningCommand>): void {
  const ended = [...started].filter(([, { ending }]) => ending !== undefined)
  for (const [shellId] of ended.slice(0, Math.max(0, ended.length - mostRemembered))) started.delete(shellId)
}
