import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, expect, test, vi } from "vitest"
import { findConfig } from "../../src/cli/config/file.ts"
import { countAttacks } from "../support/count-attacks.ts"
import { attemptsToPlant } from "../support/planted-files.ts"
import { ShellScene } from "../support/shell-scene.ts"

countAttacks("files planted from a sandbox")

const state = mkdtempSync("/var/tmp/longhaul-planted-")
vi.stubEnv("XDG_STATE_HOME", state)
afterAll(() => {
  vi.unstubAllEnvs()
  rmSync(state, { recursive: true, force: true })
})

const overwrite = "echo '{}' > longhaul.config.json; rm longhaul.config.json; mv longhaul.config.json x"
const attempts: typeof attemptsToPlant = [...attemptsToPlant, ["over the file of the user", overwrite, "."]]

test.each(attempts)("a sandboxed command cannot plant a config file for a later run: %s", async (_, line, folder) => {
  const scene = new ShellScene("/var/tmp")
  try {
    const own = join(scene.root, "longhaul.config.json")
    const text = '{ "system": "Kept by the user." }'
    writeFileSync(own, text)
    mkdirSync(join(scene.root, "sub"))
    const shell = scene.shell({ sandbox: "required" })
    await shell.run(scene.command(line))
    expect(shell.containment).toBe("sandbox")
    expect(readFileSync(own, "utf8")).toBe(text)
    expect(findConfig(join(scene.root, folder)).data).toEqual({ path: own, text })
  } finally {
    await scene.dispose()
  }
})
