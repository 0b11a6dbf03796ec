import { readdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { commandLine } from "../../test/support/command-line.ts"
import type { CampaignReport } from "./crashtest/campaign.ts"

const { place, longhaul } = commandLine()

/** In its own temporary folder, so that leftovers are visible. */
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

test("crashtest prints a table of kills, leaves nothing behind and exits with 0", async () => {
  const { code, stdout, stderr } = await crashtest("--kills", "1", "--sample", "3", "--store", "create-only")
  expect(stderr).toBe("")
  expect(stdout).toMatch(/^store create-only, seed 1: \d+ durable operations in a run, \d+ points to kill it at\n/)
  expect(stdout).toMatch(/\n +runs +kills +resumed +flagged +lost +duplicated +unloadable +violations\n/)
  expect(stdout).toMatch(/\nall +(\d+) +4 +\1 +\d+ +0 +0 +0 +0\n/)
  expect(code).toBe(0)
  expect(await leftOver()).toEqual([])
})

test("crashtest kills a run with custom tools, which pauses at their gates", async () => {
  await writeFile(join(place.workspace, "tools.mjs"), ownTools('export const gated = ["book"]'))
  const { code, stdout } = await crashtest("--tools", "tools.mjs", "--kills", "0", "--sample", "4", "--json")
  const report = JSON.parse(stdout) as CampaignReport
  expect(report.violations).toEqual([])
  expect(report.total).toMatchObject({ runs: 4, kills: 4, resumed: 4, lost: 0, duplicated: 0 })
  expect(code).toBe(0)
})

test("crashtest prints violations, keeps their folders and exits with 1", async () => {
  const changed = "if (process.env.LONGHAUL_CRASHTEST_CHILD) steps.pop()"
  await writeFile(join(place.workspace, "tools.mjs"), ownTools(changed))
  const { code, stdout } = await crashtest("--tools", "tools.mjs", "--kills", "0")
  expect(stdout).toContain("without any kill: its calls were read book, not read book book")
  expect(code).toBe(1)
  expect(await leftOver()).toHaveLength(1)
})

test.each([
  [["--store", "tape"], "Invalid value for --store"],
  [["--store", "s3://runs"], "AWS_ACCESS_KEY_ID"],
  [["--tools", "none.mjs"], "File not found"],
  [["--tools", "empty.mjs"], "does not export tools"],
  [["--tools", "idle.mjs"], "does not export steps"],
  [["--kills", "many"], "--kills"],
])("crashtest rejects %j before anything is killed", async (args, message) => {
  await writeFile(join(place.workspace, "empty.mjs"), "")
  await writeFile(join(place.workspace, "idle.mjs"), ownTools("").replace("export const steps", "const steps"))
  const { code, stderr } = await crashtest(...args)
  expect(stderr).toContain(message)
  expect(stderr).toContain("fix:")
  expect(code).toBe(2)
  expect(await leftOver()).toEqual([])
})
