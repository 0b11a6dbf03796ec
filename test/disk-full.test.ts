import { readdirSync } from "node:fs"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { Bench, type Order, standing } from "./durable/program.ts"
import { faults } from "./support/workload.ts"

const bench = new Bench()
beforeAll(() => bench.prepare())
afterAll(() => bench.close())

/** No file of the process may exceed this many KiB: longer writes are cut short, and then fail. */
const limited = (kib: number) => ["bash", "-c", `ulimit -f ${kib} && exec "$0" "$@"`]

describe.each<{ form: NonNullable<Order["form"]> }>([{ form: "append" }, { form: "create-only" }])(
  "a full disk with $form",
  ({ form }) => {
    test("a run that cannot be written fails as storage and finishes once there is space", async () => {
      const order = { ...bench.places(), form, resultBytes: 20_000 }
      const full = await bench.start(order, limited(8)).ended
      expect(full.state).toMatchObject({ status: "failed", data: null, error: { code: "storage", retryable: true } })
      expect(full.deeds.some(({ effect }) => effect === "once")).toBe(true)
      const still = await bench.start(order, limited(1)).ended
      expect(still.state).toMatchObject({ status: "failed", error: { code: "storage" } })
      const free = await bench.start(order).ended
      const { state, history } = await standing(order)
      const told = [full, still, free].flatMap((each) => each.told)
      const deeds = [full, still, free].flatMap((each) => each.deeds)
      expect(faults(history, told, deeds, state)).toEqual([])
      const flagged = state.toolCalls.filter(({ status }) => status === "unknown")
      expect(flagged.length).toBeGreaterThan(0)
      console.log(
        `${form}, file size limit: ${told.length} records acknowledged, 0 lost; ${deeds.length} effects, 0 twice, ${flagged.length} flagged`,
      )
    })
  },
)

test("a disk that cuts every file short only costs more files", async () => {
  const order = bench.places()
  const { state, told, deeds } = await bench.start(order, limited(4)).ended
  expect(state).toMatchObject({ status: "done" })
  const found = await standing(order)
  expect(faults(found.history, told, deeds, found.state)).toEqual([])
  // One per part is all it needs.
  const stretches = found.history.filter(({ type }) => type === "run-start" || type === "run-resume").length
  expect(readdirSync(found.state.transcript.path).length).toBeGreaterThan(stretches)
})
