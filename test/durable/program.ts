import { type ChildProcess, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import type { RunRecord } from "../../src/contract/event.ts"
import type { RunState } from "../../src/contract/run.ts"
import { createRuntime, fsStore } from "../../src/hosts/node/index.ts"
import type { Deed } from "../support/workload.ts"

/** What a worker is to do. */
export interface Order {
  /** Where runs are kept. */
  readonly root: string
  readonly workspace: string
  readonly form?: "append" | "create-only"
  /** How long the results of `once` tools are. */
  readonly resultBytes?: number
  /** How many stretches it goes on for, from pause to pause. */
  readonly most?: number
  /** Only says this to the run. */
  readonly steer?: string
  /** Only begins the run, and tells this address how far it got. */
  readonly webhook?: string
}

/** What a worker told before it ended. */
export interface Told {
  readonly told: readonly RunRecord[]
  readonly deeds: readonly Deed[]
  /** How its last stretch ended; absent where it did not. */
  readonly state?: RunState
  /** All of it. */
  readonly lines: readonly { readonly [name: string]: unknown }[]
}

export interface Worker {
  readonly ended: Promise<Told>
  /** It has said this. Rejects where it ended without. */
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

  /** New places for a run and its work. */
  places(): { readonly root: string; readonly workspace: string } {
    const scene = mkdtempSync(join(this.scratch, "scene-"))
    const workspace = join(scene, "workspace")
    mkdirSync(workspace)
    return { root: join(scene, "store"), workspace }
  }

  /** `through`: what the program is started with in its turn. */
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

/** What stands on the disk, read by a process that has nothing to do with the run. */
export async function standing({ root, workspace }: Order): Promise<{ state: RunState; history: RunRecord[] }> {
  const runtime = createRuntime({ store: fsStore(root), workspace })
  const history: RunRecord[] = []
  for await (const record of runtime.events("r")) history.push(record)
  return { state: await runtime.status("r"), history }
}
