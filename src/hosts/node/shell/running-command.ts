import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { Readable } from "node:stream"
import { text } from "node:stream/consumers"
import { setTimeout as pause } from "node:timers/promises"
import type { ShellResult } from "../../../contract/env.ts"
import { ToolError } from "../../../contract/tool.ts"
import { errnoOf } from "../errno.ts"
import type { CommandOutput } from "./command-output.ts"
import { endProcesses, groupAnswers, identify, killProcesses, type Processes } from "./process-sweep.ts"

/** A program to start. */
export interface Launch {
  readonly program: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** The descriptor for all of its output. */
  readonly sink: number
  /** It is a sandbox, which reports about itself on descriptor 3. */
  readonly isSandboxed: boolean
}

/** In its own session, without input. Rejects with a `ToolError` if it does not start. */
export async function launch({ program, args, cwd, env, sink, isSandboxed }: Launch): Promise<ChildProcess> {
  // A sandbox must not get the machine's /dev/null: it provides its own.
  const stdio = isSandboxed ? ["pipe" as const, sink, sink, "pipe" as const] : ["ignore" as const, sink, sink]
  try {
    const child = spawn(program, args, { cwd, env, detached: true, stdio })
    child.stdin?.on("error", () => {}).end()
    await once(child, "spawn")
    return child
  } catch (error) {
    const reason = errnoOf(error)
    const [code, what] = startFailures[reason] ?? ["io", `could not be started (${reason})`]
    throw new ToolError(code, `The command ${what}.`, { cause: error })
  }
}

const startFailures: Readonly<Record<string, readonly [code: "invalid_input" | "not_found", what: string]>> = {
  E2BIG: ["invalid_input", "is too long: write it to a file and run that"],
  ERR_INVALID_ARG_VALUE: ["invalid_input", "contains a NUL character"],
  ENOENT: ["not_found", "could not be started: its working directory or the shell does not exist"],
}

export type Ending = Pick<
  ShellResult,
  "endedBy" | "exitCode" | "signalName" | "durationMs" | "newRefusedPaths" | "stoppedBecause"
>

export interface CommandTraits {
  /** The marker in the environment of all its processes. */
  readonly mark: string
  /** Killing its first process kills all others. */
  readonly isSandboxed: boolean
  /** Processes that it leaves running continue, and their output is read until they end. */
  readonly isBackground: boolean
  /** The new and refused paths, looked for at its end. */
  readonly newRefused?: (() => Promise<readonly string[]>) | undefined
}

/** A command from its start until none of its processes is left. */
export class RunningCommand {
  readonly output: CommandOutput
  /** Settles when its processes have ended and all their output was read. Never rejects. */
  readonly ended: Promise<Ending>
  readonly #child: ChildProcess
  readonly #traits: CommandTraits
  readonly #startedMs = performance.now()
  readonly #exited: Promise<Exit>
  readonly #stop = new AbortController()
  readonly #stopAsked = once(this.#stop.signal, "abort")
  readonly #reported: Promise<void>
  /** The first process inside a sandbox: it ends only after all others. */
  #innermost: string | undefined
  #stopping: { readonly by: "timeout" | "abort"; readonly done: Promise<unknown> } | undefined
  #because: string | undefined
  #hasExited = false
  #ending: Ending | undefined

  constructor(child: ChildProcess, output: CommandOutput, traits: CommandTraits) {
    this.output = output
    this.#child = child
    this.#traits = traits
    this.#exited = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        this.#hasExited = true
        resolve({ code, signal, durationMs: performance.now() - this.#startedMs })
      })
    })
    this.#reported = traits.isSandboxed ? this.#readSandbox() : Promise.resolve()
    this.ended = this.#follow()
  }

  /** Undefined until it ended. */
  get ending(): Ending | undefined {
    return this.#ending
  }

  /** Kills it with all its processes. Resolves when that is done. */
  async stop(by: "timeout" | "abort"): Promise<void> {
    if (this.#ending === undefined && this.#stopping === undefined) {
      // Its end would kill the others before they could clean up.
      const spare = this.#traits.isSandboxed ? this.#child.pid : undefined
      this.#stopping = { by, done: endProcesses(this.#processes(), graceMs, spare) }
      this.#stop.abort()
    }
    await this.ended
    // Others may have continued after its end, unread.
    if (this.#traits.isBackground) await endProcesses({ mark: this.#traits.mark }, graceMs)
  }

  /** Kills it at once, without time to clean up. */
  stopBecause(reason: string): void {
    this.#because ??= reason
    this.kill()
    void this.stop("abort")
  }

  /** The same for a process that is about to exit and cannot wait. */
  kill(): void {
    killProcesses(this.#processes())
  }

  async #follow(): Promise<Ending> {
    const { code, signal, durationMs } = await Promise.race([this.#exited, this.#givenUp()])
    const endedBy = this.#stopping?.by ?? (signal === null ? "exit" : "signal")
    if (this.#stopping === undefined) {
      await (this.#traits.isBackground ? Promise.race([this.output.end(), this.#stopAsked]) : this.#endLeftovers())
    }
    await this.#stopping?.done
    await this.output.endSoon()
    const newRefusedPaths = (await this.#traits.newRefused?.()) ?? []
    this.#ending = {
      endedBy: this.#because === undefined ? endedBy : "abort",
      exitCode: code,
      durationMs,
      ...(signal !== null && { signalName: signal }),
      ...(newRefusedPaths.length > 0 && { newRefusedPaths }),
      ...(this.#because !== undefined && { stoppedBecause: this.#because }),
    }
    return this.#ending
  }

  /** A process stuck in the kernel survives even SIGKILL: that is not awaited. */
  async #givenUp(): Promise<Exit> {
    await this.#stopAsked
    await this.#stopping?.done
    await pause(graceMs, undefined, { ref: false })
    return { code: null, signal: null, durationMs: performance.now() - this.#startedMs }
  }

  /**
   * Remaining processes of its group. A process in its own session is meant to stay: it is killed when the shell is
   * closed.
   */
  async #endLeftovers(): Promise<void> {
    const { pid } = this.#child
    await this.#reported
    if (this.#traits.isSandboxed) await endProcesses(this.#processes(), 0)
    else if (pid !== undefined && groupAnswers(pid)) await endProcesses({ leader: pid }, graceMs)
  }

  #processes(): Processes {
    const { pid } = this.#child
    const others = { mark: this.#traits.mark, ancestor: this.#innermost }
    return pid === undefined || this.#hasExited ? others : { ...others, leader: pid }
  }

  async #readSandbox(): Promise<void> {
    const info = this.#child.stdio[3]
    if (!(info instanceof Readable)) return
    const [, pid] = /"child-pid": (\d+)/.exec(await text(info).catch(() => "")) ?? []
    if (pid !== undefined) this.#innermost = identify(Number(pid))
  }
}

interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly durationMs: number
}

/** Between the request to end and the kill. */
const graceMs = 2000
