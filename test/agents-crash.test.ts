import { expect, test } from "vitest"
import { killRuns, noDamage, timeout } from "./support/campaign.ts"

/**
 * A run and 15 agents: four side by side, one of which has a gated call; then two that have three agents each, one of them
 * with a gated call, too; and three in the background, one with a gated call and one below another agent.
 */
const workload = `
const tool = (name, effect) => ({
  name,
  description: "Simulates a call whose effect is " + effect + ".",
  inputSchema: { type: "object" },
  effect,
  concurrent: true,
  risk: "low",
  run: ({ n }) => "done: " + n,
})
export const tools = [tool("look", "none"), tool("pay", "once"), tool("put", "repeatable"), tool("ship", "once")]
export const gated = ["ship"]
const call = (name, n) => ({ name, args: { n } })
const agent = (prompt) => ({ name: "Agent", args: { description: prompt, prompt } })
const background = (prompt) => ({ name: "Agent", args: { description: prompt, prompt, background: true } })
const work = (n) => [[call("pay", n), call("look", n)], [call("put", n), call("pay", n + 100)]]
export const steps = [
  [call("pay", 0), background("b1"), agent("a1"), agent("a2"), agent("a3"), agent("gated")],
  [agent("m1"), agent("m2"), background("b2")],
  [call("pay", 1)],
]
export const agents = {
  a1: work(1),
  a2: work(2),
  a3: work(3),
  gated: [[call("pay", 4)], [call("ship", 4), call("pay", 104)]],
  m1: [[agent("l1"), agent("l2"), agent("l3"), call("pay", 5)]],
  m2: [[background("b3"), agent("l4"), agent("l5"), agent("l6")], [call("pay", 6)]],
  b1: work(7),
  b2: [[call("ship", 8), call("pay", 8)]],
  b3: work(9),
  l1: work(11),
  l2: work(12),
  l3: work(13),
  l4: work(14),
  l5: work(15),
  l6: [[call("ship", 16)]],
}
`

test.each([
  { store: "fs", kills: 300, sample: 5 },
  { store: "create-only", kills: 60, sample: 2 },
] as const)(
  "a tree of 16 agents, 3 of them in the background, killed at any operation and time loses no record and repeats no effect ($store)",
  { tags: ["LOOP-07", "RES-02"], timeout },
  async (kills) => expect(await killRuns("16 agents", workload, kills)).toEqual(noDamage),
)
