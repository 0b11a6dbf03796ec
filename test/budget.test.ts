import { expect, test } from "vitest"
import { type Kind, spend } from "./support/budget-scene.ts"

const runs = Number(process.env.LONGHAUL_BUDGET_RUNS ?? 32)

const plain = { cuts: 0, crashes: 0, depth: 0, limit: "tokens" } as const
const kinds: readonly Kind[] = [
  { ...plain, name: "cut streams", cuts: 0.7 },
  { ...plain, name: "cut streams and crashes", cuts: 0.4, crashes: 1 },
  { ...plain, name: "trees", depth: 1 },
  { ...plain, name: "trees of depth 2, cut streams and crashes", cuts: 0.4, crashes: 2, depth: 2 },
  { ...plain, name: "trees of depth 3 and crashes", crashes: 3, depth: 3 },
  {
    ...plain,
    name: "trees of depth 3, cut streams, crashes, in dollars",
    cuts: 0.4,
    crashes: 3,
    depth: 3,
    limit: "usd",
  },
  { ...plain, name: "ACP agents and crashes", crashes: 2, isAcp: true },
  { ...plain, name: "trees of ACP agents and crashes", crashes: 1, depth: 2, isAcp: true },
]

// A request of a killed ACP agent is never reported: it stays under way.
test(`${runs} runs with cut streams, crashes, ACP agents and trees in the background exceed their budget by at most one call per request under way`, {
  tags: ["LOOP-10"],
}, async () => {
  let most = { calls: 0, underWay: 0, kind: "" }
  let exhausted = 0
  for (let seed = 0; seed < runs; seed++) {
    const kind = kinds[seed % kinds.length] ?? expect.fail("there are no kinds")
    const { bill, amount, code } = await spend(kind, seed)
    const over = bill.callsOver(kind, amount)
    if (code === "budget_exceeded") exhausted++
    if (over > most.calls) most = { calls: over, underWay: bill.most, kind: kind.name }
    const scene = `seed ${seed}: ${kind.name}, ${bill.paid(kind)} of ${amount}`
    expect(over, scene).toBeLessThanOrEqual(bill.most)
    if (kind.isAcp) expect(bill.underWay, `${scene}, never reported`).toBeLessThanOrEqual(bill.killed)
  }
  console.log(
    `${runs} runs, ${exhausted} used up their budget: overspent by ${most.calls.toFixed(2)} calls at most ` +
      `(${most.kind || "none"}, at most ${most.underWay} requests under way at once)`,
  )
  expect(exhausted).toBeGreaterThan(runs / 2)
})
