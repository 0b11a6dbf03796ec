import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, expect, test } from "vitest"
import { runCampaign } from "../src/cli/crashtest/campaign.ts"

const all = process.env.LONGHAUL_ALL_CRASHES === "1"
const timeout = all ? 3_600_000 : 120_000
const program = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url))
const scratch = mkdtempSync(join(tmpdir(), "longhaul-questions-crash-"))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

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

for (const [store, kills, sample] of [
  ["fs", 300, 6],
  ["create-only", 60, 3],
] as const) {
  const name = `a run whose calls ask people, killed at any operation and time, loses no question and no answer and repeats no effect (${store})`
  test(name, { timeout }, async () => {
    const folder = mkdtempSync(join(scratch, "campaign-"))
    const tools = join(folder, "questions.mjs")
    writeFileSync(tools, workload)
    const chosen = all ? { kills } : { kills: 1, sample }
    const report = await runCampaign({ program, store, folder, tools, seed: 1, ...chosen })
    const { total, violations, points, operations } = report
    const { runs, resumed, flagged, lost, duplicated, unloadable } = total
    const found = `${lost} lost, ${duplicated} duplicated, ${unloadable} unloadable, ${violations.length} violations`
    console.log(
      `11 questions on ${store}, ${operations} operations, ${points} points: ${total.kills} kills of ${runs} runs, ${resumed} resumed, ${flagged} flagged; ${found}`,
    )
    expect(violations).toEqual([])
    expect({ resumed, lost, duplicated, unloadable }).toEqual({ resumed: runs, lost: 0, duplicated: 0, unloadable: 0 })
  })
}
