import { mkdir, readdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { commandLine } from "../../test/support/command-line.ts"

const cli = commandLine()

async function put(folder: string, path: string, text: string): Promise<void> {
  await mkdir(join(folder, path, ".."), { recursive: true })
  await writeFile(join(folder, path), text)
}

const skill = (name: string, description: string) =>
  `---\nname: ${name}\ndescription: ${description}\n---\nBody of ${name}.\n`

/** Names and instructions of the extensions that a run recorded. */
async function recorded(runId: string) {
  const { stdout } = await cli.longhaul(["logs", "--json", runId])
  const records = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
  return records.flatMap(({ type, extensions }) => (type === "extensions" ? extensions : []))
}

describe("skills", () => {
  test("skills list and show print those of the workspace before those of the home", async () => {
    const { home, workspace } = cli.place
    await put(workspace, ".agents/skills/greet/SKILL.md", skill("greet", "Says hello."))
    await put(workspace, ".agents/skills/bad/SKILL.md", "no description")
    await put(home, ".claude/skills/greet/SKILL.md", skill("greet", "Of the home."))
    await put(home, ".longhaul/skills/own/SKILL.md", skill("own", "Of the user."))
    const { code, stdout, stderr } = await cli.longhaul(["skills", "list", "--json"])
    expect(code).toBe(0)
    expect(JSON.parse(stdout).skills).toEqual([
      { name: "greet", description: "Says hello.", source: ".agents/skills/greet" },
      { name: "own", description: "Of the user.", source: "~/.longhaul/skills/own" },
    ])
    expect(stderr).toContain("The skill in .agents/skills/bad is left out")
    expect((await cli.longhaul(["skills", "show", "greet"])).stdout).toContain("Body of greet.")
    expect(await cli.longhaul(["skills", "show", "gret"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("greet"),
    })
    expect(await cli.longhaul(["skills", "install"])).toMatchObject({ code: 2 })
  })

  test("skills are offered with --skills only: a found config file cannot trust a workspace", async () => {
    const { workspace } = cli.place
    await put(workspace, ".agents/skills/greet/SKILL.md", skill("greet", "Says hello."))
    await put(workspace, "longhaul.config.json", '{ "skills": true, "memory": "read-write" }')
    const run = (id: string, ...more: string[]) =>
      cli.longhaul(["run", "--run-id", id, "--model", "offline", ...more, "List"])
    const found = await run("found")
    expect(found.stderr).toContain("Ignored: skills in")
    expect(found.stderr).toContain("Ignored: memory in")
    await run("asked", "--skills", "--no-config")
    const names = async (id: string) => (await recorded(id)).map(({ name }: { name: string }) => name)
    expect(await names("found")).toEqual(["agents-md"])
    expect(await names("asked")).toEqual(["agents-md", "skills"])
    expect((await recorded("asked"))[1].instructions).toContain("- greet: Says hello.")
  })
})

test("AGENTS.md is given to a run, unless --no-agents-md", async () => {
  await put(cli.place.workspace, "AGENTS.md", "Write in verse.")
  await cli.longhaul(["run", "--run-id", "a", "--model", "offline", "List"])
  await cli.longhaul(["run", "--run-id", "b", "--model", "offline", "--no-agents-md", "List"])
  expect((await recorded("a"))[0].instructions).toContain("Write in verse.")
  expect(await recorded("b")).toEqual([])
})

describe("memory", () => {
  test("memory add, list and show use a memory of their own in each folder, and runs have it with --memory", async () => {
    const { workspace } = cli.place
    const added = await cli.longhaul(["memory", "add", "--json", "--kind", "rule", "Never", "push", "to", "main."])
    const { id } = JSON.parse(added.stdout)
    expect((await cli.longhaul(["memory", "show", id.slice(0, 6)])).stdout).toContain("Never push to main.")
    const corrected = await cli.longhaul(["memory", "add", "--kind", "rule", "--replaces", id, "Never push."])
    expect(corrected).toMatchObject({ code: 0 })
    const { items } = JSON.parse((await cli.longhaul(["memory", "list", "--json"])).stdout)
    expect(items).toMatchObject([{ kind: "rule", text: "Never push.", replaces: id }])
    await mkdir(join(workspace, "sub"))
    const other = await cli.longhaul(["memory", "list", "--workspace", "sub", "--json"])
    expect(JSON.parse(other.stdout).items).toEqual([])
    await cli.longhaul(["run", "--run-id", "r", "--model", "offline", "--memory", "read-write", "List the files"])
    const run = (await recorded("r")).find(({ name }: { name: string }) => name === "memory")
    expect(run).toMatchObject({ instructions: expect.stringContaining("Never push."), facts: { mode: "read-write" } })
    const { episodes } = JSON.parse((await cli.longhaul(["memory", "list", "--json"])).stdout)
    expect(episodes).toMatchObject([{ runId: "r", status: "done", task: "List the files" }])
    expect(await cli.longhaul(["memory", "rm", items[0].id])).toMatchObject({ code: 0 })
    const left = JSON.parse((await cli.longhaul(["memory", "list", "--json"])).stdout)
    // It no longer replaces the item that it corrected.
    expect(left.items).toMatchObject([{ id, text: "Never push to main." }])
    // Nothing is kept in the workspace itself.
    expect(await readdir(workspace)).not.toContain(".longhaul")
  })

  test.each([
    [["memory", "add"], "Missing text"],
    [["memory", "add", "--kind", "law", "x"], "--kind"],
    [["memory", "show"], "Missing id"],
    [["memory", "rm"], "Missing id"],
    [["memory", "rm", "nothing"], "There is no item"],
    [["memory", "show", "nothing"], "There is no item"],
    [["memory", "forget"], "Unexpected argument"],
    [["run", "--memory", "on", "x"], "--memory"],
  ])("%j is a usage error", async (args, message) => {
    expect(await cli.longhaul(args)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
  })
})
