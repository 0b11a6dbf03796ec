import { execFile, spawnSync } from "node:child_process"
import { mkdir, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { beforeAll, beforeEach, describe, expect, test } from "vitest"
import { commandLine } from "../../test/support/command-line.ts"
import type { Command } from "./arguments.ts"
import { commands } from "./commands.ts"

const { place, longhaul } = commandLine()
const main = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url))

let table: readonly (readonly [string, Command])[]
beforeAll(async () => {
  table = await Promise.all(
    Object.entries(commands).map(async ([name, { load }]) => [name, (await load()).command] as const),
  )
})

let bin: string
beforeEach(async () => {
  bin = join(place.home, "bin")
  await mkdir(bin)
  await symlink(main, join(bin, "longhaul"))
})

const scriptFor = async (shell: string) => (await longhaul(["completion", shell])).stdout

/** Bash's completions for the last of these words, with the script loaded as users load it. */
async function offered(...words: readonly string[]): Promise<readonly string[]> {
  const program = `
    eval "$(longhaul completion bash)"
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
    [[ $(complete -p longhaul) == "complete -F _longhaul longhaul" ]] || exit 1
    _longhaul longhaul "\${COMP_WORDS[COMP_CWORD]}" "\${COMP_WORDS[COMP_CWORD - 1]}"
    printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, stderr } = await promisify(execFile)(
    "bash",
    ["--norc", "-uc", program, "bash", "longhaul", ...words],
    {
      cwd: place.workspace,
      env: { PATH: `${bin}:${process.env.PATH}`, HOME: place.home, XDG_STATE_HOME: join(place.home, "state") },
    },
  )
  expect(stderr).toBe("")
  return stdout.split("\n").filter((line) => line !== "")
}

describe("bash completion", () => {
  test("bash completes the commands", async () => {
    expect(await offered("")).toEqual([...Object.keys(commands), "help", "--help", "--version"])
    expect(await offered("ru")).toEqual(["run", "runs"])
    expect(await offered("--v")).toEqual(["--version"])
    expect(await offered("help", "sim")).toEqual(["simulate"])
  })

  test("bash completes the options of each command", async () => {
    for (const [name, { options }] of table) {
      const flags = Object.keys(options).map((option) => `--${option}`)
      expect(await offered(name, "--")).toEqual(flags)
    }
    expect(await offered("run", "--m")).toEqual(expect.arrayContaining(["--model", "--max-turns"]))
    expect(await offered("nonsense", "--")).toEqual([])
  })

  test("bash completes fixed values, folders and files, and nothing for free text", async () => {
    await mkdir(join(place.workspace, "a folder"))
    await writeFile(join(place.workspace, "a file.json"), "{}")
    expect(await offered("simulate", "--fault", "4")).toEqual(["401", "429"])
    expect(await offered("simulate", "--fault", "=", "re")).toEqual(["reset"])
    expect(await offered("simulate", "--fault", "=")).toContain("stall")
    expect(await offered("run", "--workspace", "a")).toEqual(["a folder"])
    expect((await offered("run", "--config", "a")).toSorted()).toEqual(["a file.json", "a folder"])
    expect(await offered("run", "--model", "")).toEqual([])
    expect(await offered("completion", "")).toEqual(["bash", "zsh", "fish"])
    expect(await offered("init", "a")).toEqual(["a folder"])
    expect(await offered("run", "--", "--")).toEqual([])
  })

  test("bash completes run ids from the named store", async () => {
    const store = join(place.home, "other store")
    await longhaul(["run", "--model", "offline", "--run-id", "here-1", 'Say "runId":"not-one" and $(touch gone)'])
    await longhaul(["run", "--model", "offline", "--run-id", "here-2", "List"])
    await longhaul(["run", "--model", "offline", "--run-id", "there-1", "--store", store, "List"])
    expect((await offered("show", "")).toSorted()).toEqual(["here-1", "here-2"])
    expect(await offered("show", "here-2")).toEqual(["here-2"])
    expect(await offered("show", "--store", store, "")).toEqual(["there-1"])
    expect(await offered("show", "--store", "=", store, "")).toEqual(["there-1"])
    expect(await offered("show", "--e")).toEqual(["--events"])
  })
})

const installed = ["zsh", "fish"].filter((shell) => spawnSync(shell, ["-c", ":"]).error === undefined)

test.each(["bash", ...installed])("%s accepts its completion script", async (shell) => {
  const { status, stderr } = spawnSync(shell, ["-n"], { input: await scriptFor(shell), encoding: "utf8" })
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
})

test.each(["bash", "zsh", "fish"])(
  "the script for %s has balanced quotes and brackets and asks for 20 runs",
  async (shell) => {
    const script = await scriptFor(shell)
    expect(script).toContain("runs --json --limit 20")
    const code = script.replaceAll(/^#.*$/gm, "").replaceAll(shell === "fish" ? /\\'/g : /'\\''/g, "")
    expect((code.match(/'/g) ?? []).length % 2).toBe(0)
    const bare = code.replaceAll(/'[^']*'/g, "")
    expect((bare.match(/"/g) ?? []).length % 2).toBe(0)
    // The branches of a case have only closing brackets.
    const pairs = shell === "fish" ? ["{}", "[]", "()"] : ["{}", "[]"]
    for (const [open = "", close = ""] of pairs) expect(bare.split(open).length).toBe(bare.split(close).length)
  },
)

/** The lines about one command. */
const part: Readonly<Record<string, (script: string, name: string) => string>> = {
  zsh: (script, name) => new RegExp(`^    ${name}\\)\\n([\\s\\S]*?);;$`, "m").exec(script)?.[1] ?? "",
  fish: (script, name) =>
    script
      .split("\n")
      .filter((line) => line.includes(`'__longhaul_uses ${name}'`))
      .join("\n"),
}

test.each(["zsh", "fish"])(
  "the script for %s contains every command, option, fixed value and argument kind",
  async (shell) => {
    const script = await scriptFor(shell)
    for (const [name, { options, completes }] of table) {
      expect(script).toMatch(shell === "zsh" ? new RegExp(`^    '${name}:`, "m") : ` -a ${name} -d '`)
      const lines = part[shell]?.(script, name) ?? ""
      for (const [option, { type, short, value, values }] of Object.entries(options)) {
        const line = lines
          .split("\n")
          .find((each) => new RegExp(shell === "zsh" ? `--${option}[=[}]` : ` -l ${option} `).test(each))
        expect(line, `${name} --${option}`).toBeDefined()
        const takesValue = shell === "zsh" ? new RegExp(`--${option}=\\[`) : / -[xr] /
        expect(takesValue.test(line ?? ""), `${name} --${option}`).toBe(type === "string")
        if (short) expect(line).toContain(shell === "zsh" ? `{-${short},` : ` -s ${short} `)
        if (values) expect(line).toContain(values.join(" "))
        if (value === "<dir>") expect(line).toContain(shell === "zsh" ? ":_files -/'" : "__fish_complete_directories")
        if (value === "<file>") expect(line).toContain(shell === "zsh" ? ":_files'" : " -r -F ")
      }
      if (completes === "runId") expect(lines).toContain("_longhaul_runs")
      else if (completes === "folder") expect(lines).toMatch(shell === "zsh" ? "'1:argument:_files -/'" : "directories")
      else if (completes) expect(lines).toContain(completes.join(" "))
    }
  },
)

test("an unknown shell and a missing one are usage errors", async () => {
  expect(await longhaul(["completion", "csh"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("bash, zsh, fish"),
  })
  expect(await longhaul(["completion"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Missing argument for completion: shell"),
  })
})
