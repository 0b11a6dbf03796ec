import { execFile } from "node:child_process"
import { lstatSync, readdirSync, readFileSync } from "node:fs"
import { mkdir, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { describe, expect, test } from "vitest"
import { commandLine } from "../../test/support/command-line.ts"
import { parseJsonWithComments } from "../hosts/node/json-with-comments.ts"
import { checkSettings } from "./config/settings.ts"

const { place, longhaul, json } = commandLine()
const repository = fileURLToPath(new URL("../..", import.meta.url))
const read = (...names: readonly string[]) => readFileSync(join(place.workspace, ...names), "utf8")

describe("init in an empty folder", () => {
  test("init writes a working config file and a working example program", async () => {
    const { code, stdout, stderr } = await longhaul(["init"])
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toMatch(/^wrote +longhaul\.config\.json\nwrote +longhaul-example\.mjs\nnext .* run "/)

    const run = await longhaul(["run", "--model", "offline", "Read tide.txt"])
    expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 0, stderr: "" })
    expect(run.stdout).toContain("High water is at 04:17.")

    await mkdir(join(place.workspace, "node_modules"))
    await symlink(repository, join(place.workspace, "node_modules", "longhaul"))
    const env = { HOME: place.home, PATH: process.env.PATH }
    const example = await promisify(execFile)(process.execPath, ["longhaul-example.mjs"], { cwd: place.workspace, env })
    expect(example.stderr).toBe("")
    expect(example.stdout).toMatch(/^done on offline after 2 turns\n/)
    expect(example.stdout).toContain("south: the tug Badger")
    const runId = /show (run_\S+)/.exec(example.stdout)?.[1] ?? ""
    const shown = await longhaul(["show", runId], { XDG_STATE_HOME: join(place.home, ".local", "state") })
    expect(shown.stdout).toContain("✓ List")
  })

  test("the config file contains every setting with a comment, and commented-out settings are valid", async () => {
    await longhaul(["init"])
    const text = read("longhaul.config.json")
    const everything = text.replaceAll(/^( *)\/\/ (?=")/gm, "$1")
    const settings = checkSettings("/x/longhaul.config.json", parseJsonWithComments(everything), { isProgram: false })
    expect(Object.keys(settings).toSorted()).toEqual([
      "agentsMd",
      "allowedTools",
      "disabledTools",
      "effort",
      "limits",
      "maxOutputTokens",
      "memory",
      "model",
      "skills",
      "store",
      "system",
      "temperature",
      "unknownPrice",
      "workspace",
    ])
    expect(Object.keys(settings.limits ?? {})).toEqual(["turns", "tokens", "usd", "timeMs"])
    const lines = everything.split("\n")
    const keys = lines.flatMap((line, index) => (/^ +"\w+":/.test(line) ? [index] : []))
    for (const index of keys) expect(lines[index - 1]).toMatch(/^ +\/\/ .+\.$/)
  })

  test("init writes to the named folder and creates it if needed", async () => {
    const { stdout } = await longhaul(["init", "new/place"])
    expect(stdout).toContain("cd new/place")
    expect(readdirSync(join(place.workspace, "new", "place")).toSorted()).toEqual([
      "longhaul-example.mjs",
      "longhaul.config.json",
    ])
  })

  test("init --json lists written and overwritten files", async () => {
    const written = ["longhaul.config.json", "longhaul-example.mjs"]
    expect(await json(["init", "--json"])).toEqual({ folder: place.workspace, written, overwritten: [] })
    expect(await json(["init", "--json", "--force"])).toEqual({
      folder: place.workspace,
      written,
      overwritten: written,
    })
  })
})

describe("init with existing files", () => {
  test("existing files are kept, and nothing else is written", async () => {
    await writeFile(join(place.workspace, "longhaul-example.mjs"), "mine")
    const { code, stdout, stderr } = await longhaul(["init"])
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
    expect(stderr).toMatch(
      /^error config_invalid: longhaul-example\.mjs is already in .*; nothing was written\.\nfix: .*--force/,
    )
    expect(read("longhaul-example.mjs")).toBe("mine")
    expect(readdirSync(place.workspace)).not.toContain("longhaul.config.json")
    expect(await json(["init", "--json"])).toMatchObject({ error: { code: "config_invalid" } })
  })

  test("--force overwrites files; a link is replaced, not followed", async () => {
    await symlink("tide.txt", join(place.workspace, "longhaul.config.json"))
    const { code, stdout } = await longhaul(["init", "--force"])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^replaced longhaul\.config\.json\nwrote +longhaul-example/)
    expect(read("tide.txt")).toBe("High water is at 04:17.\n")
    expect(lstatSync(join(place.workspace, "longhaul.config.json")).isFile()).toBe(true)
  })

  test("a path that is blocked by a file is an error", async () => {
    const { code, stderr } = await longhaul(["init", "tide.txt"])
    expect(code).toBe(1)
    expect(stderr).toMatch(/Could not write the files in .*tide\.txt: \w+\.\nfix: /)
    expect((await longhaul(["init", "a", "b"])).code).toBe(2)
  })
})
