import { expect, test } from "vitest"
import { killRuns, noDamage, timeout } from "./support/campaign.ts"

/** Calls of each effect that ask once or twice before they act, alone, side by side, gated, and in an agent. */
const workload = `
const tool = (name, effect, questions) => ({
  name,
  description: "Asks " + questions + " times, and then has the effect " + effect + ".",
  inputSchema: { type: "object" },
  effect,
  concurrent: true,
  risk: "low",
  run({ n }, { ask, answered }) {
    const { asked = 0 } = answered?.state ?? {}
    if (answered && answered.text !== "That way.") throw new Error("This is not the answer.")
    return asked < questions ? ask("Question " + (asked + 1) + "?", { asked: asked + 1 }) : "done: " + n
  },
})
export const tools = [
  tool("pay", "once", 0),
  tool("book", "once", 2),
  tool("put", "repeatable", 1),
  tool("look", "none", 1),
  tool("ship", "once", 1),
]
export const gated = ["ship"]
const call = (name, n) => ({ name, args: { n } })
const agent = (prompt) => ({ name: "Agent", args: { description: prompt, prompt } })
export const steps = [
  [call("book", 1)],
  [call("pay", 2), call("book", 2), call("put", 2), call("look", 2), call("pay", 3)],
  [agent("a"), call("book", 4)],
  [call("ship", 5)],
]
export const agents = { a: [[call("book", 6), call("pay", 6)]] }
`

/** The same, with a callback that answers most questions at once and leaves the others to a pause. */
const live = `${workload}
let asked = 0
export const onAsk = () => (++asked % 4 === 0 ? { decision: "pause" } : { decision: "answer", text: "That way." })
`

test.each([
  { store: "fs", kills: 300, sample: 6 },
  { store: "create-only", kills: 60, sample: 3 },
] as const)(
  "a run whose calls ask people, killed at any operation and time, loses no question and no answer and repeats no effect ($store)",
  { timeout },
  async (kills) => expect(await killRuns("11 questions", workload, kills)).toEqual(noDamage),
)

test.each([
  { store: "fs", kills: 300, sample: 4 },
  { store: "create-only", kills: 60, sample: 2 },
] as const)(
  "a run whose calls ask a callback, killed at any operation and time, loses no question and no answer and repeats no effect ($store)",
  { timeout },
  async (kills) => expect(await killRuns("11 live questions", live, kills)).toEqual(noDamage),
)
