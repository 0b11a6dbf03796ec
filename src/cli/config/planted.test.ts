import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { commandLine } from "../../../test/support/command-line.ts"
import { countAttacks } from "../../../test/support/count-attacks.ts"
import { attemptsToPlant } from "../../../test/support/planted-files.ts"
import type { JsonObject } from "../../contract/json.ts"

countAttacks("planted configs")

const { place, longhaul, simulate } = commandLine()

const inRepository = (...names: readonly string[]) => join(place.workspace, ...names)
const bash = (command: string) => ({ parts: [{ toolCall: { name: "Bash", args: { command } } }] })
const configured = (settings: JsonObject) => writeFile(inRepository("longhaul.config.json"), JSON.stringify(settings))

describe("a config file planted by a command", () => {
  test.each(attemptsToPlant)("a planted file refuses a later run: %s", async (_, line, folder) => {
    const simulator = await simulate({
      script: ({ lastToolResults }) => (lastToolResults.length > 0 ? "Done." : bash(line)),
    })
    await mkdir(inRepository("sub"))
    await configured({ system: "Kept by the user." })
    await longhaul(["run", "--bash", "--model", "anthropic:x", "Go"])
    const requests = simulator.requests.length
    for (const args of [[], ["--workspace", inRepository(folder)]]) {
      const later = await longhaul(["run", "--model", "anthropic:x", ...args, "Go"], {}, inRepository(folder))
      expect(later.code).toBe(2)
      expect(later.stderr).toMatch(/in a folder where commands ran.+\n.*--config .+--no-config/)
    }
    expect(simulator.requests).toHaveLength(requests)
    for (const { system } of simulator.requests) expect(system).toContain("Kept by the user.")
    const without = await longhaul(["run", "--model", "anthropic:x", "--no-config", "Go"], {}, inRepository(folder))
    expect(without.code).toBe(0)
    expect((await longhaul(["runs"], {}, inRepository(folder))).code).toBe(0)
  })

  test("a planted file is used once the user names it, until it changes again; an earlier file stays in use", async () => {
    const simulator = await simulate({
      script: ({ lastToolResults }) => (lastToolResults.length > 0 ? "Done." : bash("true")),
    })
    const lastSystem = async (...args: readonly string[]) => {
      const { code } = await longhaul(["run", "--model", "anthropic:x", ...args, "Go"])
      return code === 2 ? "refused" : (simulator.requests.at(-1)?.system ?? "")
    }
    await configured({ system: "Version one." })
    await longhaul(["run", "--bash", "--model", "anthropic:x", "Go"])
    expect(await lastSystem()).toContain("Version one.")
    await configured({ system: "Version two." })
    expect(await lastSystem()).toBe("refused")
    expect(await lastSystem("--config", "longhaul.config.json")).toContain("Version two.")
    expect(await lastSystem()).toContain("Version two.")
    await configured({ system: "Version three." })
    expect(await lastSystem()).toBe("refused")
    await configured({ system: "Version one." })
    expect(await lastSystem()).toContain("Version one.")
  })
})

describe.each([
  ["is removed", "rm"],
  ["is moved", "mv -t sub"],
])("a file that %s by a command", (_, remove) => {
  test("a config that is gone refuses a later run, until the user does without it", async () => {
    const simulator = await simulate({
      script: ({ lastToolResults }) =>
        lastToolResults.length > 0 ? "Done." : bash(`mkdir -p sub; ${remove} longhaul.config.json; true`),
    })
    const later = (...args: readonly string[]) => longhaul(["run", "--model", "anthropic:x", ...args, "Go"])
    await configured({ disabledTools: ["Write"] })
    expect((await longhaul(["run", "--bash", "--model", "anthropic:x", "Go"])).code).toBe(0)
    const requests = simulator.requests.length
    for (let time = 0; time < 2; time++) {
      const { code, stderr } = await later()
      expect(code).toBe(2)
      expect(stderr).toMatch(/longhaul\.config\.json is missing from a folder where commands ran.+\n.*--no-config/)
    }
    expect(simulator.requests).toHaveLength(requests)
    expect((await longhaul(["runs"])).code).toBe(0)
    expect((await later("--no-config")).code).toBe(0)
    expect((await later()).code).toBe(0)
    await configured({ disabledTools: ["Write"] })
    expect((await later()).code).toBe(0)
  })

  test("a policy that is gone refuses a later run, until the user names another one", async () => {
    const simulator = await simulate({
      script: ({ lastToolResults }) =>
        lastToolResults.length > 0 ? "Done." : bash(`mkdir -p sub; ${remove} longhaul.policy.yaml; true`),
    })
    const later = (...args: readonly string[]) => longhaul(["run", "--model", "anthropic:x", ...args, "Go"])
    await writeFile(inRepository("longhaul.policy.yaml"), "rules:\n  - deny: { tool: Write }\n")
    expect((await longhaul(["run", "--bash", "--model", "anthropic:x", "Go"])).code).toBe(0)
    const requests = simulator.requests.length
    const { code, stderr } = await later()
    expect(code).toBe(1)
    expect(stderr).toContain("longhaul.policy.yaml is missing from a folder where commands ran")
    expect(simulator.requests).toHaveLength(requests)
    await writeFile(inRepository("longhaul.policy.mine.yaml"), "rules:\n  - deny: { tool: Edit }\n")
    expect((await later("--policy", "longhaul.policy.mine.yaml")).code).toBe(0)
    expect((await later()).code).toBe(0)
  })
})
