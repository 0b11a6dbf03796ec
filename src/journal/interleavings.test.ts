import { expect, test } from "vitest"
import { call, note, opening, random, readAll, receipt } from "../../test/support/scene.ts"
import type { RunRecord } from "../contract/event.ts"
import { type DiskStep, simulatedDisk } from "../testing/simulated-disk.ts"
import { takeRun } from "./journal.ts"
import { project } from "./projection.ts"
import { createReader } from "./reader.ts"
import { claimOf } from "./shard.ts"

const schedules = Number(process.env.LONGHAUL_SCHEDULES ?? 300)

/** Three processes take the run at random times. One process makes one step at a time, and any may be stopped permanently. */
async function explore(seed: number, createOnly: boolean): Promise<void> {
  const pick = random(seed)
  const disk = simulatedDisk()
  const waiting: { step: DiskStep; go: () => void; fail: (error: Error) => void }[] = []
  const effects = new Map<string, number>()
  const acknowledged: RunRecord[][] = []
  const published: RunRecord[] = []
  const stopped = new Set<string>()

  const intercept = (step: DiskStep) =>
    new Promise<void>((resolve, reject) => {
      waiting.push({ step, go: resolve, fail: reject })
    })

  async function owner(actor: string): Promise<void> {
    const mine: RunRecord[] = []
    acknowledged.push(mine)
    let history: readonly RunRecord[] = []
    const journal = await takeRun(disk.view(actor, { intercept, createOnly }).folder("run"), {
      owner: { actor },
      first(found) {
        history = found
        return opening(found)
      },
      acknowledged(records) {
        if (mine.length === 0) mine.push(...history)
        mine.push(...records)
      },
    })
    const known = project(history).calls
    for (const callId of ["1", "2"]) {
      if (known.get(callId)) continue
      for (const body of call(callId)) journal.append(body)
      await journal.flush()
      effects.set(callId, (effects.get(callId) ?? 0) + 1)
      journal.append(receipt(callId))
      await journal.flush()
    }
    journal.append(note(`${actor} done`))
    await journal.release()
  }

  /** The creator of each shard according to its content, and the possible creators. */
  const makerOf = (name: string) => claimOf(disk.bytes(name) ?? new Uint8Array())?.owner?.actor
  const makers = (name: string) =>
    disk.steps.filter((step) => step.name === name && /^(open|create)$/.test(step.kind)).map((step) => step.actor)

  async function reads(): Promise<void> {
    const reader = createReader(disk.view("R", { intercept, createOnly }).folder("run"))
    for (let poll = 0; poll < 4; poll++) published.push(...(await reader.next()))
  }

  const work = [...["A", "B", "C"].map(owner), reads()].map((each) => each.catch(() => {}))
  let finished = false
  Promise.all(work).then(() => {
    finished = true
  })
  for (let quiet = 0; !finished && quiet < 3; ) {
    await new Promise((resolve) => setImmediate(resolve))
    for (const name of disk.names()) expect(makers(name), `${name}, seed ${seed}`).toContain(makerOf(name))
    const ready = waiting.filter(({ step }) => !stopped.has(step.actor))
    const chosen = ready[pick(ready.length)]
    if (!chosen) {
      quiet++
      continue
    }
    quiet = 0
    waiting.splice(waiting.indexOf(chosen), 1)
    const roll = pick(100)
    if (roll < 2 && stopped.size < 2) stopped.add(chosen.step.actor)
    else if (roll < 5 && chosen.step.kind.startsWith(createOnly ? "create" : "write")) chosen.fail(new Error("EIO"))
    else chosen.go()
  }

  const final = await readAll(disk, createOnly).then((seen) => (seen.length > 0 ? seen : takeOver()))
  async function takeOver(): Promise<RunRecord[]> {
    await takeRun(disk.view("Z", { createOnly }).folder("run"), { first: opening })
    return readAll(disk, createOnly)
  }
  const settled = await takeOver()
  const lines = settled.map((record) => JSON.stringify(record))
  for (const mine of [...acknowledged, published, final]) {
    expect(
      mine.map((record) => JSON.stringify(record)),
      `seed ${seed}`,
    ).toEqual(lines.slice(0, mine.length))
  }
  for (const [callId, count] of effects) {
    expect(count, `effect ${callId}, seed ${seed}`).toBe(1)
    expect(
      settled.filter((record) => record.type === "tool-intent" && record.callId === callId),
      `seed ${seed}`,
    ).toHaveLength(1)
  }
  const settlements = settled.filter((record) => record.type === "tool-result").map(({ callId }) => callId)
  expect(new Set(settlements).size, `one settlement per call, seed ${seed}`).toBe(settlements.length)
}

test.each([
  { store: "append", createOnly: false },
  { store: "create-only", createOnly: true },
])("$store: under any schedule, history is linear and no effect happens twice", async (form) => {
  for (let seed = 1; seed <= schedules; seed++) await explore(seed, form.createOnly)
  console.log(`${schedules} schedules on the ${form.store} form: 0 violations`)
})
