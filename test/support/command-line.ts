import { type ChildProcess, spawn } from "node:child_process"
import { mkdtemp, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, beforeEach } from "vitest"
import { type Served, serve } from "../../src/hosts/node/http/serve.ts"
import { createSimulator, type Simulator, type SimulatorOptions } from "../../src/testing/index.ts"
import { removeFolder } from "./remove-folder.ts"

const main = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url))

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The built program as a user starts it, in a folder with one file, without knowledge of the machine. */
export function commandLine() {
  const place = { home: "", workspace: "" }
  const running = new Map<ChildProcess, Promise<Ended>>()
  let provider: Served | undefined

  beforeEach(async () => {
    place.home = await mkdtemp(join(tmpdir(), "longhaul-cli-home-"))
    place.workspace = await mkdtemp(join(tmpdir(), "longhaul-cli-work-"))
    await writeFile(join(place.workspace, "tide.txt"), "High water is at 04:17.\n")
  })

  afterEach(async () => {
    await Promise.all([...running].map(([child, ended]) => killGroup(child) && ended))
    await provider?.close()
    provider = undefined
    await Promise.all(Object.values(place).map(removeFolder))
  })

  const start = (args: readonly string[], variables?: Readonly<Record<string, string>>, cwd?: string) =>
    startProgram(process.execPath, [main, ...args], variables, cwd)

  function startProgram(
    program: string,
    args: readonly string[],
    variables: Readonly<Record<string, string>> = {},
    cwd = place.workspace,
  ) {
    const child = spawn(program, args, {
      cwd,
      env: {
        PATH: process.env.PATH,
        HOME: place.home,
        XDG_STATE_HOME: join(place.home, "state"),
        ...(provider && { ANTHROPIC_BASE_URL: provider.url, ANTHROPIC_API_KEY: "key" }),
        ...variables,
      },
      // In a process group of its own, so that a test that fails can end what the program started, too.
      detached: true,
    })
    const shown = { stdout: "", stderr: "" }
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      shown.stdout += text
    })
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      shown.stderr += text
    })
    const ended = new Promise<Ended>((resolve) => {
      child.once("close", (code) => {
        running.delete(child)
        resolve({ code, ...shown })
      })
    })
    running.set(child, ended)
    return { child, ended, shown: shown as Readonly<typeof shown> }
  }

  const longhaul = (args: readonly string[], variables?: Readonly<Record<string, string>>, cwd?: string) =>
    start(args, variables, cwd).ended

  return {
    place: place as Readonly<typeof place>,
    start,
    longhaul,
    /** A shell script in which `longhaul` is the program. */
    script: (text: string, variables?: Readonly<Record<string, string>>) =>
      startProgram("/bin/sh", ["-c", `longhaul() { '${process.execPath}' '${main}' "$@"; }\n${text}`], variables).ended,
    json: async (args: readonly string[]): Promise<unknown> => JSON.parse((await longhaul(args)).stdout),
    /** Programs started after this find the simulator in their environment. */
    async simulate(options: SimulatorOptions): Promise<Simulator> {
      const simulator = createSimulator(options)
      provider = await serve(simulator.fetch)
      return simulator
    },
  }
}

function killGroup({ pid }: ChildProcess): boolean {
  if (pid === undefined) return false
  try {
    return process.kill(-pid, "SIGKILL")
  } catch {
    return false
  }
}

/** Makes the program draw a status line on stderr, which shows what it is about; stdout stays a pipe. */
export const statusOnStderr = {
  NODE_OPTIONS: "--import=data:text/javascript,process.stderr.isTTY=true",
  TERM: "xterm",
  FORCE_COLOR: "0",
}

/** Makes the program treat its pipes as terminals. */
export const takenForTerminal = {
  NODE_OPTIONS: "--import=data:text/javascript,process.stdin.isTTY=process.stdout.isTTY=true",
  TERM: "xterm",
}
