import { basename, dirname, join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { Bench, type Order, standing, type Told } from "../durable/program.ts"
import { readTrace, type SystemCall, tracing, written } from "../durable/trace.ts"
import { faults } from "../support/workload.ts"
import { startReceiver } from "../webhooks/receiver.ts"

const bench = new Bench()
beforeAll(() => bench.prepare())
afterAll(() => bench.close())

let traces = 0
async function traced(order: Order): Promise<Told & { readonly calls: readonly SystemCall[] }> {
  const file = join(bench.scratch, `trace-${traces++}`)
  const told = await bench.start(order, tracing(file)).ended
  return { ...told, calls: readTrace(file) }
}

const isBefore = (first: SystemCall, second: SystemCall) => first.ended < second.began

/** A matching call had ended when the other began, and had not begun before `after` ended. */
function happened(
  calls: readonly SystemCall[],
  like: (call: SystemCall) => boolean,
  before: SystemCall,
  after?: SystemCall,
): SystemCall {
  const found = calls.find(
    (call) => !call.failed && like(call) && isBefore(call, before) && (!after || isBefore(after, call)),
  )
  expect(found, `in front of ${before.text.slice(0, 200)}`).toBeDefined()
  return found as SystemCall
}

const isShard = (path: string) => /\/\d{6}\.jsonl$/.test(path)
const syncs = (path: string) => (call: SystemCall) => /^f(data)?sync$/.test(call.name) && call.path === path
/** The worker's output: that a record is durable, or that it starts an effect. */
const said = (calls: readonly SystemCall[], what: "told" | "deed") =>
  calls.filter((call) => call.name === "write" && written(call).includes(`"{"${what}":`))

/** Every new folder's name is durable before anything is written in it. The index is only a cache, and is written later. */
function foldersFirst(calls: readonly SystemCall[], first: SystemCall): number {
  const made = calls.filter((call) => call.name === "mkdir" && !call.failed && basename(call.path) !== "index")
  for (const folder of made) happened(calls, syncs(dirname(folder.path)), first, folder)
  return made.length
}

/** A file that appears complete: written and synced under another name, then linked, then the name is synced. */
function appearsWhole(calls: readonly SystemCall[], named: SystemCall): SystemCall {
  const isTemporary = (name: string) => (call: SystemCall) => call.name === name && call.path === named.path
  const opened = happened(calls, (call) => isTemporary("openat")(call) && /O_CREAT\|O_EXCL/.test(call.text), named)
  const write = happened(calls, isTemporary("write"), named, opened)
  happened(calls, isTemporary("fdatasync"), named, write)
  const synced = calls.find((call) => syncs(dirname(named.target))(call) && isBefore(named, call))
  expect(synced, `behind ${named.text}`).toBeDefined()
  return synced as SystemCall
}

/** Everything the worker reports is on disk, and so is the intent of every effect. */
function nothingTooEarly(calls: readonly SystemCall[], isDurable: (mark: string, before: SystemCall) => void): void {
  for (const call of said(calls, "told")) {
    const seq = /"told":\{"seq":(\d+),/.exec(written(call))?.[1]
    isDurable(`{"seq":${seq},`, call)
  }
  for (const call of said(calls, "deed")) {
    const [, key, effect] = /"key":"([^"]+)","effect":"(\w+)"/.exec(written(call)) ?? []
    if (effect !== "none") isDurable(`"key":"${key}"`, call)
  }
}

test("append: shards appear with their claim, counted bytes and names are synced before a header, effects come after", async () => {
  const order = bench.places()
  const workers = [await traced({ ...order, most: 1 })]
  workers.push(await traced({ ...order, steer: "Hurry up." }))
  workers.push(await traced({ ...order }))
  let flushes = 0
  for (const { calls } of workers) {
    expect(calls.filter((call) => isShard(call.path) && call.text.includes("O_CREAT"))).toEqual([])
    for (const link of calls.filter((call) => call.name === "link" && !call.failed && isShard(call.target))) {
      // A process that sees its name can read its owner.
      const claim = happened(calls, (call) => call.name === "write" && call.path === link.path, link)
      const [, claimed = ""] =
        /"(\{"v":2,"writer":"\w+","owner":\{.*\}\}\\n)", (\d+)\) += \2$/.exec(written(claim)) ?? []
      expect(claimed).toContain('"started":')
      const opened = calls.filter(
        (call) => call.name === "openat" && call.path === link.target && call.text.includes("O_WRONLY"),
      )
      expect(opened).toMatchObject([{ text: expect.stringContaining("O_WRONLY|O_DSYNC") }])
      const writes = calls.filter((call) => call.name === "write" && call.path === link.target)
      const [header] = writes as [SystemCall]
      // A synchronous write makes its own bytes durable, so the first one repeats the claim.
      expect(written(header)).toContain(`"${claimed}{"base":`)
      happened(calls, syncs(dirname(link.target)), header, link)
      const base = /"base":\{"shard":(\d+),/.exec(written(header))?.[1]
      if (base) happened(calls, syncs(join(dirname(link.target), `${base.padStart(6, "0")}.jsonl`)), header, link)
      for (const write of writes) expect(written(write)).toMatch(/"end":.*\}\\n", (\d+)\) += \1$/s)
      flushes += writes.length
    }
    const first = calls.find((call) => call.name === "write" && isShard(call.path))
    if (first) foldersFirst(calls, first)
    nothingTooEarly(calls, (mark, before) => {
      const write = (call: SystemCall) => call.name === "write" && isShard(call.path) && written(call).includes(mark)
      const durable = happened(calls, write, before)
      // And the run had not been taken by then.
      const next = String(Number(/(\d{6})\.jsonl$/.exec(durable.path)?.[1]) + 1).padStart(6, "0")
      const looked = calls.some(
        (call) =>
          call.path.endsWith(`/${next}.jsonl`) && call.failed && isBefore(durable, call) && isBefore(call, before),
      )
      expect(looked, `a look behind ${mark}`).toBe(true)
    })
  }
  const posted = workers[1]?.calls.filter((call) => call.name === "link" && call.target.includes("/inbox/")) ?? []
  expect(posted).toHaveLength(1)
  for (const named of posted) {
    const synced = appearsWhole(workers[1]?.calls ?? [], named)
    const answered = workers[1]?.calls.find((call) => written(call).includes('{"steered":true}'))
    expect(answered && isBefore(synced, answered)).toBe(true)
    foldersFirst(workers[1]?.calls ?? [], named)
  }
  const [told, deeds] = [workers.flatMap((each) => each.told), workers.flatMap((each) => each.deeds)]
  const { state, history } = await standing(order)
  expect(faults(history, told, deeds, state)).toEqual([])
  expect(history.filter(({ type }) => type === "steer")).toMatchObject([{ text: "Hurry up.", inbox: 0 }])
  console.log(`append: ${flushes} flushes, ${told.length} records told and ${deeds.length} deeds done behind them`)
})

test("create-only: each flush is a file that appears complete, and effects come after its name is durable", async () => {
  const order = { ...bench.places(), form: "create-only" as const }
  const workers = [await traced({ ...order, most: 1 }), await traced(order)]
  let files = 0
  for (const { calls } of workers) {
    const named = calls.filter((call) => call.name === "link" && !call.failed)
    files += named.length
    const synced = new Map(named.map((call) => [call, appearsWhole(calls, call)]))
    foldersFirst(calls, named.find((call) => isShard(call.target)) as SystemCall)
    nothingTooEarly(calls, (mark, before) => {
      const holds = (link: SystemCall) =>
        calls.some((call) => call.name === "write" && call.path === link.path && written(call).includes(mark))
      const durable = named.some((link) => holds(link) && isBefore(synced.get(link) as SystemCall, before))
      expect(durable, mark).toBe(true)
    })
  }
  const { state, history } = await standing(order)
  const [told, deeds] = [workers.flatMap((each) => each.told), workers.flatMap((each) => each.deeds)]
  expect(faults(history, told, deeds, state)).toEqual([])
  console.log(`create-only: ${files} files, ${told.length} records told and ${deeds.length} deeds done behind them`)
})

test("a webhook is sent after its record is durable, and its attempt is stored in a file that appears complete", async () => {
  const hook = await startReceiver(() => 200)
  const { calls, state } = await traced({ ...bench.places(), webhook: hook.url })
  expect(state).toMatchObject({ status: "paused" })
  expect(hook.got).toHaveLength(1)
  const sent = calls.find((call) => /^writev?$/.test(call.name) && call.text.includes("POST /hook"))
  expect(sent).toBeDefined()
  const pause = (call: SystemCall) => isShard(call.path) && written(call).includes('"type":"run-pause"')
  happened(calls, pause, sent as SystemCall)
  const kept = calls.filter((call) => call.name === "link" && call.target.includes("/outbox/"))
  expect(kept).toHaveLength(1)
  for (const named of kept) {
    appearsWhole(calls, named)
    expect(isBefore(sent as SystemCall, named)).toBe(true)
  }
  await hook.close()
})
