import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { beforeEach, expect, test } from "vitest"
import { commandLine } from "../../test/support/command-line.ts"

const { place, longhaul, simulate } = commandLine()
const program = fileURLToPath(new URL("../../test/mcp-client/asking-server.mjs", import.meta.url))
const ledger = () => join(place.workspace, "ledger.txt")
const withServer = ["--mcp-config", "mine.json"]

beforeEach(async () => {
  const settings = join(place.workspace, "settings.json")
  await writeFile(settings, JSON.stringify({ ledger: ledger(), state: "opaque-state-4711" }))
  const asking = { command: process.execPath, args: [program, settings], revision: "2026-07-28" }
  await writeFile(join(place.workspace, "mine.json"), JSON.stringify({ mcpServers: { asking } }))
  await simulate({
    script: ({ lastToolResults: [last] }) =>
      last ? `It says ${last.text}.` : { parts: [{ toolCall: { name: "mcp__asking__book", args: {} } }] },
  })
})

const begin = () => longhaul(["run", ...withServer, "--run-id", "r", "Book it"])

test("a server's question is shown by run, answered by resume --answer, and its state is never printed", async () => {
  const first = await begin()
  expect(first.code).toBe(3)
  expect(first.stdout).toMatch(/waits +The MCP server asking asks:\n +> Where to\?\n +- city \(string, required\)/)
  expect(first.stdout).toMatch(/resume r --answer "…"[^\n]*\n[^\n]*reject r --reason/)
  const second = await longhaul(["resume", "r", "--answer", "Oslo", ...withServer])
  expect(second.code).toBe(3)
  expect(second.stdout).toContain("- seats (integer, required)")
  const wrong = await longhaul(["resume", "r", "--answer", "many", ...withServer])
  expect(wrong).toMatchObject({ code: 3, stdout: expect.stringContaining("was not sent to the server") })
  const done = await longhaul(["resume", "r", "--answer", '{"seats": 2}', ...withServer])
  expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining("booked 2 to Oslo") })
  const shown = await Promise.all(
    [
      ["show", "r"],
      ["show", "r", "--json"],
      ["logs", "r"],
    ].map((args) => longhaul(args)),
  )
  const printed = [first, second, wrong, done, ...shown].map(({ stdout, stderr }) => stdout + stderr).join("\n")
  expect(printed).toContain("Where to?")
  expect(printed).not.toContain("opaque-state-4711")
  expect((await readFile(ledger(), "utf8")).match(/^effect/gm)).toHaveLength(1)
})

test("mcp call says that the server needs a person's answer, and the server does not act", async () => {
  const { code, stdout, stderr } = await longhaul(["mcp", "call", "asking", "book", ...withServer])
  expect(code).not.toBe(0)
  expect(stdout + stderr).toMatch(/needs an answer from a person|do not declare the required capability/)
  expect(await readFile(ledger(), "utf8")).not.toContain("effect")
})

test("a server's question is declined by reject, and approve is a yes without fields", async () => {
  await begin()
  const approved = await longhaul(["approve", "r", "--yes", ...withServer])
  expect(approved).toMatchObject({ code: 3, stdout: expect.stringContaining("was not sent to the server") })
  const declined = await longhaul(["reject", "r", "--reason", "not today", ...withServer])
  expect(declined).toMatchObject({ code: 0, stdout: expect.stringContaining("not booked: decline") })
  expect(await readFile(ledger(), "utf8")).not.toContain("effect")
})
