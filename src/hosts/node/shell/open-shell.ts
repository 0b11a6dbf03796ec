import { closeSync, existsSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import type { Shell, ShellCommand, ShellOutput } from "../../../contract/env.ts"
import { LonghaulError } from "../../../contract/error.ts"
import { ToolError } from "../../../contract/tool.ts"
import { onAbort } from "../../../lib/abort.ts"
import { newNonce } from "../../../lib/id.ts"
import { commandEnvironment } from "./command-environment.ts"
import { CommandOutput } from "./command-output.ts"
import { openPipe } from "./command-pipe.ts"
import { recordCommandsIn } from "./command-record.ts"
import { killAtExit } from "./kill-at-exit.ts"
import { endProcesses, killProcesses } from "./process-sweep.ts"
import { launch, RunningCommand } from "./running-command.ts"
import { findBubblewrap, sandboxArguments, sandboxHome, withoutInput } from "./sandbox.ts"
import { findSandboxFault } from "./sandbox-trial.ts"
import { closeShellFolder, markOf, openShellFolder, sweepShellFolders } from "./shell-folder.ts"
import { exposedStore, type ShellSettings } from "./shell-settings.ts"
import { SpillFile } from "./spill-file.ts"

/** The implementation of `nodeShell`, loaded on first use. */
export function openShell(settings: ShellSettings): Shell {
  const nonce = newNonce()
  const starting = new Set<Promise<RunningCommand>>()
  const running = new Set<RunningCommand>()
  const started = new Map<string, RunningCommand>()
  const swept = sweepShellFolders(settings.spillFolder).catch(() => 0)
  let place: Promise<Place> | undefined
  let isContained = settings.sandbox === "required"
  let leftovers = 0
  let count = 0
  let isClosed = false

  /** Before the first command, once. */
  async function prepare(): Promise<Place> {
    leftovers = await swept
    const folder = await openShellFolder(settings.spillFolder, nonce)
    recordCommandsIn(settings.root)
    // A missing folder could not be hidden, and a command could create it.
    for (const hidden of settings.hidden) mkdirSync(hidden, { recursive: true, mode: 0o700 })
    const sandbox = await trySandbox(settings, folder, nonce)
    isContained ||= "bubblewrap" in sandbox
    return { folder, sandbox, forgetExit: killAtExit(killAll) }
  }

  async function prepared(): Promise<Place> {
    place ??= prepare()
    try {
      return await place
    } catch (error) {
      place = undefined
      throw new ToolError("io", "The shell's own folder is not writable.", { cause: error })
    }
  }

  async function begin(command: Omit<ShellCommand, "timeoutMs">, isBackground: boolean): Promise<RunningCommand> {
    if (isClosed) throw new ToolError("denied", "The shell is closed.")
    const beginning = launchCommand(command, isBackground)
    starting.add(beginning)
    try {
      const begun = await beginning
      running.add(begun)
      void begun.ended.then(() => running.delete(begun))
      return begun
    } finally {
      starting.delete(beginning)
    }
  }

  async function launchCommand(
    command: Omit<ShellCommand, "timeoutMs">,
    isBackground: boolean,
  ): Promise<RunningCommand> {
    const cwd = await locate(settings, command.cwd)
    const { folder, sandbox } = await prepared()
    if (settings.sandbox === "required" && "fault" in sandbox) throw sandboxUnavailable(sandbox.fault)
    const exposed = "fault" in sandbox ? exposedStore(settings) : undefined
    if (exposed) throw new ToolError("denied", exposed.message, { cause: exposed })
    if (command.signal.aborted || isClosed) throw new ToolError("aborted", "The command was not started.")

    const isSandboxed = "bubblewrap" in sandbox
    const mark = markOf(nonce, ++count)
    const { maxOutputBytes: maxBytes = defaultOutputBytes, outputFolder = folder, onOutput } = command
    const spillPath = join(outputFolder, `command-${nonce.slice(0, 8)}-${count}.txt`)
    const spill = new SpillFile(spillPath, { fromBytes: maxBytes, maxBytes: settings.maxSpillBytes })
    const pipe = await openPipe(folder, settings.root).catch((error: unknown) => {
      throw new ToolError("io", "The command was not started: there is no pipe for its output.", { cause: error })
    })
    const output = new CommandOutput(pipe.source, spill, { maxBytes, onOutput })
    const shell = ["/bin/sh", "-c", "--", command.command]
    const outputs = existsSync(outputFolder) ? [outputFolder] : []
    const view = { ...settings, readOnly: [...settings.readOnlyRoots, ...outputs], cwd }
    const line = isSandboxed
      ? [...sandbox.bubblewrap, "--info-fd", "3", ...sandboxArguments(view), ...withoutInput, ...shell]
      : shell
    const [program = "", ...args] = line
    const env = commandEnvironment(settings, { mark, ...(isSandboxed && { home: sandboxHome }) })
    try {
      const child = await launch({ program, args, cwd, env, sink: pipe.sink, isSandboxed })
      return new RunningCommand(child, output, { mark, isSandboxed, isBackground })
    } finally {
      closeSync(pipe.sink)
    }
  }

  function named(shellId: string): RunningCommand {
    const command = started.get(shellId)
    if (command === undefined) throw new ToolError("not_found", `Unknown background command: ${shellId}.`)
    return command
  }

  /** With the first output that is taken. */
  function reported<Output extends ShellOutput>(output: Output): Output {
    if (leftovers === 0) return output
    const endedLeftovers = leftovers
    leftovers = 0
    return { ...output, endedLeftovers }
  }

  function killAll(): void {
    for (const each of running) each.kill()
    killProcesses({ mark: markOf(nonce) })
  }

  return {
    get containment() {
      return isContained ? "sandbox" : "best-effort"
    },

    async run(command) {
      const begun = await begin(command, false)
      const timer = setTimeout(() => void begun.stop("timeout"), Math.min(command.timeoutMs, longestTimerMs))
      const forget = onAbort(command.signal, () => void begun.stop("abort"))
      const ending = await begun.ended
      clearTimeout(timer)
      forget()
      return reported({ ...begun.output.take(false), ...ending, running: false })
    },

    async start(command) {
      const stillRunning = [...started].filter(([, { ending }]) => ending === undefined)
      if (stillRunning.length >= mostStarted) {
        throw new ToolError(
          "conflict",
          `${mostStarted} background commands are already running: stop one of them first.`,
        )
      }
      const begun = await begin(command, true)
      const shellId = `shell_${newNonce().slice(0, 8)}`
      started.set(shellId, begun)
      forgetOldest(started)
      void begun.ended.then(onAbort(command.signal, () => void begun.stop("abort")))
      return { shellId }
    },

    async poll(shellId) {
      return reported(outputOf(named(shellId)))
    },

    async stop(shellId) {
      const command = named(shellId)
      await command.stop("abort")
      return reported(outputOf(command))
    },

    async close() {
      isClosed = true
      await Promise.allSettled(starting)
      await Promise.all([...running].map((each) => each.stop("abort")))
      const opened = await place?.catch(() => undefined)
      if (opened === undefined) return
      await endProcesses({ mark: markOf(nonce) }, 0)
      await closeShellFolder(opened.folder)
      opened.forgetExit()
    },
  }
}

interface Place {
  readonly folder: string
  readonly sandbox: Sandbox
  readonly forgetExit: () => void
}

type Sandbox = { readonly bubblewrap: readonly string[] } | { readonly fault: string }

const defaultOutputBytes = 64 * 1024
const longestTimerMs = 2 ** 31 - 1
const mostStarted = 16
/** Ended commands whose last output may still be polled. */
const mostRemembered = 64

async function locate({ confinement }: ShellSettings, cwd: string): Promise<string> {
  try {
    const { real, missing } = await confinement.locate(".", cwd, "read")
    if (missing.length > 0) throw new ToolError("not_found", "does not exist")
    return real
  } catch (error) {
    const { code, message } = error instanceof ToolError ? error : new ToolError("io", "could not be used")
    throw new ToolError(code, `The working directory ${confinement.display(".", cwd)} ${message}.`, { cause: error })
  }
}

async function trySandbox({ root, sandbox, network }: ShellSettings, folder: string, nonce: string): Promise<Sandbox> {
  if (sandbox === "off") return { fault: "it is off" }
  const bubblewrap = findBubblewrap({ outside: [root] })
  if (bubblewrap === undefined) return { fault: "bubblewrap (bwrap) is not on PATH" }
  const fault = await findSandboxFault({ bubblewrap, network, folder: join(folder, "trial"), mark: markOf(nonce, 0) })
  return fault === undefined ? { bubblewrap } : { fault }
}

function sandboxUnavailable(fault: string): ToolError {
  const message = `sandbox_unavailable: commands may run only in a sandbox, and none works: ${fault}.`
  const cause = new LonghaulError("sandbox_unavailable", message, {
    fix: "Install bubblewrap 0.8 or later and allow user namespaces, or choose another sandbox mode.",
  })
  return new ToolError("denied", message, { cause })
}

function outputOf({ output, ending }: RunningCommand): ShellOutput {
  const isRunning = ending === undefined
  return { ...output.take(isRunning), exitCode: ending?.exitCode ?? null, running: isRunning }
}

function forgetOldest(started: Map<string, RunningCommand>): void {
  const ended = [...started].filter(([, { ending }]) => ending !== undefined)
  for (const [shellId] of ended.slice(0, Math.max(0, ended.length - mostRemembered))) started.delete(shellId)
}
