import { Worker } from "node:worker_threads"
import { describe, expect, test } from "vitest"
import type { Policy } from "../src/contract/policy.ts"
import { countAttacks } from "./support/count-attacks.ts"
import { argsOf, denies, harm, inRoot, named, permits, refill, textsOf, turn } from "./support/link-scene.ts"
import type { Sample } from "./support/tool-samples.ts"

/** For each tool, over all kinds of its calls; a quarter for each variation. `npm run prove` tries 10,000. */
const RACES = Number(process.env.LONGHAUL_LINK_RACES ?? 100)
const AT_ONCE = 50
const attacks = countAttacks("links that flip between the decision and the call")

/** Flips as fast as it can, until it is terminated. Each step may lose a race: it continues. */
const flipper = `
  const { renameSync, symlinkSync, writeFileSync } = require("node:fs")
  const { workerData: { root, replaces }, parentPort } = require("node:worker_threads")
  const attempt = (action) => { try { action() } catch {} }
  for (let round = 0; ; round++) {
    attempt(() => symlinkSync(round % 2 ? "plain" : "secrets", root + "/next"))
    attempt(() => renameSync(root + "/next", root + "/x"))
    if (replaces) {
      attempt(() => writeFileSync(root + "/secrets/.next", "CANARY\\n"))
      attempt(() => renameSync(root + "/secrets/.next", root + "/secrets/key.txt"))
    }
    if (round === 2) parentPort.postMessage("flipping")
  }
`

async function whileFlipping(replaces: boolean, work: () => Promise<void>): Promise<void> {
  const worker = new Worker(flipper, { eval: true, workerData: { root: inRoot("."), replaces } })
  try {
    await new Promise((resolve) => worker.once("message", resolve))
    await work()
  } finally {
    await worker.terminate()
  }
}

async function race(sample: Sample, policy: Policy, { share = 1, withRipgrep = false, replaces = false } = {}) {
  const kinds = named.filter(([, { tool }]) => tool === sample.tool).length
  const wanted = Math.ceil((RACES * share) / kinds)
  await whileFlipping(replaces, async () => {
    for (let tries = 0; tries < wanted; tries += AT_ONCE) {
      const calls = Array.from(
        { length: Math.min(AT_ONCE, wanted - tries) },
        () => [sample.tool, argsOf(sample)] as const,
      )
      const result = await turn(calls, policy, { withRipgrep })
      attacks.tried(calls.length)
      expect(harm(textsOf(result)).filter((each) => !replaces || each !== ".next")).toEqual([])
      refill()
    }
  })
}

const TIMEOUT_MS = 1_800_000

describe("a link that flips between an open and a denied folder", () => {
  test.each(named)(
    "a link that flips never lets %s reach the denied folder",
    async (_, sample) => {
      await race(sample, denies)
    },
    TIMEOUT_MS,
  )

  test.each(named)(
    "a link that flips never lets %s beyond what is permitted",
    async (_, sample) => {
      await race(sample, permits, { share: 0.25 })
    },
    TIMEOUT_MS,
  )

  test.each(named.filter(([, { tool }]) => tool === "Grep"))(
    "a link that flips never lets %s with ripgrep reach the denied folder",
    async (_, sample) => {
      await race(sample, denies, { share: 0.25, withRipgrep: true })
    },
    TIMEOUT_MS,
  )

  test.each(named.filter(([, { can }]) => can.includes("read")))(
    "a link that flips never lets %s reach a denied file that is replaced all the time",
    async (_, sample) => {
      await race(sample, denies, { share: 0.25, replaces: true })
    },
    TIMEOUT_MS,
  )
})
