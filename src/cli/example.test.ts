import { cp, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"
import { commandLine } from "../../test/support/command-line.ts"
import type { RunResult } from "../contract/result.ts"

const { place, start, longhaul, json } = commandLine()

const sample = fileURLToPath(new URL("../../examples/field-notes", import.meta.url))
const sampleTask =
  "Search the notes for 'DECISION' and 'OPEN', and write what was decided and what is still open to report.md"

describe("the example task with the offline model", () => {
  test("the example run lists, searches, reads and writes a report from the files", async () => {
    const notes = join(place.workspace, "notes")
    await cp(sample, notes, { recursive: true })
    await rm(join(notes, "report.md"), { force: true })
    const args = ["run", "--workspace", notes, "--model", "offline", sampleTask]

    const { code, stdout, stderr } = await longhaul(args)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    for (const tool of ["List", "Grep", "Read", "Write"]) expect(stdout).toContain(`✓ ${tool} `)
    expect(stdout).toContain("offline model: rules, not an LLM")
    expect(stdout).toMatch(/next .* show run_/)
    const report = await readFile(join(notes, "report.md"), "utf8")
    expect(report).toContain("DECISION: Admiral stays. She is entered in the books as an instrument.")
    expect(report).toContain("OPEN: Ring number K-4471")

    // An earlier report is not read back: the same files give the same report.
    await longhaul(args)
    expect(await readFile(join(notes, "report.md"), "utf8")).toBe(report)

    const april = join(notes, "log/april.md")
    await writeFile(april, (await readFile(april, "utf8")).replace("Admiral stays.", "Admiral sails in May."))
    await longhaul(args)
    const changed = await readFile(join(notes, "report.md"), "utf8")
    expect(changed).toBe(report.replace("Admiral stays.", "Admiral sails in May."))
  })

  test("show and runs print the stored run, also by id prefix", async () => {
    const result = (await json([
      "run",
      "--json",
      "--workspace",
      sample,
      "--model",
      "offline",
      "--read-only",
      "List",
    ])) as RunResult
    expect(await json(["show", "--json", result.runId])).toEqual(result)
    const shown = await longhaul(["show", result.runId.slice(0, 10)])
    expect(shown.code).toBe(0)
    for (const part of [result.runId, "offline model: rules, not an LLM", "✓ List", result.transcript.path]) {
      expect(shown.stdout).toContain(part)
    }
    expect(shown.stdout).toContain(result.text.split("\n")[0])

    const events = await longhaul(["show", "--events", "--json", result.runId])
    const records = events.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line))
    expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => index))
    expect(records.at(-1)).toMatchObject({ type: "run-end", status: "done" })

    expect(await json(["runs", "--json"])).toMatchObject([{ runId: result.runId, status: "done", task: "List" }])
    const table = await longhaul(["runs"])
    expect(table.stdout).toMatch(new RegExp(`${result.runId} +done +${result.turns} `))
  })

  test("--read-only removes Write", async () => {
    await longhaul(["run", "--model", "offline", "--read-only", "List the files and write report.md"])
    await expect(readFile(join(place.workspace, "report.md"))).rejects.toThrow("ENOENT")
  })

  test("the task is read from stdin, and --quiet prints only the answer", async () => {
    const running = start(["run", "--model", "offline", "--quiet", "-"])
    running.child.stdin.end("Read tide.txt\n")
    const { code, stdout, stderr } = await running.ended
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toContain("High water is at 04:17.")
    expect(stdout).not.toContain("✓")
  })
})
