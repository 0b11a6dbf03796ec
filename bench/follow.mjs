// What waiting for runs of another process costs: requests of one waiter on a bucket, CPU of many followers on disk.
// Usage: npm run build && node bench/follow.mjs [--followers n] [--seconds n] [--assert]
import { fork } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { parseArgs } from "node:util"
import { startBucket } from "./bucket.mjs"
import { waitingRuns } from "./follow-owner.mjs"
import { figure, layOut } from "./report.mjs"

const dist = process.env.BENCH_DIST ?? join(import.meta.dirname, "../dist")
const load = (path) => import(pathToFileURL(join(dist, path)).href)
const { createRuntime, fsStore } = await load("hosts/node/index.js")
const { s3Store } = await load("stores/s3/index.js")
const { scriptedModel } = await load("testing/index.js")

const { values } = parseArgs({
  options: {
    followers: { type: "string", default: "1000" },
    seconds: { type: "string", default: "10" },
    assert: { type: "boolean", default: false },
  },
})
const seconds = Number(values.seconds)
const followers = Number(values.followers)
const requestGoal = 2
const pollIntervalMs = 500

const root = mkdtempSync(join(tmpdir(), "longhaul-bench-follow-"))
process.on("exit", () => rmSync(root, { recursive: true, force: true }))
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

const waiter = await oneWaiter()
const idle = await idleFollowers()

const isMet = waiter.perPoll <= requestGoal
const rows = [
  ["a waiter on a run of 101 turns in a bucket, requests a poll", figure(waiter.perPoll), `≤ ${requestGoal}`],
  [`${followers} idle followers of runs on disk, CPU a second`, figure(idle.cpuMs, "ms"), ""],
]
const verdicts = [isMet ? "met" : "MISS", ""]
console.log(layOut([["", "measured", "goal", ""], ...rows.map((row, index) => [...row, verdicts[index]])]))
process.exitCode = values.assert && !isMet ? 1 : 0
process.exit()

/** Requests that a waiter makes while nothing happens in a run of another runtime. */
async function oneWaiter() {
  const { fetch } = startBucket()
  const options = { bucket: "runs", endpoint: "http://bucket.invalid", accessKeyId: "k", secretAccessKey: "s" }
  await waitingRuns({ store: s3Store({ ...options, fetch }), turns: 100 })
  const counted = { requests: 0, polls: 0, newest: 0 }
  const counting = (...request) => {
    const now = performance.now()
    counted.requests++
    if (now - counted.newest > pollIntervalMs / 2) counted.polls++
    counted.newest = now
    return fetch(...request)
  }
  const runtime = createRuntime({ store: s3Store({ ...options, fetch: counting }), model: scriptedModel([]) })
  runtime.waitFor("run-0", { pollIntervalMs })
  // Until it has read the run, which takes a request for each flush.
  for (let before = -1; before !== counted.requests; ) {
    before = counted.requests
    await sleep(pollIntervalMs - 100)
  }
  counted.requests = 0
  counted.polls = 0
  await sleep(seconds * 1000)
  return { perPoll: counted.requests / counted.polls }
}

/** CPU of a process that follows runs in which nothing happens. */
async function idleFollowers() {
  const dir = join(root, "store")
  const owner = await startOwner({ dir, runs: followers })
  const runtime = createRuntime({ store: fsStore(dir), workspace: root, model: scriptedModel([]), tools: [] })
  let received = 0
  for (let index = 0; index < followers; index++) void follow(`run-${index}`)
  async function follow(runId) {
    for await (const _ of runtime.events(runId, { follow: true })) received++
  }
  for (let before = -1; received === 0 || before !== received; ) {
    before = received
    await sleep(1_000)
  }
  const before = process.cpuUsage()
  const began = performance.now()
  await sleep(seconds * 1000)
  const { user, system } = process.cpuUsage(before)
  owner.kill()
  return { cpuMs: (user + system) / (performance.now() - began) }
}

/** Another process with runs that are under way for as long as it lives. */
async function startOwner(order) {
  const owner = fork(join(import.meta.dirname, "follow-owner.mjs"), [JSON.stringify({ ...order, root })], {
    env: { ...process.env, BENCH_DIST: dist },
  })
  process.on("exit", () => owner.kill())
  await once(owner, "message")
  return owner
}
