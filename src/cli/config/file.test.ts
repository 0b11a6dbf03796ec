import { existsSync } from "node:fs"
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { commandLine } from "../../../test/support/command-line.ts"
import type { RunResult } from "../../contract/result.ts"

const { place, longhaul, simulate } = commandLine()

const inWorkspace = (...names: readonly string[]) => join(place.workspace, ...names)

/** A config file at this path below the workspace. */
async function configured(settings: unknown, name = "longhaul.config.json"): Promise<string> {
  const path = inWorkspace(name)
  await mkdir(join(path, ".."), { recursive: true })
  await writeFile(path, typeof settings === "string" ? settings : JSON.stringify(settings))
  return path
}

async function resultOf(args: readonly string[], variables?: Record<string, string>, cwd?: string): Promise<RunResult> {
  return JSON.parse((await longhaul(["run", "--json", ...args], variables, cwd)).stdout)
}

const explored = { script: () => ({ parts: [{ toolCall: { name: "List", args: {} } }] }) }

describe("settings from the config file", () => {
  test("the file sets system prompt, effort, temperature, output length and tools of model requests", async () => {
    await configured(`{
      // Comments and trailing commas are fine.
      "model": "anthropic:from-file", "system": "Speak like a pilot.", "temperature": 0.5, "maxOutputTokens": 2345,
      "allowedTools": ["Read", "List", "Write"], "disabledTools": ["Write"],
    }`)
    const { requests } = await simulate({ script: () => "Aye." })
    expect(await resultOf(["hello"])).toMatchObject({ status: "done", text: "Aye." })
    expect(requests[0]).toMatchObject({
      model: "from-file",
      system: expect.stringContaining("Speak like a pilot."),
      settings: { temperature: 0.5, maxOutputTokens: 2345 },
    })
    expect(requests[0]?.tools.map(({ name }) => name).toSorted()).toEqual(["List", "Read"])

    await configured({ model: "anthropic:from-file", effort: "low" })
    await resultOf(["hello"])
    expect(requests[1]?.settings.effort).toBe("low")
  })

  test("the file sets limits on turns and time, and the handling of unknown prices", async () => {
    await simulate(explored)
    await configured({ limits: { turns: 2 } })
    expect(await resultOf(["Go on"])).toMatchObject({ turns: 2, error: { code: "max_turns" } })
    await configured({ model: "anthropic:no-such-model", limits: { usd: 1, turns: 1 } })
    expect(await resultOf(["Go on"])).toMatchObject({ turns: 0, error: { code: "config_invalid" } })
    const path = await configured({
      model: "anthropic:no-such-model",
      limits: { usd: 1, turns: 1 },
      unknownPrice: "warn",
    })
    expect(await resultOf(["--config", path, "Go on"])).toMatchObject({ turns: 1, error: { code: "max_turns" } })
  })

  test("the file sets workspace and store relative to its folder", async () => {
    await mkdir(inWorkspace("notes"))
    await writeFile(inWorkspace("notes", "moon.txt"), "New moon.\n")
    const path = await configured({ workspace: "notes", store: "./kept", model: "offline" })
    const { stdout, stderr } = await longhaul(["run", "--config", path, "--run-id", "there", "Read moon.txt"])
    expect(stderr).toBe("")
    expect(stdout).toContain("New moon.")
    expect(stdout).toContain(`show there --store ${inWorkspace("kept")}`)
    expect(existsSync(inWorkspace("kept", "workspaces"))).toBe(true)

    expect((await longhaul(["runs", "--config", path])).stdout).toContain("there")
    expect((await longhaul(["show", "there", "--config", path])).stdout).toContain("New moon.")
    expect((await longhaul(["runs", "--no-config"])).stdout).toContain("No runs yet")
  })
})

describe("config file lookup", () => {
  const modelIn = async (cwd: string, ...args: readonly string[]) =>
    (await resultOf([...args, "List"], { ANTHROPIC_API_KEY: "" }, cwd)).error?.message ?? ""

  test("the nearest file upwards is used, but none above the repository", async () => {
    await mkdir(inWorkspace("repo", ".git"), { recursive: true })
    await mkdir(inWorkspace("repo", "a", "b", "c"), { recursive: true })
    await configured({ model: "outer:x" })
    expect((await resultOf(["List"], { ANTHROPIC_API_KEY: "" }, inWorkspace("repo", "a"))).error?.message).toContain(
      "There is no model",
    )
    await configured({ model: "root:x" }, "repo/longhaul.config.json")
    expect(await modelIn(inWorkspace("repo", "a", "b", "c"))).toContain('"root"')
    await configured({ model: "near:x" }, "repo/a/b/longhaul.config.json")
    expect(await modelIn(inWorkspace("repo", "a", "b", "c"))).toContain('"near"')
    expect(await modelIn(inWorkspace("repo", "a"))).toContain('"root"')
    expect(await modelIn(place.workspace)).toContain('"outer"')
  })

  test("the file of --workspace is used, else that of the current folder", async () => {
    await mkdir(inWorkspace("here"))
    await mkdir(inWorkspace("there", ".git"), { recursive: true })
    await configured({ model: "here:x" }, "here/longhaul.config.json")
    expect(await modelIn(inWorkspace("here"), "--workspace", "../there")).toContain('"here"')
    await configured({ model: "there:x" }, "there/longhaul.config.json")
    expect(await modelIn(inWorkspace("here"), "--workspace", "../there")).toContain('"there"')
  })

  test("--config names a file, --no-config disables lookup", async () => {
    await configured({ model: "found:x" })
    const named = await configured({ model: "named:x" }, "other/settings.json")
    expect(await modelIn(place.workspace, "--config", named)).toContain('"named"')
    expect((await resultOf(["--no-config", "List"])).error?.message).toContain("There is no model")
  })

  test("a file above in a world-writable folder is ignored", async () => {
    await mkdir(inWorkspace("open", "mine"), { recursive: true })
    await configured({ model: "planted:x" }, "open/longhaul.config.json")
    expect(await modelIn(inWorkspace("open", "mine"))).toContain('"planted"')
    const { chmod } = await import("node:fs/promises")
    await chmod(inWorkspace("open"), 0o777)
    expect((await resultOf(["List"], { ANTHROPIC_API_KEY: "" }, inWorkspace("open", "mine"))).error?.message).toContain(
      "There is no model",
    )
  })
})

describe("precedence of settings", () => {
  const settings = { model: "file:x", store: "store-file", limits: { turns: 3 }, workspace: "work" }
  const configuredOutside = async (kept = settings) => {
    await mkdir(inWorkspace("work"), { recursive: true })
    await configured(kept)
  }

  test("the model is taken from the option, then LONGHAUL_MODEL, then the file, then the key", async () => {
    await configuredOutside()
    const message = async (args: readonly string[], variables: Record<string, string>) =>
      (await resultOf([...args, "List"], variables)).error?.message
    const all = { LONGHAUL_MODEL: "environment:x", ANTHROPIC_API_KEY: "key" }
    expect(await message(["--model", "option:x"], all)).toContain('"option"')
    expect(await message([], all)).toContain('"environment"')
    expect(await message([], { ANTHROPIC_API_KEY: "key" })).toContain('"file"')
  })

  test("the turns are taken from the option, then LONGHAUL_MAX_TURNS, then the file", async () => {
    await simulate(explored)
    await configuredOutside({ ...settings, model: "anthropic:x" })
    const turns = async (args: readonly string[], variables: Record<string, string>) =>
      (await resultOf([...args, "Go on"], variables)).turns
    expect(await turns(["--max-turns", "1"], { LONGHAUL_MAX_TURNS: "2" })).toBe(1)
    expect(await turns([], { LONGHAUL_MAX_TURNS: "2" })).toBe(2)
    expect(await turns([], {})).toBe(3)
    const { code, stderr } = await longhaul(["run", "Go on"], { LONGHAUL_MAX_TURNS: "many" })
    expect(code).toBe(2)
    expect(stderr).toContain("Use a whole number from 1")
  })

  test("the store is taken from the option, then LONGHAUL_STORE, then the file", async () => {
    await configuredOutside({ ...settings, model: "offline" })
    const journal = async (args: readonly string[], variables: Record<string, string>) =>
      (await resultOf([...args, "List"], variables)).transcript.path
    const environment = { LONGHAUL_STORE: inWorkspace("store-environment") }
    expect(await journal(["--store", "store-option"], environment)).toContain(inWorkspace("store-option"))
    expect(await journal([], environment)).toContain(inWorkspace("store-environment"))
    expect(await journal(["--config", inWorkspace("longhaul.config.json")], {})).toContain(inWorkspace("store-file"))
    expect(await journal([], {})).toContain(join(place.home, "state", "longhaul"))
  })

  test("the workspace and the system prompt are taken from the option, then the file", async () => {
    const { requests } = await simulate({ script: () => "Yes." })
    await mkdir(inWorkspace("work", "deeper"), { recursive: true })
    await configured({ workspace: "work", system: "From the file." })
    await resultOf(["--run-id", "one", "--workspace", "work/deeper", "--system", "From the option.", "hi"])
    expect(requests[0]?.system).toContain("From the option.")
    expect((await longhaul(["show", "one"])).stdout).toContain(inWorkspace("work", "deeper"))
  })

  test("--read-only removes Write from the tools that the file allows", async () => {
    await configured({ model: "offline", allowedTools: ["Read", "List", "Grep", "Write"] })
    await longhaul(["run", "--read-only", "List the files and write report.md"])
    expect(existsSync(inWorkspace("report.md"))).toBe(false)
  })
})

describe("a config file that is a program", () => {
  const program = (body: string) => `
    import { writeFileSync } from "node:fs"
    writeFileSync("it-ran", "")
    export default { ${body} }`

  test("an auto-discovered program is not run; one line says so and how to run it", async () => {
    const path = await configured(program('model: "offline"'), "longhaul.config.js")
    for (const args of [["run", "--model", "offline", "List"], ["runs"]]) {
      const { code, stderr } = await longhaul(args)
      expect(code).toBe(0)
      expect(stderr).toBe(`Not loaded: ${path} is a program. If you trust it, use --config ${path}\n`)
    }
    expect((await longhaul(["runs", "--no-config"])).stderr).toBe("")
    expect(existsSync(inWorkspace("it-ran"))).toBe(false)
  })

  test("a named program is run and adds a tool, a hook, an observer and prices", async () => {
    const path = await configured(
      program(`
        tools: [{
          name: "tide", description: "Says when high water is.", inputSchema: { type: "object" },
          effect: "once", concurrent: false, risk: "low", run: () => "at 04:17",
        }],
        hooks: { postRun() { writeFileSync("hooked", "") } },
        observers: [{ recordEvent() { writeFileSync("observed", "") } }],
        resolvePricing: () => ({ input: 1_000_000, output: 1_000_000 }),
        model: "anthropic:priced",`),
      "longhaul.config.js",
    )
    const { requests } = await simulate({
      script: ({ lastToolResults: [tide] }) => tide?.text ?? { parts: [{ toolCall: { name: "tide", args: {} } }] },
    })
    const { code, stdout, stderr } = await longhaul(["run", "--json", "--config", path, "When?"])
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const result = JSON.parse(stdout) as RunResult
    expect(result).toMatchObject({ text: "at 04:17", toolCalls: [{ name: "tide", status: "ok" }] })
    expect(result.usage.costUsd).toBeGreaterThan(1)
    expect(["it-ran", "hooked", "observed"].map((name) => existsSync(inWorkspace(name)))).toEqual([true, true, true])
    expect(requests[0]?.tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["Read", "Write", "tide"]))

    await resultOf(["--config", path, "--read-only", "When?"])
    const offered = requests.at(-1)?.tools.map(({ name }) => name)
    expect(offered).toContain("Read")
    expect(offered).not.toContain("tide")
    expect(offered).not.toContain("Write")
  })

  test.each([
    ["export default 5", "does not contain an object"],
    ["export const model = 1", "has no default export"],
    ["throw new Error('no harbour')", "Could not load"],
    ["export default { tools: [1] }", "invalid value for tools: [1]"],
  ])('the program "%s" is rejected with the reason', async (text, message) => {
    const path = await configured(text, "mine.config.mjs")
    const { code, stderr } = await longhaul(["run", "--config", path, "hi"])
    expect(code).toBe(2)
    expect(stderr).toContain(path)
    expect(stderr).toContain(message)
    expect(stderr).toMatch(/^fix: .+/m)
  })
})

describe("invalid settings", () => {
  test.each([
    ['{\n"model": "offline"\n"system": ""}', "longhaul.config.json, line 3: a comma or } is missing.", "Write JSON"],
    ['{"apiKey": "sk-hunter2"}', '"apiKey" looks like a secret', "in the environment"],
    ['{"apiKey": "sk-hunter2" "x"}', "line 1: a comma or } is missing", "Write JSON"],
    ['{"tools": []}', '"tools" is code', "--config"],
    ['{"modle": "x"}', 'unknown key "modle"', "Did you mean model?"],
    ['{"limits": {"turns": 0}}', "invalid value for limits.turns: 0", "a whole number from 1"],
    ['{"workspace": "nowhere"}', "which does not exist", "Create it"],
    ['{"workspace": ".."}', "outside the folder of the file", "--config"],
    ['{"workspace": "/"}', "outside the folder of the file", "--config"],
    ['{"workspace": "escape"}', "outside the folder of the file", "--config"],
    ['{"model": "nosuch:x"}', "longhaul.config.json", "Known providers"],
    ['{"allowedTools": ["Reed"]}', "longhaul.config.json", "Use any of: Read"],
  ])("%s is rejected with the file and a fix, as text and as JSON", async (text, message, fix) => {
    await symlink("/", inWorkspace("escape"))
    const path = await configured(text)
    const { stdout, stderr, code } = await longhaul(["run", "hi"])
    expect({ stdout, failed: code === 1 || code === 2 }).toEqual({ stdout: "", failed: true })
    const [error = "", advice = ""] = stderr.split("\n")
    expect(error).toContain(path)
    expect(error).toContain(message)
    expect(advice).toMatch(/^fix: /)
    expect(advice).toContain(fix)
    expect(stderr).not.toContain("hunter2")
    const result = await resultOf(["hi"])
    expect(result).toMatchObject({ status: "failed", error: { code: "config_invalid" } })
    expect(result.error?.message).toContain(path)
  })

  test("a named file may set a workspace elsewhere", async () => {
    await mkdir(inWorkspace("settings"))
    const path = await configured({ workspace: "..", model: "offline" }, "settings/mine.json")
    expect(await resultOf(["--config", path, "Read tide.txt"])).toMatchObject({
      status: "done",
      text: expect.stringContaining("04:17"),
    })
  })

  test.each([
    [["--config", "nowhere.json"], "Config file not found"],
    [["--config", "nowhere.js"], "Config file not found"],
    [["--config", "."], "Could not read the config file"],
    [["--config", "x.json", "--no-config"], "cannot be combined"],
  ])("%j is a usage error", async (args, message) => {
    for (const command of [["run", "hi"], ["runs"], ["show", "x"]]) {
      const { code, stderr } = await longhaul([...command, ...args])
      expect(code).toBe(2)
      expect(stderr).toContain(message)
    }
  })
})

test("tools cannot read or change the config file", async () => {
  const path = await configured({ model: "offline" })
  await longhaul(["run", "Write a report to longhaul.config.json"])
  expect(await readFile(path, "utf8")).toBe('{"model":"offline"}')
})
