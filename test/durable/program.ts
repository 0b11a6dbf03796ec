import { type ChildProcess, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import type { RunRecord } from "../../src/contract/event.ts"
import type { RunState } from "../../src/contract/runtime.ts"
import { createRuntime, fsStore } from "../../src/hosts/node/index.ts"
import type { Deed } from "../support/workload.ts"

/** The task of a worker. */
export interface Order {
  /** Where runs are stored. */
  readonly root: string
  readonly workspace: string
  readonly form?: "append" | "create-only"
  /** Length of the results of `once` tools. */
  readonly resultBytes?: number
  /** Number of parts to work on, from pause to pause. */
  readonly most?: number
  /** Only sends this message to the run. */
  readonly steer?: string
  /** Only starts the run, and reports its progress to this address. */
  readonly webhook?: string
}

/** The output of a worker before it ended. */
export interface Told {
  readonly told: readonly RunRecord[]
  readonly deeds: readonly Deed[]
  /** How its last part ended; absent if it did not. */
  readonly state?: RunState
  /** All of it. */
  readonly lines: readonly { readonly [name: string]: unknown }[]
}

export interface Worker {
  readonly ended: Promise<Told>
  /** Resolves when it has printed this. Rejects if it ended without. */
  said(words: string): Promise<void>
  kill(): void
}

/** A folder for runs and the program of a worker, in one file so that it starts quickly. */
export class Bench {
  readonly scratch = mkdtempSync(join(tmpdir(), "longhaul-durable-"))
  readonly #program = join(this.scratch, "worker.mjs")
  readonly #children = new Set<ChildProcess>()

  async prepare(worker = "worker.ts"): Promise<void> {
    const entryPoints = [fileURLToPath(new URL(worker, import.meta.url))]
    const external = ["unpdf", "@vscode/ripgrep"]
    await build({ entryPoints, external, bundle: true, platform: "node", format: "esm", outfile: this.#program })
  }

  /** New folders for a run and its work. */
  places(): { readonly root: string; readonly workspace: string } {
    const scene = mkdtempSync(join(this.scratch, "scene-"))
    const workspace = join(scene, "workspace")
    mkdirSync(workspace)
    return { root: join(scene, "store"), workspace }
  }

  /** `through`: a program that starts it. */
  start(order: object, through: readonly string[] = [], env: Readonly<Record<string, string>> = {}): Worker {
    const [command = "", ...rest] = [...through, process.execPath, this.#program, JSON.stringify(order)]
    const child = spawn(command, rest, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "inherit"] })
    this.#children.add(child)
    let text = ""
    let isOver = false
    const heard = new Set<() => void>()
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk
      for (const look of heard) look()
    })
    const closed = new Promise<void>((resolve) => {
      child.once("close", () => {
        this.#children.delete(child)
        isOver = true
        for (const look of heard) look()
        resolve()
      })
    })
    return {
      ended: closed.then(() => toldIn(text)),
      said: (words) =>
        new Promise((resolve, reject) => {
          const look = () => {
            if (text.includes(words)) resolve()
            else if (isOver) reject(new Error(`the worker ended and never said ${words}`))
          }
          heard.add(look)
          look()
        }),
      kill: () => void child.kill("SIGKILL"),
    }
  }

  close(): void {
    for (const child of this.#children) child.kill("SIGKILL")
    rmSync(this.scratch, { recursive: true, force: true })
  }
}

function toldIn(text: string): Told {
  // The last line may be half written.
  const lines = text.split("\n").slice(0, -1)
  const all = lines.map((line) => JSON.parse(line) as { told?: RunRecord; deed?: Deed; state?: RunState })
  const state = all.findLast((line) => line.state !== undefined)?.state
  return {
    told: all.flatMap(({ told }) => told ?? []),
    deeds: all.flatMap(({ deed }) => deed ?? []),
    ...(state && { state }),
    lines: all,
  }
}

/** The state on disk, read by an unrelated process. */
export async function standing({ root, workspace }: Order): Promise<{ state: RunState; history: RunRecord[] }> {
  const runtime = createRuntime({ store: fsStore(root), workspace })
  const history: RunRecord[] = []
  for await (const record of runtime.events("r")) history.push(record)
  return { state: await runtime.status("r"), history }
}
