import { type ChildProcess, fork } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import type { RunRecord } from "../../src/contract/event.ts"
import type { Store } from "../../src/contract/store.ts"
import type { S3StoreOptions } from "../../src/stores/s3/index.ts"
import { random } from "../support/scene.ts"
import { PATIENCE_MS, until } from "../support/watchdog.ts"
import { type Built, builtPackage, importBuilt } from "./built.ts"
import { checkRace, type Verdict } from "./check.ts"

export interface RaceOptions {
  readonly form: "append" | "create-only" | Bucket
  readonly seed: number
  /** The control group: a store without looks, one whose looks come before the append, one whose create overwrites. */
  readonly broken?: "blind" | "looks-early" | "overwrites"
}

/** The location of a race on an object store. */
export interface Bucket {
  /** As seen by the racing processes, and by the checker. */
  readonly raced: S3StoreOptions
  readonly judged: S3StoreOptions
  /** No write to the bucket is pending. */
  settled(): Promise<void>
}

export interface RaceReport extends Verdict {
  readonly workers: number
  readonly kills: number
  /** Workers that died in the middle of their own write. */
  readonly torn: number
  readonly stops: number
}

/** Runs races of real processes on a real disk. Close it: it holds processes and temporary folders. */
export interface RaceTrack {
  /** Where the built package is. */
  readonly url: string
  readonly built: Built
  race(options: RaceOptions): Promise<RaceReport>
  close(): void
}

export async function createRaceTrack(): Promise<RaceTrack> {
  const { url, temporary } = builtPackage()
  const root = mkdtempSync(join(tmpdir(), "longhaul-races-"))
  const stable = new Stable(url)
  const built = await importBuilt(url)
  const close = () => {
    process.off("exit", close)
    stable.close()
    for (const folder of [root, temporary]) if (folder) rmSync(folder, { recursive: true, force: true })
  }
  process.on("exit", close)
  return {
    url,
    built,
    close,
    async race(options) {
      const dir = mkdtempSync(join(root, "race-"))
      try {
        return await runRace(dir, options, stable, built)
      } finally {
        rmSync(dir, { recursive: true, force: true })
      }
    },
  }
}

async function runRace(dir: string, options: RaceOptions, stable: Stable, built: Built): Promise<RaceReport> {
  const pick = random(options.seed)
  const { form } = options
  const prefix = basename(dir)
  const bucket = typeof form === "string" ? undefined : form
  const pace = bucket ? BUCKET_PACE : 1
  const folder = judgedStore(dir, form, prefix, built).folder("run")
  const running = new Map<Runner, string>()
  const violations: string[] = []
  const mostWorkers = 2 + pick(7)
  const mostKills = pick(4)
  let workers = 0
  let kills = 0
  let torn = 0
  let stops = 0

  const enter = (runner: Runner) => {
    const order = {
      dir,
      ...(bucket ? { bucket: { ...bucket.raced, prefix } } : { form }),
      broken: options.broken,
      worker: `w${workers++}`,
      seed: pick(2 ** 30),
      ops: OPS,
      takes: 1 + pick(4),
      patienceMs: (1 + pick(12)) * pace,
      // Few processes write much in a bucket: more are killed there, so that enough die in the middle of a write.
      diesAtWrite: pick(bucket ? 2 : 4) === 0 ? pick(bucket ? 5 : 8) : -1,
    }
    running.set(runner, order.worker)
    runner.run(order).then((failure) => {
      if (failure) violations.push(`${order.worker} failed: ${failure}`)
      if (runner.tore) torn++
      running.delete(runner)
      stable.bring(runner)
    })
  }

  const reader = built.createReader(folder)
  const published: RunRecord[] = []
  const read = async () => {
    try {
      published.push(...(await reader.next()))
    } catch (error) {
      violations.push(`an outside reader failed: ${error}`)
    }
  }

  try {
    for (const runner of await Promise.all(Array.from({ length: mostWorkers }, () => stable.fetch()))) enter(runner)
    const deadline = performance.now() + PATIENCE_MS
    let late = 0
    while (running.size > 0 && performance.now() < deadline) {
      await sleep(pick(6) * pace)
      const runner = [...running.keys()][pick(running.size)]
      const roll = pick(10)
      if (roll === 0 && kills < mostKills) kills += runner?.kill() ? 1 : 0
      else if (roll < 4) stops += runner?.stop(pick(25) * pace) ? 1 : 0
      else if (roll === 4 && late++ < mostKills) enter(await stable.fetch())
      else if (roll < 7) await read()
    }
  } finally {
    // Whatever happened, no process writes here when the race is checked and its folder removed.
    for (const [runner, worker] of running) {
      violations.push(`${worker} did not end`)
      runner.kill()
    }
    await until(() => running.size === 0)
  }
  await bucket?.settled()
  const verdict = await checkRace(dir, folder, published, built).catch((error: unknown) => ({
    ...nothing,
    violations: [`the run cannot be loaded and finished: ${error}`],
  }))
  return { ...verdict, workers, kills, torn, stops, violations: [...violations, ...verdict.violations] }
}

function judgedStore(dir: string, form: RaceOptions["form"], prefix: string, built: Built): Store {
  if (typeof form !== "string") return built.s3Store({ ...form.judged, prefix })
  return form === "append" ? built.fsStore(join(dir, "store")) : built.createOnlyStore(join(dir, "store"))
}

const OPS = 6
/** Slow-down factor where each step is a request. */
const BUCKET_PACE = 4
const nothing = { owners: 0, records: 0, effects: 0, unknown: 0 }

/** One worker process. */
class Runner {
  readonly #child: ChildProcess
  readonly ready: Promise<void>
  alive = true
  /** It killed itself in the middle of a write. */
  tore = false
  #killed = false
  #wake: ReturnType<typeof setTimeout> | undefined
  #finished: ((failure: string | null) => void) | undefined

  constructor(distUrl: string) {
    this.#child = fork(fileURLToPath(new URL("worker.mjs", import.meta.url)), {
      env: { ...process.env, LONGHAUL_DIST: distUrl },
      execArgv: [],
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    })
    this.ready = new Promise((resolve, reject) => {
      this.#child.once("exit", () => reject(new Error("a race's worker did not start")))
      this.#child.once("message", () => resolve())
    })
    this.ready.catch(() => {})
    this.#child.on("message", (message: { type: string; message?: string }) => {
      if (message.type === "done") this.#finish(null)
      if (message.type === "failure") this.#finish(message.message ?? "unknown")
    })
    this.#child.once("exit", (code) => {
      this.alive = false
      this.tore = code === null && !this.#killed
      clearTimeout(this.#wake)
      this.#finish(code === null ? null : `exited with code ${code}`)
    })
  }

  /** Resolves when the worker has finished or died: null, or the failure. */
  run(order: object): Promise<string | null> {
    return new Promise((resolve) => {
      this.#finished = resolve
      if (this.alive) this.#child.send(order, () => {})
      else this.#finish(null)
    })
  }

  kill(): boolean {
    if (!this.alive || this.#killed) return false
    this.#killed = true
    return this.#child.kill("SIGKILL")
  }

  stop(ms: number): boolean {
    if (!this.alive || this.#wake) return false
    this.#wake = setTimeout(() => {
      this.#wake = undefined
      if (this.alive) this.#child.kill("SIGCONT")
    }, ms)
    return this.#child.kill("SIGSTOP")
  }

  #finish(failure: string | null): void {
    this.#finished?.(failure)
    this.#finished = undefined
  }
}

/** Starting a process costs more than a race: survivors run the next race, dead ones are replaced early. */
class Stable {
  readonly #distUrl: string
  readonly #all = new Set<Runner>()
  readonly #idle: Runner[] = []

  constructor(distUrl: string) {
    this.#distUrl = distUrl
  }

  async fetch(): Promise<Runner> {
    for (let idle = this.#idle.shift(); idle; idle = this.#idle.shift()) {
      if (!idle.alive) continue
      await idle.ready
      return idle
    }
    const runner = this.#start()
    await runner.ready
    return runner
  }

  bring(runner: Runner): void {
    if (!runner.alive) this.#all.delete(runner)
    this.#idle.push(runner.alive ? runner : this.#start())
  }

  close(): void {
    for (const runner of this.#all) runner.kill()
    this.#all.clear()
  }

  #start(): Runner {
    const runner = new Runner(this.#distUrl)
    this.#all.add(runner)
    return runner
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
