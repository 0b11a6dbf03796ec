import { expect, test } from "vitest"
import { native } from "../src/backends/native/index.ts"
import type { RunRecord } from "../src/contract/event.ts"
import type { RuntimeConfig } from "../src/contract/run.ts"
import type { RunState, Runtime } from "../src/contract/runtime.ts"
import type { Folder, Store } from "../src/contract/store.ts"
import { createRuntime } from "../src/index.ts"
import { assembleRuntime } from "../src/runtime/runtime.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { type DiskIntercept, type SimulatedDisk, simulatedDisk } from "../src/testing/simulated-disk.ts"
import { random, settle } from "./support/scene.ts"
import { continueRun, type Deed, faults, found, records, workload } from "./support/workload.ts"

const seeds = Number(process.env.LONGHAUL_POWER_SEEDS ?? 1)

type Form = "append" | "create-only"
/** The unsynced data that survives; default none. */
type Survives = (what: "bytes" | "name", file: string) => boolean
/** A store that violates a guarantee. */
interface Flaw {
  folder(folder: Folder): Folder
  losePower?(): void
}

interface World {
  readonly disk: SimulatedDisk
  readonly form: Form
  readonly told: RunRecord[]
  readonly deeds: Deed[]
  readonly flaw: Flaw
  /** True if a host can tell that the processes before the loss are dead. */
  readonly tellsBoots: boolean
}

const sound: Flaw = { folder: (folder) => folder }

const newWorld = (form: Form, flaw = sound, tellsBoots = true): World => ({
  disk: simulatedDisk(),
  form,
  told: [],
  deeds: [],
  flaw,
  tellsBoots,
})

function storeOf({ disk, form, flaw }: World, actor: string, intercept: DiskIntercept = () => {}): Store {
  const store = disk.view(actor, { intercept, createOnly: form === "create-only" })
  return {
    ...store,
    folder: (path) => flaw.folder(store.folder(path)),
    // The disk has one folder, that of the run.
    list: async (path) => (path.endsWith("/projects") ? ["r"] : path.endsWith("/nodes") ? ["main"] : store.list(path)),
  }
}

/** A running computer: all its processes stop forever at one step of the disk, or never. */
class Boot {
  readonly #world: World
  readonly #stopAt: number
  #steps = 0
  #stopped = () => {}
  /** The power is off: code that still runs has no effect outside. */
  #off = false
  readonly stopped = new Promise<void>((resolve) => {
    this.#stopped = resolve
  })

  constructor(world: World, stopAt = Number.POSITIVE_INFINITY) {
    this.#world = world
    this.#stopAt = stopAt
  }

  get steps(): number {
    return this.#steps
  }

  /** Each part in a separate process. */
  async live(number: number): Promise<RunState> {
    const { tellsBoots, told } = this.#world
    const hear = records((record) => this.#off || told.push(record))
    let state = number > 0 ? await found(this.#process(number)) : undefined
    if (state?.status === "done") return state
    do state = await continueRun(this.#process(number), state, hear, { takeover: !tellsBoots })
    while (state.status === "paused")
    return state
  }

  async losePower(survives: Survives): Promise<void> {
    await settle()
    this.#off = true
    this.#world.disk.losePower(survives)
    this.#world.flaw.losePower?.()
  }

  #process(number: number): Runtime {
    const { tellsBoots, deeds } = this.#world
    const intercept = () => {
      if (this.#steps++ < this.#stopAt) return
      this.#stopped()
      return new Promise<never>(() => {})
    }
    const config: RuntimeConfig = {
      ...workload((deed) => this.#off || deeds.push(deed)),
      store: storeOf(this.#world, "process", intercept),
      ...(tellsBoots && { owner: { boot: number } }),
    }
    if (!tellsBoots) return createRuntime(config)
    const isDead = ({ boot }: { readonly boot?: unknown }) => boot !== number
    return assembleRuntime(config, { store: memoryStore, backend: native, isDead, again: createRuntime })
  }
}

interface Report {
  readonly losses: number
  readonly begun: boolean
  readonly flagged: number
  readonly told: number
  readonly violations: readonly string[]
}

/** One run through the given power losses, each at a step of its boot, and then to its end. */
async function runThrough(world: World, stops: readonly number[], survives: Survives): Promise<Report> {
  let losses = 0
  try {
    for (const stop of stops) {
      const boot = new Boot(world, stop)
      const over = await Promise.race([boot.live(losses), boot.stopped])
      if (over) break
      await boot.losePower(survives)
      losses++
      if (neverBegan(world, await stateOf(world))) return { ...nothing, losses, begun: false }
    }
    const told = world.told.length
    await new Boot(world).live(losses)
    const [state, history] = [await stateOf(world), await historyOf(world)]
    const flagged = state.toolCalls.filter(({ status }) => status === "unknown").length
    return { losses, begun: true, flagged, told, violations: faults(history, world.told, world.deeds, state) }
  } catch (error) {
    return { ...nothing, losses, violations: [`the run cannot be loaded: ${error}`] }
  }
}

const nothing: Report = { losses: 0, begun: true, flagged: 0, told: 0, violations: [] }

/**
 * The power was lost before its first record was durable: nothing was published or done. If a host cannot tell that its
 * process is dead, only its id is taken.
 */
function neverBegan({ disk, told, deeds, tellsBoots }: World, { status }: RunState): boolean {
  if (tellsBoots || status !== "not_found") return false
  return disk.bytes("000000.jsonl") !== undefined && told.length + deeds.length === 0
}

/** As the next boot finds it. */
const outside = (world: World) => createRuntime({ store: storeOf(world, "outside") })

const stateOf = (world: World) => outside(world).status("r")

async function historyOf(world: World): Promise<RunRecord[]> {
  const history: RunRecord[] = []
  for await (const record of outside(world).events("r")) history.push(record)
  return history
}

async function stepsOf(form: Form): Promise<number> {
  const boot = new Boot(newWorld(form))
  expect(await boot.live(0)).toMatchObject({ status: "done" })
  return boot.steps
}

const survivals: Readonly<Record<string, Survives>> = {
  nothing: () => false,
  everything: () => true,
  "names alone": (what) => what === "name",
}

function summed(reports: readonly Report[]): string {
  const sum = (of: (report: Report) => number) => reports.reduce((total, report) => total + of(report), 0)
  const losses = sum((report) => report.losses)
  const told = sum((report) => report.told)
  const lost = sum(({ violations }) => violations.filter((each) => each.includes("lost")).length)
  const twice = sum(({ violations }) => violations.filter((each) => each.includes("happened")).length)
  const flagged = sum((report) => report.flagged)
  const never = sum(({ begun }) => (begun ? 0 : 1))
  const harm = `${lost} of them lost, ${twice} effects repeated or lost`
  return `${losses} losses of power, ${told} records acknowledged before them, ${harm}, ${flagged} calls flagged, ${never} runs that never began`
}

test.each<{ form: Form }>([{ form: "append" }, { form: "create-only" }])(
  "$form: after a power loss at any step, with any surviving data, every acknowledged record exists and the run finishes",
  async ({ form }) => {
    const steps = await stepsOf(form)
    const reports: Report[] = []
    for (let stop = 0; stop < steps; stop++) {
      for (const [what, survives] of Object.entries(survivals)) {
        const report = await runThrough(newWorld(form, sound, stop % 2 === 0), [stop], survives)
        expect(report.violations, `lost at step ${stop} of ${steps}, ${what} survives`).toEqual([])
        reports.push(report)
      }
    }
    expect(reports.filter(({ losses }) => losses === 1).length).toBeGreaterThan(2 * steps)
    expect(reports.some(({ flagged }) => flagged > 0)).toBe(true)
    console.log(`${form}, every one of ${steps} steps × ${Object.keys(survivals).length}: ${summed(reports)}`)
  },
)

test.each<{ form: Form }>([{ form: "append" }, { form: "create-only" }])(
  "$form: after repeated power losses during recovery, with any unsynced data lost, the run finishes",
  async ({ form }) => {
    const steps = await stepsOf(form)
    const reports: Report[] = []
    for (let seed = 1; seed <= seeds * steps; seed++) {
      const pick = random(seed)
      const stops = Array.from({ length: 2 + pick(3) }, () => pick(steps))
      const world = newWorld(form, sound, pick(2) === 0)
      const report = await runThrough(world, stops, () => pick(2) === 0)
      expect(report.violations, `seed ${seed}: ${stops.join(", ")}`).toEqual([])
      reports.push(report)
    }
    console.log(`${form}, ${reports.length} seeds: ${summed(reports)}`)
  },
)

/** A disk that reports each write as durable when only the previous one is. */
function lateWrites(): Flaw {
  const late = new Map<string, Uint8Array>()
  const open = async (name: string, first: Uint8Array, { append }: Folder) => {
    const file = await append?.open(name, first)
    if (!file) return null
    const write = async (bytes: Uint8Array) => {
      const before = late.get(name)
      if (before) await file.write(before)
      // The journal writes its next flush into the same buffer.
      late.set(name, bytes.slice())
    }
    return { ...file, write }
  }
  return {
    losePower: () => late.clear(),
    folder: (folder) => ({
      ...folder,
      async read(name) {
        const bytes = await folder.read(name)
        return bytes && Uint8Array.from([...bytes, ...(late.get(name) ?? [])])
      },
      ...(folder.append && {
        append: {
          ...folder.append,
          open: (name: string, first: Uint8Array) => open(name, first, folder),
          sync: async () => {},
        },
      }),
    }),
  }
}

/** Names that are visible to all until the power is lost. */
const unsyncedFolders = (): Flaw => ({
  folder: (folder) => ({
    ...folder,
    ...(folder.append && { append: { ...folder.append, syncFolder: async () => {} } }),
  }),
})

const earlyFiles = (): Flaw => ({
  folder: (folder) => ({
    ...folder,
    async create(name, bytes) {
      if (await folder.exists(name)) return "exists"
      await folder.replace(name, bytes)
      return "created"
    },
  }),
})

const flaws: readonly { name: string; form: Form; flaw: () => Flaw }[] = [
  { name: "writes that are not synced", form: "append", flaw: lateWrites },
  { name: "folders that are not synced", form: "append", flaw: unsyncedFolders },
  { name: "files that are there before they are durable", form: "create-only", flaw: earlyFiles },
]

test.each(flaws)("control: $name are detected", async ({ name, form, flaw }) => {
  const steps = await stepsOf(form)
  const reports: Report[] = []
  for (let stop = 0; stop < steps; stop += 3)
    reports.push(await runThrough(newWorld(form, flaw()), [stop], () => false))
  const bad = reports.filter(({ violations }) => violations.length > 0)
  const lost = bad.filter(({ violations }) => violations.some((each) => each.includes("is lost")))
  // A run that begins again in a store without its id has other keys.
  const repeated = /happened (\d+ times|and its intent is lost)/
  const twice = bad.filter(({ violations }) => violations.some((each) => repeated.test(each)))
  console.log(`${name}: ${bad.length} of ${reports.length} runs broken, ${lost.length} lost, ${twice.length} repeated`)
  expect(lost.length).toBeGreaterThan(0)
  expect(twice.length).toBeGreaterThan(0)
})
