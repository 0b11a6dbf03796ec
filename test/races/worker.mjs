// One process of a race. It runs races one after the other until it is killed; everything it observes is on disk before
// it continues, so that the checker can compare the history with it.
import { appendFileSync, closeSync, openSync, writeSync } from "node:fs"
import { join } from "node:path"

const dist = process.env.LONGHAUL_DIST ?? new URL("../../dist", import.meta.url).href
const { takeRun } = await import(new URL("journal/journal.js", dist).href)
const { project } = await import(new URL("journal/projection.js", dist).href)
const { flagUnknown } = await import(new URL("journal/recover.js", dist).href)
const { createOnlyStore, fsStore } = await import(new URL("hosts/node/store/fs-store.js", dist).href)
const { s3Store } = await import(new URL("stores/s3/index.js", dist).href)

process.on("disconnect", () => process.exit())
process.on("message", (order) => {
  race(order)
    .then(() => process.send({ type: "done" }))
    .catch((error) => process.send({ type: "failure", message: String(error?.stack ?? error) }))
})
process.send({ type: "ready" })

/** Takes the run repeatedly, whichever process owns it, until its share of takes is used up. */
async function race(order) {
  const pick = random(order.seed)
  const folder = nasty(storeOf(order).folder("run"), order, pick)
  const told = openSync(join(order.dir, `told-${order.worker}.jsonl`), "a")
  const tell = (line) => writeSync(told, `${JSON.stringify(line)}\n`)
  try {
    for (let take = 0; take < order.takes; take++) {
      await sleep(pick(order.patienceMs))
      await own(folder, order, `${order.worker}.${take}`, pick, tell).catch((error) => {
        // A bucket may fail for longer than an owner retries: another process then continues the run.
        if (error?.code !== "fenced" && !(order.bucket && error?.code === "storage")) throw error
      })
    }
  } finally {
    closeSync(told)
  }
}

function storeOf({ form, dir, bucket }) {
  if (bucket) return s3Store(bucket)
  return form === "append" ? fsStore(join(dir, "store")) : createOnlyStore(join(dir, "store"))
}

/** An owner's life: flags open calls of its predecessor, then does every operation that was not started. */
async function own(folder, { dir, ops }, agent, pick, tell) {
  let found = []
  const journal = await takeRun(folder, {
    owner: { pid: process.pid },
    first(history) {
      found = history
      tell({ agent, found: history.length })
      const begin = history.length === 0 ? start : { type: "run-resume", cause: "takeover" }
      return [begin, ...flagUnknown(project(history))].map((body) => ({ ...body, agent }))
    },
    acknowledged(records) {
      for (const record of records) tell({ agent, record })
    },
  })
  try {
    const known = project(found).calls
    for (let op = 0; op < ops; op++) {
      const callId = `op-${op}`
      if (known.get(callId)?.intent) continue
      journal.append({ type: "tool-call", turn: 1, callId, name: "Pay", args: {}, agent })
      journal.append({ type: "tool-intent", callId, digest: "d", effect: "once", key: callId, agent })
      await journal.flush()
      if (pick(2) === 0) await sleep(pick(3))
      appendFileSync(join(dir, "effects"), `${callId} ${agent} ${process.pid}\n`)
      journal.append({ type: "tool-result", callId, outcome: { status: "ok", output: [] }, durationMs: 0, agent })
      await journal.flush()
      if (pick(3) === 0) await sleep(pick(4))
    }
  } finally {
    await journal.release().catch(() => {})
  }
}

const start = {
  type: "run-start",
  runId: "race",
  nodeId: "race",
  input: { messages: [], backend: "race", cwd: "/" },
  tools: [],
  limits: {},
}

/**
 * The store as seen by a slow process that may die: pauses around every ordered step, a death in the middle of a write
 * if configured, and, for the control group, a store that violates a guarantee.
 */
function nasty(folder, { broken, diesAtWrite }, pick) {
  let writes = 0
  let seenEarly = null
  const pause = () => (pick(4) === 0 ? sleep(pick(4)) : undefined)
  const dies = () => writes++ === diesAtWrite
  return {
    ...folder,
    async exists(name) {
      await pause()
      if (broken === "blind") return false
      return seenEarly ? seenEarly.includes(name) : folder.exists(name)
    },
    async read(name) {
      await pause()
      const bytes = await folder.read(name)
      await pause()
      return bytes
    },
    async create(name, bytes) {
      await pause()
      if (broken === "overwrites") await folder.replace(name, bytes)
      const answer = broken === "overwrites" ? "created" : await folder.create(name, bytes)
      // Created, but the process dies before it learns of it.
      if (dies()) process.kill(process.pid, "SIGKILL")
      return answer
    },
    ...(folder.append && {
      append: {
        ...folder.append,
        async open(name, first) {
          await pause()
          seenEarly = null
          const file = await folder.append.open(name, first)
          return (
            file && {
              async write(bytes) {
                if (broken === "looks-early") {
                  seenEarly = await folder.list()
                  await sleep(1 + pick(8))
                }
                await pause()
                if (dies()) {
                  await file.write(bytes.subarray(0, pick(bytes.length)))
                  process.kill(process.pid, "SIGKILL")
                }
                await file.write(bytes)
              },
              stands: () => file.stands(),
              close: () => file.close(),
            }
          )
        },
      },
    }),
  }
}

function sleep(ms) {
  return new Promise((resolve) => (ms === 0 ? setImmediate(resolve) : setTimeout(resolve, ms)))
}

/** mulberry32: this process's decisions follow from the seed; the machine's scheduling does not. */
function random(seed) {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below) | 0
  }
}
