import { spawnSync } from "node:child_process"
import { expect, test } from "vitest"
import { sedReachesFurther } from "../../src/policy/shell/sed-script.ts"

const SCRIPTS = 20_000
const parts = [
  ...["s", "y", "e", "w", "r", "R", "W", "p", "d", "i", "a", "b", ":", "x", "g", "1", "$", "!", "{", "}"],
  ...["/", ",", "~", "+", "\\", " ", ";", "\n", "#", "%", '"', "s/a/b/", "/a/", "I", "M", "q", "l", "F", "v", "z"],
]

/** GNU sed says so before it runs anything. */
function isRefused(args: readonly string[]): boolean {
  const { stderr } = spawnSync("sed", ["--sandbox", "-n", ...args], { input: "a\nx\n", encoding: "utf8" })
  return stderr.includes("sandbox mode")
}

test("no script that GNU sed refuses in its sandbox counts as one that only edits text", { timeout: 600_000 }, () => {
  expect(isRefused(["s/a/b/e"])).toBe(true)
  let seed = 20_261_125
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((seed / 2_147_483_648) * below)
  }
  let harmless = 0
  for (let round = 0; round < SCRIPTS; round++) {
    const script = Array.from({ length: 1 + random(10) }, () => parts[random(parts.length)]).join("")
    const args = random(4) === 0 ? ["-e", "s/a/b\\", "-e", script] : ["-e", script]
    if (sedReachesFurther(args)) continue
    harmless++
    expect(isRefused(args), JSON.stringify(args)).toBe(false)
  }
  expect(harmless).toBeGreaterThan(100)
})
