import { join } from "node:path"
import { expect, test } from "vitest"
import { agent, calls, part, processOver } from "../../test/support/agent-scene.ts"
import { commandLine } from "../../test/support/command-line.ts"
import type { RunEvent } from "../contract/event.ts"
import { fsStore } from "../hosts/node/index.ts"
import { createProgress } from "./progress.ts"

const { place, longhaul } = commandLine()

const roles = {
  lead: [calls(agent("one"), agent("two")), "All done."],
  one: [calls(part("act", { n: 1 })), "One is done."],
  two: [calls(agent("three")), "Two is done."],
  three: ["Three is done."],
}

async function finishedTree(): Promise<readonly RunEvent[]> {
  const events: RunEvent[] = []
  const { runtime } = processOver(fsStore(join(place.home, "store")), roles, {
    agents: { depth: 2 },
    resolvePricing: () => ({ input: 1, output: 1000 }),
  })
  const result = await runtime.run({ task: "lead", runId: "tree", onEvent: (event) => events.push(event) })
  expect(result.status).toBe("done")
  return events
}

test("show, logs and cost contain the agents of a run, as a tree", async () => {
  await finishedTree()
  const store = ["--store", join(place.home, "store")]
  const shown = await longhaul(["show", "tree", ...store])
  expect(shown.stdout).toMatch(/^↳ agent 1-0 \(general\): do one$/m)
  expect(shown.stdout).toMatch(/^ {2}✓ act/m)
  expect(shown.stdout).toMatch(/^ {4}Three is done\.$/m)
  expect(shown.stdout).toMatch(/^↳ agent 1-1 done: /m)

  const logs = await longhaul(["logs", "tree", ...store])
  expect(logs.stdout).toMatch(/ {3}\d+ agent-start +1-0 \(general\): do one/)
  expect(logs.stdout).toMatch(/^\S+ \S+ {6}\d+ run-start/m)
  const records = (await longhaul(["logs", "tree", "--json", ...store])).stdout.trimEnd().split("\n")
  const agents = new Set(records.map((line) => JSON.parse(line).agent))
  expect(agents).toEqual(new Set([undefined, "1-0", "1-1", "1-1/1-0"]))

  const cost = JSON.parse((await longhaul(["cost", "--json", ...store])).stdout)
  expect(cost.total).toMatchObject({ runs: 1, turns: 7 })
  expect(cost.total.costUsd).toBeGreaterThan(0)
  const runs = JSON.parse((await longhaul(["runs", "--json", ...store])).stdout.trimEnd().split("\n")[0] ?? "")
  expect([runs].flat()).toHaveLength(1)
})

test("show and logs mark an agent in the background, and why its answer was sent to the model", async () => {
  const store = join(place.home, "store")
  const lead = [calls(agent("one", { background: true })), "I wait.", "All done."]
  const { runtime } = processOver(fsStore(store), { lead, one: ["One is done."] })
  expect((await runtime.run({ task: "lead", runId: "waits" })).status).toBe("done")
  const shown = await longhaul(["show", "waits", "--store", store])
  expect(shown.stdout).toMatch(/^↳ agent 1-0 \(general, in the background\): do one$/m)
  expect(shown.stdout).toMatch(/^▸ sent to the model because an agent in the background has ended: An agent that you/m)
  const logs = await longhaul(["logs", "waits", "--store", store])
  expect(logs.stdout).toMatch(/agent-start +1-0 \(general, in the background\): do one/)
})

test("the progress of a run shows the calls of its agents indented, and not their texts", async () => {
  const lines: string[] = []
  const colour = (text: string) => text
  const colours = { yellow: colour, green: colour, red: colour, dim: colour, bold: colour }
  const screen = { streams: false, line: (text: string) => lines.push(text), setStatus() {}, endText() {}, close() {} }
  // Safe: only these members are used.
  const progress = createProgress({ screen: screen as never, colours: colours as never })
  for (const event of await finishedTree()) progress.onEvent(event)
  expect(lines).toContain("↳ agent 1-0 (general): do one")
  expect(lines.some((line) => line.startsWith("  ✓ act"))).toBe(true)
  expect(lines.join("\n")).not.toContain("One is done.")
  expect(lines).toContain("All done.")
})
