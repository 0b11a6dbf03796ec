import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { commandLine } from "../../test/support/command-line.ts"

const { place, longhaul, script, simulate } = commandLine()
const program = fileURLToPath(new URL("../../test/mcp-client/asking-server.mjs", import.meta.url))

/** The command that a pause prints, with the answer in its place, as a person would paste it. */
function printed(stdout: string, command: string, answer = ""): string {
  const line = stdout.split("\n").find((each) => each.includes(` ${command} `)) ?? `nothing printed for ${command}`
  return line.replace(/^(next)? +/, "").replace('"…"', answer)
}

/** Names that a shell would take apart. */
const odd = "it's $HOME & more"

async function askingServer(file: string): Promise<void> {
  const settings = join(place.workspace, "settings.json")
  await writeFile(settings, JSON.stringify({ ledger: join(place.workspace, "ledger.txt") }))
  const asking = { command: process.execPath, args: [program, settings], revision: "2026-07-28" }
  await writeFile(join(place.workspace, file), JSON.stringify({ mcpServers: { asking } }))
  await simulate({
    script: ({ lastToolResults: [last] }) =>
      last ? `It says ${last.text}.` : { parts: [{ toolCall: { name: "mcp__asking__book", args: {} } }] },
  })
}

test("the commands that a pause prints work when they are pasted: with the MCP servers and the store, quoted for the shell", async () => {
  await askingServer(`${odd}.json`)
  await mkdir(join(place.workspace, odd))
  const paused = await longhaul(["run", "--mcp-config", `${odd}.json`, "--store", odd, "--run-id", "r", "Book it"])
  expect(paused.code).toBe(3)
  const second = await script(printed(paused.stdout, "resume r", "Oslo"))
  expect(second).toMatchObject({ code: 3, stdout: expect.stringContaining("- seats (integer, required)") })
  const shown = await longhaul(["show", "r", "--store", odd])
  expect(printed(shown.stdout, "resume r")).toContain("--store")
  const declined = await script(printed(second.stdout, "reject r", "later"))
  expect(declined.code).toBe(0)
  const ledger = await readFile(join(place.workspace, "ledger.txt"), "utf8")
  expect(ledger).toContain('"action":"decline"')
  expect(ledger).not.toContain("effect")
})

test("chat prints commands that work when they are pasted, of both kinds", async () => {
  await askingServer("-mine.json")
  const chat = (run: string) => longhaul(["chat", "--mcp-config=-mine.json", "--run-id", run, "Book it"])
  const first = await chat("a")
  expect(await script(printed(first.stdout, "resume a", "Oslo"))).toMatchObject({
    code: 3,
    stdout: expect.stringContaining("- seats"),
  })
  const second = await chat("b")
  const again = await script(printed(second.stdout, "chat --continue b"))
  expect([again.code, again.stdout]).toEqual([3, expect.stringContaining("Where to?")])
  expect(again.stderr).not.toContain("does not have now")
})

test("the options of resume and the config file are repeated, and a policy file with any name is with a warning to review it", async () => {
  await simulate({
    script: ({ lastToolResults: [last] }) =>
      last ? "Done." : { parts: [{ toolCall: { name: "pay", args: { usd: 5 } } }] },
  })
  const config = `export default { tools: [{ name: "pay", description: "Pays.", inputSchema: { type: "object" },
    effect: "once", concurrent: false, risk: "high", run: () => "paid" }] }`
  await writeFile(join(place.workspace, "my settings.mjs"), config)
  await writeFile(join(place.workspace, "rules of mine.yaml"), "rules:\n  - ask: { tool: pay }\n")
  const options = ["--config", "my settings.mjs", "--policy", "rules of mine.yaml", "--run-id", "r"]
  const paused = await longhaul(["run", ...options, "Pay it"])
  expect(paused.code).toBe(3)
  expect(paused.stdout).toContain("rules of mine.yaml may have changed")
  const approved = await script(`${printed(paused.stdout, "approve r")}`)
  expect(approved).toMatchObject({ code: 0, stdout: expect.stringContaining("done") })
})

test("a failed run prints a resume command with the options that it needs", async () => {
  await askingServer("mine.json")
  const failed = await longhaul(["run", "--mcp-config", "mine.json", "--max-turns", "0", "--run-id", "r", "Book it"])
  expect(failed.code).toBe(2)
  const slow = await longhaul(["run", "--mcp-config", "mine.json", "--timeout", "0.001", "--run-id", "r", "Book it"])
  expect(slow.code).toBe(1)
  expect(printed(slow.stdout, "resume r")).toContain("--mcp-config mine.json")
})
