import { readdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { commandLine } from "../../test/support/command-line.ts"
import type { CampaignReport } from "./crashtest/campaign.ts"

const { place, longhaul } = commandLine()

/** In a temporary folder of its own, so that what it leaves can be seen. */
const crashtest = (...args: string[]) => longhaul(["crashtest", ...args], { TMPDIR: place.home })
const leftOver = async () => (await readdir(place.home)).filter((name) => name.startsWith("longhaul-crashtest-"))

const ownTools = (more: string) => `
  const tool = (name, effect) => ({
    name, description: name, inputSchema: { type: "object" }, effect, concurrent: true, risk: "low",
    run: () => { console.log("a tool may print"); return name },
  })
  export const tools = [tool("read", "none"), tool("book", "once")]
  export const steps = [[{ name: "read", args: {} }, { name: "book", args: {} }], [{ name: "book", args: {} }]]
  ${more}`

test("counts kills as a table, leaves nothing and exits with 0", async () => {
  const { code, stdout, stderr } = await crashtest("--kills", "1", "--sample", "3", "--store", "create-only")
  expect(stderr).toBe("")
  expect(stdout).toMatch(/^store create-only, seed 1: \d+ durable operations in a run, \d+ points to kill it at\n/)
  expect(stdout).toMatch(/\n +runs +kills +resumed +flagged +lost +duplicated +unloadable +violations\n/)
  expect(stdout).toMatch(/\nall +(\d+) +4 +\1 +\d+ +0 +0 +0 +0\n/)
  expect(code).toBe(0)
  expect(await leftOver()).toEqual([])
})

test("kills a run of somebody's own tools, which pauses where they say", async () => {
  await writeFile(join(place.workspace, "tools.mjs"), ownTools('export const gated = ["book"]'))
  const { code, stdout } = await crashtest("--tools", "tools.mjs", "--kills", "0", "--sample", "4", "--json")
  const report = JSON.parse(stdout) as CampaignReport
  expect(report.violations).toEqual([])
  expect(report.total).toMatchObject({ runs: 4, kills: 4, resumed: 4, lost: 0, duplicated: 0 })
  expect(code).toBe(0)
})

test("says what went wrong, keeps it to be looked at and exits with 1", async () => {
  const changed = "if (process.env.LONGHAUL_CRASHTEST_CHILD) steps.pop()"
  await writeFile(join(place.workspace, "tools.mjs"), ownTools(changed))
  const { code, stdout } = await crashtest("--tools", "tools.mjs", "--kills", "0")
  expect(stdout).toContain("nobody was killed: its calls were read book, not read book book")
  expect(code).toBe(1)
  expect(await leftOver()).toHaveLength(1)
})

test.each([
  [["--store", "tape"], "--store is"],
  [["--store", "s3://runs"], "AWS_ACCESS_KEY_ID"],
  [["--tools", "none.mjs"], "There is no file"],
  [["--tools", "empty.mjs"], "exports no tools"],
  [["--tools", "idle.mjs"], "exports no steps"],
  [["--kills", "many"], "--kills"],
])("refuses %j before anything is killed", async (args, message) => {
  await writeFile(join(place.workspace, "empty.mjs"), "")
  await writeFile(join(place.workspace, "idle.mjs"), ownTools("").replace("export const steps", "const steps"))
  const { code, stderr } = await crashtest(...args)
  expect(stderr).toContain(message)
  expect(stderr).toContain("fix:")
  expect(code).toBe(2)
  expect(await leftOver()).toEqual([])
})
