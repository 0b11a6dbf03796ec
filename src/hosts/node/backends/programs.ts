import { spawn } from "node:child_process"
import { once } from "node:events"
import { accessSync, constants } from "node:fs"
import { isAbsolute } from "node:path"
import type { LineChannel, ProgramSpec } from "../../../contract/backend-env.ts"
import { LonghaulError } from "../../../contract/error.ts"
import { newNonce } from "../../../lib/id.ts"
import { errnoOf } from "../errno.ts"
import { commandEnvironment } from "../shell/command-environment.ts"
import { findProgram, pathOutside } from "../shell/find-program.ts"
import { killAtExit } from "../shell/kill-at-exit.ts"
import { killProcesses } from "../shell/process-sweep.ts"
import { closeShellFolder, markOf, openShellFolder, sweepShellFolders } from "../shell/shell-folder.ts"
import { type DeathWatch, watchDeath } from "./death-watch.ts"
import { programChannel } from "./line-channel.ts"

export interface ProgramSettings {
  /** Where running programs are registered, so that the next process can end what this one leaves. */
  readonly spillFolder: string
  /** Folders that tools may write: programs are not looked up there. */
  readonly outside: readonly string[]
  /** How long a program may take to end by itself. */
  readonly stopMs: number
  variables(): Readonly<Record<string, string | undefined>>
}

/** While any program is running. */
interface Place {
  readonly folder: string
  readonly watch: DeathWatch
  forgetExit(): void
}

/** Starts the programs of backends: each in its own process group, registered on disk while any is running. */
export class Programs {
  readonly #settings: ProgramSettings
  readonly #nonce = newNonce()
  #place: Promise<Place> | undefined
  /** The end of the last registration: the next one has the same folder. */
  #unregistered = Promise.resolve()
  #count = 0
  #running = 0

  constructor(settings: ProgramSettings) {
    this.#settings = settings
  }

  async spawn(spec: ProgramSpec): Promise<LineChannel> {
    const program = this.#find(spec)
    this.#running++
    try {
      const { watch } = await this.#prepared()
      const channel = await this.#start(program, spec, watch)
      void channel.exit.then(() => this.#ended())
      return channel
    } catch (error) {
      await this.#ended()
      throw error
    }
  }

  async #start(program: string, spec: ProgramSpec, watch: DeathWatch): Promise<LineChannel> {
    const { env, passEnv, args, cwd, command, install } = spec
    const mark = markOf(this.#nonce, ++this.#count)
    const { outside } = this.#settings
    const variables = this.#settings.variables()
    const from = { ...variables, PATH: pathOutside(variables.PATH, outside) }
    const child = spawn(program, args, {
      cwd,
      env: commandEnvironment({ env, passEnv }, { mark, from }),
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
    })
    const { pid } = child
    if (pid !== undefined) {
      watch.add(pid)
      child.once("exit", () => watch.remove(pid))
    }
    try {
      await once(child, "spawn")
    } catch (error) {
      throw new LonghaulError("backend_missing", `${command} could not be started (${errnoOf(error)}).`, {
        fix: `Install it again: ${install}`,
        cause: error,
      })
    }
    return programChannel(child, { mark, name: command, stopMs: this.#settings.stopMs })
  }

  #find({ command, install }: ProgramSpec): string {
    const found = isAbsolute(command)
      ? command
      : findProgram(command, { outside: this.#settings.outside, path: this.#settings.variables().PATH ?? "" })
    if (found !== undefined && isExecutable(found)) return found
    throw new LonghaulError("backend_missing", `The program ${command} was not found.`, {
      fix: `Install it: ${install}`,
    })
  }

  /** Before the first program: ends what dead processes left, and registers this one. */
  #prepared() {
    this.#place ??= this.#unregistered.then(() => this.#prepare())
    return this.#place
  }

  async #prepare() {
    const { spillFolder } = this.#settings
    await sweepShellFolders(spillFolder).catch(() => 0)
    const folder = await openShellFolder(spillFolder, this.#nonce)
    const mark = markOf(this.#nonce)
    return { folder, watch: watchDeath(mark), forgetExit: killAtExit(() => killProcesses({ mark })) }
  }

  /** With the last program the registration ends. */
  async #ended(): Promise<void> {
    this.#running--
    if (this.#running > 0) return
    this.#unregistered = unregister(this.#place)
    this.#place = undefined
    await this.#unregistered
  }
}

async function unregister(place: Promise<Place> | undefined): Promise<void> {
  const { folder, watch, forgetExit } = (await place?.catch(() => undefined)) ?? {}
  forgetExit?.()
  watch?.close()
  // Remaining processes are ended by the next sweep.
  if (folder !== undefined) await closeShellFolder(folder).catch(() => {})
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
