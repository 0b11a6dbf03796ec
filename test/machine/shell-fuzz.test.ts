import { readFileSync } from "node:fs"
import { afterAll, expect, test } from "vitest"
import type { CommandLine } from "../../src/policy/shell/command-line.ts"
import { readCommandLine } from "../../src/policy/shell/read-line.ts"
import { ShellOracle } from "../support/shell-oracle.ts"

const LINES = Number(process.env.LONGHAUL_SHELL_LINES ?? 600)
const SEED = Number(process.env.LONGHAUL_SHELL_SEED ?? 15)

const oracle = new ShellOracle()
afterAll(() => oracle.dispose())

test("every command that dash and bash run of a readable line is in its list", { timeout: 1_800_000 }, async () => {
  const { lines, readable, executed, violations } = await oracle.check(readCommandLine, LINES, SEED)
  console.log(
    `shell lines: ${lines} generated, ${readable} readable and run in three shells, ` +
      `${executed} executed commands, ${violations.length} not listed`,
  )
  expect(violations).toEqual([])
  expect(executed).toBeGreaterThan(readable)
})

test("the table of classified lines agrees with dash and bash", async () => {
  const table = readFileSync(new URL("../../src/policy/shell/__fixtures__/lines.txt", import.meta.url), "utf8")
  const rows = table.split("\n").filter((row) => row.includes("   ⇒   "))
  const lines = rows.map((row) => row.split("   ⇒   ")[0]?.replaceAll("␤", "\n") ?? "")
  const { violations, executed } = await oracle.checkLines(readCommandLine, lines)
  expect(violations).toEqual([])
  expect(executed).toBeGreaterThan(200)
})

const broken: Readonly<Record<string, (line: string) => CommandLine>> = {
  "that overlooks substitutions": (line) => readCommandLine(line.replace(/\$\([^()]*\)|`[^`]*`/g, "x")),
  "that takes [[ ]] as a test in every shell": (line) => readCommandLine(line.replace(/\[\[.*\]\]/g, "true")),
  "that overlooks the arguments after the first": (line) => {
    const reading = readCommandLine(line)
    if (!reading.isReadable) return reading
    return { ...reading, commands: reading.commands.map((each) => ({ ...each, words: each.words.slice(0, 2) })) }
  },
  "that overlooks redirects": (line) => {
    const reading = readCommandLine(line)
    return reading.isReadable ? { ...reading, redirects: [] } : reading
  },
}

test.each(Object.entries(broken))("the oracle catches a reader %s", async (_, reader) => {
  expect((await oracle.check(reader, 2000, SEED, true)).violations).not.toEqual([])
})
