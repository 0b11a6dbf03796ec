import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { commandLine } from "../../test/support/command-line.ts"
import { until } from "../../test/support/watchdog.ts"
import type { RunRecord } from "../contract/event.ts"

const { place, start, longhaul, simulate } = commandLine()

const recordsIn = (stdout: string): RunRecord[] =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))

test("logs prints one record per line, and --json prints the exact journal lines", async () => {
  await longhaul(["run", "--model", "offline", "--run-id", "first", "Read tide.txt"])
  const exact = await longhaul(["logs", "--json", "first"])
  const records = recordsIn(exact.stdout)
  expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => index))
  expect(exact.stdout).toBe((await longhaul(["show", "--json", "--events", "first"])).stdout)

  const { code, stdout, stderr } = await longhaul(["logs", "fir"])
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  const lines = stdout.trimEnd().split("\n")
  expect(lines).toHaveLength(records.length)
  for (const [index, { type }] of records.entries()) {
    expect(lines[index]).toMatch(new RegExp(`^\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d +${index} ${type}`))
  }
  expect(lines.find((line) => line.includes(" tool-call "))).toContain("List")
  expect(lines.find((line) => line.includes(" tool-result "))).toMatch(/ ok after \S+: tide\.txt$/)
  expect(lines.at(-1)).toMatch(/run-end +done$/)

  const rest = await longhaul(["logs", "--json", "--after", "3", "first"])
  expect(recordsIn(rest.stdout)).toEqual(records.slice(4))
})

test("logs prints no control characters, whatever a record contains", async () => {
  await writeFile(join(place.workspace, "evil.txt"), "\u001b[2Jgone\u0007\n".repeat(50))
  await simulate({
    script: ({ lastToolResults: [read] }) =>
      read ? `\u001b[31m${read.text}` : { parts: [{ toolCall: { name: "Read", args: { path: "evil.txt" } } }] },
  })
  await longhaul(["run", "--run-id", "evil", "Read \u001b[5m it"])
  const { stdout } = await longhaul(["logs", "evil"], { CI: "1" })
  expect(stdout).toContain("␛[2Jgone")
  expect(stdout).not.toMatch(/(?!\n)\p{Cc}/u)
  for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(200)
})

test("logs -f follows a run of another process to its end", async () => {
  let mayAnswer = false
  const { requests } = await simulate({
    async script() {
      await until(() => mayAnswer)
      return "At last."
    },
  })
  const running = start(["run", "--run-id", "slow", "Take your time"])
  await until(() => requests.length === 1)
  const following = start(["logs", "-f", "--json", "slow"])
  await until(() => following.shown.stdout.includes('"run-start"'))
  expect(following.shown.stdout).not.toContain("At last.")
  mayAnswer = true
  expect((await running.ended).code).toBe(0)
  const { code, stdout } = await following.ended
  expect(code).toBe(0)
  expect(stdout).toBe((await longhaul(["logs", "--json", "slow"])).stdout)
  expect(recordsIn(stdout).at(-1)).toMatchObject({ type: "run-end", status: "done" })
})

test("Ctrl-C ends logs -f with 130 and does not affect the run", async () => {
  let mayAnswer = false
  const { requests } = await simulate({
    async script() {
      await until(() => mayAnswer)
      return "Undisturbed."
    },
  })
  const running = start(["run", "--run-id", "slow", "Take your time"])
  await until(() => requests.length === 1)
  const following = start(["logs", "-f", "slow"])
  await until(() => following.shown.stdout.includes("run-start"))
  following.child.kill("SIGINT")
  expect((await following.ended).code).toBe(130)
  mayAnswer = true
  expect(await running.ended).toMatchObject({ code: 0, stdout: expect.stringContaining("Undisturbed.") })
})

test.each([
  [["nothing"], 1, "error not_found:"],
  [["-f", "nothing"], 1, "error not_found:"],
  [["--node", "other", "first"], 1, "error not_found:"],
  [["--after", "x", "first"], 2, "Use a whole number from 0"],
  [[], 2, "Missing argument for logs: runId"],
])("logs %j exits with %i", async (args, exitCode, advice) => {
  await longhaul(["run", "--model", "offline", "--run-id", "first", "List"])
  const { code, stdout, stderr } = await longhaul(["logs", ...args])
  expect({ code, stdout }).toEqual({ code: exitCode, stdout: "" })
  expect(stderr).toContain(advice)
})
