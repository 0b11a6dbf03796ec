import { existsSync } from "node:fs"
import { mkdir, rm, symlink, writeFile } from "node:fs/promises"
import { join, relative } from "node:path"
import { describe, expect, test } from "vitest"
import { commandLine } from "../../../test/support/command-line.ts"
import { countAttacks } from "../../../test/support/count-attacks.ts"
import type { JsonObject } from "../../contract/json.ts"
import type { RunResult } from "../../contract/result.ts"

countAttacks("configs in a repository")

const { place, longhaul, simulate } = commandLine()

const inRepository = (...names: readonly string[]) => join(place.workspace, ...names)
const bash = (command: string) => ({ parts: [{ toolCall: { name: "Bash", args: { command } } }] })

const configured = (settings: JsonObject, folder = ".") =>
  writeFile(inRepository(folder, "longhaul.config.json"), JSON.stringify(settings))

/** Requests one command whenever it can, as any manipulated model might. */
const obedient = {
  script: ({ lastToolResults }: { readonly lastToolResults: readonly unknown[] }) =>
    lastToolResults.length > 0 ? "Done." : bash(`touch ${inRepository("it-ran")}`),
}

/** A run recorded by the attacker, with Bash, without a sandbox, in a store inside the repository. */
async function forgedRun(...options: readonly string[]): Promise<void> {
  await simulate(obedient)
  await mkdir(inRepository("work"))
  const store = ["--store", inRepository("runs"), "--workspace", inRepository("work")]
  const guard = ["--bash", "--sandbox", "off", ...options]
  await longhaul(["run", "--run-id", "forged", ...store, ...guard, "--model", "anthropic:x", "Go"], {
    XDG_STATE_HOME: join(place.home, "attacker"),
  })
  await rm(inRepository("it-ran"), { force: true })
}

describe("a store in a repository, named by the repository's config file", () => {
  const attacks: readonly (readonly string[])[] = [
    ["resume", "forged", "--answer", "go on"],
    ["resume", "forged", "--takeover"],
    ["approve", "forged", "--yes"],
    ["reject", "forged"],
    ["recover"],
    ["cancel", "forged"],
    ["rm", "forged"],
    ["fork", "forged"],
    ["replay", "forged"],
    ["show", "forged"],
  ]

  test("no command uses the store, and one line says so", async () => {
    await forgedRun("--ask", "Bash")
    const spellings = [
      "./runs",
      inRepository("runs"),
      `~/state/longhaul/../../${relative(place.home, place.workspace)}/runs`,
    ]
    for (const [index, attack] of attacks.entries()) {
      await configured({ store: spellings[index % spellings.length] ?? "" })
      const { stderr, stdout } = await longhaul(attack)
      expect([attack, stderr]).toEqual([attack, expect.stringMatching(/^Ignored: store in .+ outside your state/)])
      expect(stderr.match(/Ignored/g)).toHaveLength(1)
      expect(attack[0] === "recover" ? stdout : stderr).toMatch(/No run has lost|Run "forged" was not found/)
    }
    await longhaul(["run", "--run-id", "mine", "--workspace", "work", "--model", "offline", "List"])
    await longhaul(["chat", "--workspace", "work", "--model", "offline", "List"])
    expect(existsSync(inRepository("runs/workspaces/default/.longhaul/projects/mine"))).toBe(false)
    expect((await longhaul(["doctor", "--json"])).stdout).toContain(join(place.home, "state", "longhaul"))
    expect(existsSync(inRepository("it-ran"))).toBe(false)
  })

  test("a run is not continued if only --config names its store; --store and LONGHAUL_STORE allow it", async () => {
    await forgedRun("--ask", "Bash")
    await configured({ store: "./runs" })
    const named = ["--config", inRepository("longhaul.config.json")]
    for (const attack of attacks.slice(0, 5)) {
      const { code, stderr } = await longhaul([...attack, ...named])
      expect([attack, code]).toEqual([attack, 1])
      expect(stderr).toContain(`fix: If you trust its runs, add: --store ${inRepository("runs")}`)
    }
    expect(existsSync(inRepository("it-ran"))).toBe(false)
    const { code } = await longhaul(["approve", "forged", "--yes", "--store", inRepository("runs")])
    expect([code, existsSync(inRepository("it-ran"))]).toEqual([0, true])
    const again = await longhaul(["resume", "forged", "--answer", "x"], { LONGHAUL_STORE: inRepository("runs") })
    expect(again.stderr).not.toMatch(/Not used|Nothing was done/)
  })

  test("a store inside the user's state folder is used, also through a link", async () => {
    await mkdir(inRepository("work"))
    await mkdir(join(place.home, "state", "longhaul"), { recursive: true })
    await symlink(join(place.home, "state", "longhaul"), inRepository("link"))
    const own = join(place.home, "state", "longhaul", "project")
    for (const [index, store] of [own, inRepository("link", "project")].entries()) {
      await configured({ store, workspace: "work", model: "offline" })
      const { stderr } = await longhaul(["run", "--run-id", `run-${index}`, "List"])
      expect(stderr).not.toContain("Ignored")
      expect(existsSync(join(own, `workspaces/default/.longhaul/projects/run-${index}`))).toBe(true)
    }
  })
})

describe("an auto-discovered config file", () => {
  test("an auto-discovered file cannot remove limits: unknown prices and more than the default turns are ignored", async () => {
    await simulate({ script: () => ({ parts: [{ toolCall: { name: "List", args: {} } }] }) })
    await configured({ model: "anthropic:no-such-model", unknownPrice: "warn", limits: { turns: 100_000 } })
    const { stdout, stderr } = await longhaul(["run", "--json", "--max-cost", "1", "Go"])
    expect(stderr).toContain("Ignored: unknownPrice in")
    expect(stderr).toContain("Ignored: limits.turns in")
    expect(JSON.parse(stdout) as RunResult).toMatchObject({ turns: 0, error: { code: "config_invalid" } })
    const free = await longhaul(["run", "--json", "Go"])
    expect(JSON.parse(free.stdout) as RunResult).toMatchObject({ turns: 100, error: { code: "max_turns" } })
  })

  test.each(["bash", "sandbox", "ask", "baseUrl", "webhook", "roots", "readOnlyRoots", "env", "fetch"])(
    "an auto-discovered file cannot set %s",
    async (key) => {
      await configured({ [key]: "x" })
      expect((await longhaul(["run", "List"])).stderr).toContain(`unknown key "${key}"`)
    },
  )
})
