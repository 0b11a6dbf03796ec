import { type ChildProcess, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import type { Shell, ShellCommand } from "../../src/contract/env.ts"
import { type NodeShellOptions, nodeShell } from "../../src/hosts/node/shell/shell.ts"

/** A root, a spill folder outside it, and shells that are all closed in the end. */
export class ShellScene {
  readonly base: string
  readonly root: string
  readonly spillFolder: string
  readonly #shells: Shell[] = []

  constructor(parent = tmpdir()) {
    this.base = realpathSync(mkdtempSync(join(parent, "longhaul-shell-")))
    this.root = join(this.base, "root")
    this.spillFolder = join(this.base, "spill")
    mkdirSync(this.root)
    // Folders where commands ran are recorded in the user's state folder, which tests must not fill.
    process.env.XDG_STATE_HOME ??= join(this.base, "state")
  }

  shell(options: Partial<NodeShellOptions> = {}): Shell {
    const shell = nodeShell({ root: this.root, spillFolder: this.spillFolder, ...options })
    this.#shells.push(shell)
    return shell
  }

  command(command: string, more: Partial<ShellCommand> = {}): ShellCommand {
    return { command, cwd: this.root, timeoutMs: 20_000, signal: new AbortController().signal, ...more }
  }

  async dispose(): Promise<void> {
    await Promise.all(this.#shells.map((shell) => shell.close()))
    rmSync(this.base, { recursive: true, force: true })
  }
}

let sleeps = 0

/** A unique `sleep`, identified by its duration. */
export function uniqueSleep(): string {
  return `sleep 300.${process.pid}${String(sleeps++).padStart(3, "0")}`
}

/** Number of living processes with this text in their command line. */
export function countLiving(words: string): number {
  return commandLines().filter((line) => line.includes(words)).length
}

/** True if the program itself runs, not only a shell that will start it. */
export function isRunning(commandLine: string): boolean {
  return commandLines().includes(commandLine)
}

/** Number of living processes that work in a folder or have it in their environment. */
export function countIn(folder: string): number {
  return readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return false
    try {
      return (
        readlinkSync(`/proc/${name}/cwd`).startsWith(folder) ||
        readFileSync(`/proc/${name}/environ`, "utf8").includes(folder)
      )
    } catch {
      return false
    }
  }).length
}

/** All living processes: zombies have none. */
function commandLines(): readonly string[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      return [readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ").trim()]
    } catch {
      return []
    }
  })
}

/** A separate process with a shell: `script` may use `shell`, `command(line)` and `say(value)`. */
export class ShellHost {
  readonly #program: string

  private constructor(program: string) {
    this.#program = program
  }

  static async in(folder: string): Promise<ShellHost> {
    const program = join(folder, "shell.mjs")
    const entry = fileURLToPath(new URL("../../src/hosts/node/shell/shell.ts", import.meta.url))
    await build({ entryPoints: [entry], bundle: true, platform: "node", format: "esm", outfile: program })
    return new ShellHost(program)
  }

  start(options: NodeShellOptions, script: string): ChildProcess & { readonly said: Promise<string> } {
    const child = spawn(process.execPath, ["--input-type=module", "-e", this.code(options, script)], {
      stdio: ["ignore", "pipe", "inherit"],
    })
    let text = ""
    child.stdout.on("data", (chunk) => {
      text += chunk
    })
    const said = new Promise<string>((resolve) => child.once("close", () => resolve(text)))
    return Object.assign(child, { said })
  }

  code(options: NodeShellOptions, script: string): string {
    return `
      import { nodeShell } from ${JSON.stringify(this.#program)}
      const shell = nodeShell(${JSON.stringify(options)})
      const { signal } = new AbortController()
      const command = (command) => ({ command, cwd: ${JSON.stringify(options.root)}, timeoutMs: 60_000, signal })
      const say = (value) => process.stdout.write(JSON.stringify(value) + "\\n")
      ${script}
    `
  }
}
