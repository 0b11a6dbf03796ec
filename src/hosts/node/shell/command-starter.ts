import { closeSync, existsSync, mkdirSync } from "node:fs"
import { join, relative } from "node:path"
import type { ShellCommand, ShellOutput } from "../../../contract/env.ts"
import { LonghaulError } from "../../../contract/error.ts"
import { ToolError } from "../../../contract/tool.ts"
import { newNonce } from "../../../lib/id.ts"
import { BoundPaths } from "./bound-paths.ts"
import { commandEnvironment } from "./command-environment.ts"
import { CommandOutput } from "./command-output.ts"
import { openPipe } from "./command-pipe.ts"
import { recordCommandsIn } from "./command-record.ts"
import { killAtExit } from "./kill-at-exit.ts"
import { endProcesses, killProcesses } from "./process-sweep.ts"
import { findRefused, nothingRefused, type RefusedPaths } from "./refused-paths.ts"
import { launch, RunningCommand } from "./running-command.ts"
import { boundPaths, findBubblewrap, sandboxArguments, sandboxHome, shownSystem, withoutInput } from "./sandbox.ts"
import { findSandboxFault } from "./sandbox-trial.ts"
import { closeShellFolder, emptyFileIn, markOf, openShellFolder, sweepShellFolders } from "./shell-folder.ts"
import { exposedStore, type ShellSettings } from "./shell-settings.ts"
import { SpillFile } from "./spill-file.ts"

/** Starts the commands of one shell: its folder and its sandbox are made ready before the first, and removed at the end. */
export class CommandStarter {
  isContained: boolean
  readonly #settings: ShellSettings
  readonly #nonce = newNonce()
  readonly #starting = new Set<Promise<RunningCommand>>()
  readonly #running = new Set<RunningCommand>()
  readonly #swept: Promise<number>
  #place: Promise<Place> | undefined
  #leftovers = 0
  #count = 0
  #isClosed = false

  constructor(settings: ShellSettings) {
    this.#settings = settings
    this.isContained = settings.sandbox === "required"
    this.#swept = sweepShellFolders(settings.spillFolder).catch(() => 0)
  }

  async begin(command: Omit<ShellCommand, "timeoutMs">, isBackground: boolean): Promise<RunningCommand> {
    if (this.#isClosed) throw new ToolError("denied", "The shell is closed.")
    const beginning = this.#launch(command, isBackground)
    this.#starting.add(beginning)
    try {
      const begun = await beginning
      this.#running.add(begun)
      void begun.ended.then(() => this.#running.delete(begun))
      return begun
    } finally {
      this.#starting.delete(beginning)
    }
  }

  /** Adds what an earlier process left running and this one ended: to the first output that is taken. */
  reported<Output extends ShellOutput>(output: Output): Output {
    if (this.#leftovers === 0) return output
    const endedLeftovers = this.#leftovers
    this.#leftovers = 0
    return { ...output, endedLeftovers }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(this.#starting)
    await Promise.all([...this.#running].map((each) => each.stop("abort")))
    const opened = await this.#place?.catch(() => undefined)
    if (opened === undefined) return
    await endProcesses({ mark: markOf(this.#nonce) }, 0)
    await closeShellFolder(opened.folder)
    opened.forgetExit()
  }

  /** Before the first command, once. */
  async #prepare(): Promise<Place> {
    const settings = this.#settings
    this.#leftovers = await this.#swept
    const folder = await openShellFolder(settings.spillFolder, this.#nonce)
    recordCommandsIn(settings.root)
    // A missing folder could not be covered, and a command could put one in its place.
    for (const hidden of settings.hidden) mkdirSync(hidden, { recursive: true, mode: 0o700 })
    const sandbox = await trySandbox(settings, folder, this.#nonce)
    this.isContained ||= "bubblewrap" in sandbox
    const emptyFile = await emptyFileIn(folder)
    return { folder, sandbox, emptyFile, forgetExit: killAtExit(() => this.#killAll()) }
  }

  async #prepared(): Promise<Place> {
    this.#place ??= this.#prepare()
    try {
      return await this.#place
    } catch (error) {
      this.#place = undefined
      throw new ToolError("io", "The shell's own folder is not writable.", { cause: error })
    }
  }

  async #launch(command: Omit<ShellCommand, "timeoutMs">, isBackground: boolean): Promise<RunningCommand> {
    const settings = this.#settings
    const cwd = await locate(settings, command.cwd)
    const { folder, sandbox, emptyFile } = await this.#prepared()
    if (settings.sandbox === "required" && "fault" in sandbox) throw sandboxUnavailable(sandbox.fault)
    const exposed = "fault" in sandbox ? exposedStore(settings) : undefined
    if (exposed) throw new ToolError("denied", exposed.message, { cause: exposed })
    if (command.signal.aborted || this.#isClosed) throw new ToolError("aborted", "The command was not started.")

    const isSandboxed = "bubblewrap" in sandbox
    const number = ++this.#count
    const mark = markOf(this.#nonce, number)
    const { maxOutputBytes: maxBytes = defaultOutputBytes, outputFolder = folder, onOutput, redact } = command
    const spillPath = join(outputFolder, `command-${this.#nonce.slice(0, 8)}-${number}.txt`)
    const spill = new SpillFile(spillPath, { fromBytes: maxBytes, maxBytes: settings.maxSpillBytes })
    const find = isSandboxed ? refusedFinder(settings, command) : undefined
    const refused = await find?.()
    const pipe = await openPipe(folder, settings.root).catch((error: unknown) => {
      throw new ToolError("io", "The command was not started: there is no pipe for its output.", { cause: error })
    })
    const output = new CommandOutput(pipe.source, spill, { maxBytes, onOutput, redaction: redact?.() })
    const shell = ["/bin/sh", "-c", "--", command.command]
    const outputs = existsSync(outputFolder) ? [outputFolder] : []
    const view = {
      ...settings,
      readOnly: [...settings.readOnlyRoots, ...outputs],
      cwd,
      emptyFile,
      refused: refused ?? nothingRefused,
    }
    const line = isSandboxed
      ? [...sandbox.bubblewrap, "--info-fd", "3", ...sandboxArguments(view), ...withoutInput, ...shell]
      : shell
    const [program = "", ...args] = line
    const env = commandEnvironment(settings, { mark, ...(isSandboxed && { home: sandboxHome }) })
    let bound: BoundPaths | undefined
    try {
      bound = isSandboxed ? new BoundPaths(boundPaths(view)) : undefined
      const child = await launch({ program, args, cwd, env, sink: pipe.sink, isSandboxed })
      const newRefused = find && (async () => newPaths(refused, await find().catch(() => undefined), settings.root))
      const begun = new RunningCommand(child, output, {
        mark,
        isSandboxed,
        isBackground,
        newRefused,
      })
      bound?.onReplaced((path) => begun.stopBecause(replaced(relative(settings.root, path))))
      void begun.ended.then(() => bound?.close())
      return begun
    } catch (error) {
      bound?.close()
      throw error
    } finally {
      closeSync(pipe.sink)
    }
  }

  #killAll(): void {
    for (const each of this.#running) each.kill()
    killProcesses({ mark: markOf(this.#nonce) })
  }
}

/** Looks for what rules refuse to the command. */
function refusedFinder({ root, readOnlyRoots }: ShellSettings, { refusals }: Pick<ShellCommand, "refusals">) {
  return refusals && (() => findRefused(refusals, [root, ...readOnlyRoots], shownSystem))
}

function newPaths(before: RefusedPaths | undefined, after: RefusedPaths | undefined, root: string): readonly string[] {
  return (after?.all ?? []).filter((path) => before?.all.includes(path) === false).map((path) => relative(root, path))
}

function replaced(path: string): string {
  return `${path} was replaced or removed while it ran, so its sandbox no longer protects that path`
}

interface Place {
  readonly folder: string
  readonly sandbox: Sandbox
  readonly emptyFile: string
  readonly forgetExit: () => void
}

type Sandbox = { readonly bubblewrap: readonly string[] } | { readonly fault: string }

const defaultOutputBytes = 64 * 1024

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
