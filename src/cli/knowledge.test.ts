import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { beforeEach, describe, expect, test } from "vitest"
import { commandLine } from "../../test/support/command-line.ts"
import type { RunResult } from "../contract/result.ts"

const { place, longhaul, simulate } = commandLine()

beforeEach(async () => {
  await writeFile(
    join(place.workspace, "leave.md"),
    "# Leave\n\n28 days.\n\n## Carry over\n\nUntil 31 March. See [[sick]].\n",
  )
  await writeFile(join(place.workspace, "sick.txt"), "Call before nine.\n")
})

const add = async () => {
  expect((await longhaul(["knowledge", "add", "handbook", "leave.md", "sick.txt"])).code).toBe(0)
}

describe("knowledge", () => {
  test("add copies files into a base and indexes it, list shows it", async () => {
    const added = await longhaul(["knowledge", "add", "handbook", "leave.md", "sick.txt", "--json"])
    expect(added.code).toBe(0)
    expect(JSON.parse(added.stdout)).toEqual({
      added: ["handbook/leave.md", "handbook/sick.txt"],
      index: { base: "handbook", files: 2, sections: 3, failed: [] },
    })
    const listed = await longhaul(["knowledge", "list", "--json"])
    expect(JSON.parse(listed.stdout).bases).toEqual([
      { name: "handbook", index: "current", files: ["leave.md", "sick.txt"] },
    ])
    const shown = await longhaul(["knowledge", "list"])
    expect(shown.stdout).toContain("handbook  2 files, index current\n  handbook/leave.md\n")
  })

  test("add replaces a file, also in a folder of the base", async () => {
    await longhaul(["knowledge", "add", "handbook/rules", "leave.md"])
    await writeFile(join(place.workspace, "leave.md"), "# New\n")
    await longhaul(["knowledge", "add", "handbook/rules", "leave.md"])
    const { stdout } = await longhaul(["knowledge", "show", "handbook/rules/leave.md"])
    expect(stdout).toBe("# New\n\n")
  })

  test("search prints references, show prints what they lead to", async () => {
    await add()
    const found = await longhaul(["knowledge", "search", "carry", "over", "--limit", "1"])
    expect(found).toMatchObject({
      code: 0,
      stdout:
        "handbook/leave.md#carry-over\n  leave.md > Leave > Carry over\n  Until 31 March. See [[sick]].\n  Links to: handbook/sick.txt\n",
    })
    const json = JSON.parse((await longhaul(["knowledge", "search", "nine", "--json", "--base", "handbook"])).stdout)
    expect(json).toMatchObject({ query: "nine", hits: [{ ref: "handbook/sick.txt", snippet: "Call before nine." }] })
    const shown = await longhaul(["knowledge", "show", "handbook/leave.md#carry-over", "--json"])
    expect(JSON.parse(shown.stdout)).toEqual({
      ref: "handbook/leave.md#carry-over",
      text: "## Carry over\n\nUntil 31 March. See [[sick]].",
      sections: [],
    })
    expect(await longhaul(["knowledge", "search", "unheard"])).toMatchObject({
      code: 1,
      stdout: "No section matches.\n",
    })
  })

  test("index writes the indexes of all bases, and names documents that it cannot read", async () => {
    await add()
    const folder = join(place.home, "state", "longhaul", "workspaces", "default", "knowledge", "handbook")
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, "broken.pdf"), "no PDF")
    const { code, stdout, stderr } = await longhaul(["knowledge", "index"])
    expect({ code, stdout }).toEqual({ code: 1, stdout: "handbook: 2 files, 3 sections\n" })
    expect(stderr).toContain("handbook/broken.pdf is left out.")
  })

  test.each([
    [["knowledge"], "Missing subcommand"],
    [["knowledge", "lsit"], "Unknown subcommand of knowledge: lsit"],
    [["knowledge", "search"], "Missing words"],
    [["knowledge", "search", "x", "--base", "none"], "There is no knowledge base"],
    [["knowledge", "search", "x", "--limit", "0"], "--limit"],
    [["knowledge", "show"], "Missing reference"],
    [["knowledge", "show", "../../etc/passwd"], "is not a reference"],
    [["knowledge", "show", "none/a.md"], "There is no knowledge base"],
    [["knowledge", "add", "handbook"], "Missing base or file"],
    [["knowledge", "add", "../up", "leave.md"], "not a folder of knowledge"],
    [["knowledge", "add", "handbook", "none.md"], "none.md cannot be read"],
    [["knowledge", "add", "handbook", "a.exe"], "no format that can be searched"],
    [["knowledge", "index", "none"], "no documents in the knowledge base none"],
    [["knowledge", "list", "x"], "Unexpected argument"],
  ])("%j says what is wrong", async (args, message) => {
    const { code, stderr } = await longhaul(args)
    expect(code).not.toBe(0)
    expect(stderr).toContain(message)
  })

  test("run --knowledge lets the model search; without it the model has no such tools", async () => {
    await add()
    const seen: (readonly string[])[] = []
    await simulate({
      script: ({ tools, lastToolResults: [last] }) => {
        const names = tools.map(({ name }) => name)
        seen.push(names)
        if (last || !names.includes("SearchKnowledge")) return `Found ${last?.text.split("\n")[0] ?? "nothing"}`
        return { parts: [{ toolCall: { name: "SearchKnowledge", args: { query: "31 March" } } }] }
      },
    })
    const withIt = await longhaul(["run", "--json", "--knowledge", "Until when?"])
    // The output of the command, whose shape is tested elsewhere.
    expect((JSON.parse(withIt.stdout) as RunResult).text).toBe("Found handbook/leave.md#carry-over")
    const without = await longhaul(["run", "--json", "Until when?"])
    expect((JSON.parse(without.stdout) as RunResult).text).toBe("Found nothing")
    expect(seen.at(-1)).not.toContain("ReadKnowledge")
    const refused = await longhaul(["run", "--knowledge", "--no-tools", "ReadKnowledge", "--json", "x"])
    expect(refused.code).toBe(0)
    expect(seen.at(-1)).not.toContain("ReadKnowledge")
  })
})
