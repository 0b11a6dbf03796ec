import { readdirSync, readFileSync } from "node:fs"
import { homedir, hostname } from "node:os"
import { fileURLToPath } from "node:url"
import { beforeEach, describe, expect, test, vi } from "vitest"
import { placedClaudeCli } from "./backends/claude-place.ts"
import { casesOf } from "./support/backend-cases.ts"
import { benchOf } from "./support/backend-place.ts"
import { playCase, readScene, recordedBackends, recordedCases } from "./support/recorded/benches.ts"
import type { SceneEvent } from "./support/recorded/scene.ts"

// Gemini CLI cannot open a session in the minute of its creation: no minute ends while a scene is played.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - (Date.now() % 60_000) })
  return () => void vi.useRealTimers()
})

describe.each(recordedBackends.map((placed) => [placed.name, placed] as const))(
  "%s passes with the recorded program",
  (_, placed) => {
    const cases = casesOf(benchOf(placed)).filter(([name]) => recordedCases.includes(name))
    test.each(cases)("%s", async (_, each) => playCase(placed, each))
  },
)

const [text = expect.fail("there are no cases")] = casesOf(benchOf(placedClaudeCli)).map(([, each]) => each)
const scene = readScene(placedClaudeCli, text.name)

test.each<readonly [string, (event: SceneEvent) => SceneEvent]>([
  ["other words", (event) => ("line" in event ? { ...event, line: event.line.replace("How is it?", "Why?") } : event)],
  ["other arguments", (event) => (event.type === "start" ? { ...event, args: [...event.args, "--x"] } : event)],
])("a backend that sends %s than recorded fails the case", async (_, change) => {
  await expect(playCase(placedClaudeCli, text, scene.map(change))).rejects.toThrow()
})

test("a backend that sends less than recorded fails the case", async () => {
  const more = { type: "sent", program: 1, line: "{}" } as const
  const exit = scene.findIndex(({ type }) => type === "exit")
  await expect(playCase(placedClaudeCli, text, scene.toSpliced(exit, 0, more))).rejects.toThrow("departs")
})

test("the recordings contain no token, and nothing of the machine that made them", () => {
  const folder = fileURLToPath(new URL("backends/recordings", import.meta.url))
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".jsonl"))
  expect(files.length).toBeGreaterThan(40)
  const own = [homedir(), hostname()].filter((name) => name.length > 3 && name !== "localhost")
  for (const file of files) {
    const scene = readFileSync(`${folder}/${file}`, "utf8")
    expect(scene).not.toMatch(/Bearer [\w-]{20}|\/(home|Users|root)\/|longhaul-test-/)
    for (const name of own) expect(scene).not.toContain(`${name}/`)
  }
})
