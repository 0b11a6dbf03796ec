import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeEach, expect, test, vi } from "vitest"
import { countAttacks } from "../support/count-attacks.ts"
import { longSecret, runAs, toolCall } from "../support/tenant-scene.ts"

countAttacks("hidden stores from a sandbox")

const base = realpathSync(mkdtempSync("/var/tmp/longhaul-hidden-"))
let home: string
let store: string

beforeEach(() => {
  home = mkdtempSync(join(base, "home-"))
  store = join(home, ".local/state/longhaul")
  vi.stubEnv("HOME", home)
  vi.stubEnv("XDG_STATE_HOME", "")
  vi.stubEnv("LONGHAUL_STORE", "")
  mkdirSync(store, { recursive: true })
  writeFileSync(join(store, "secret.txt"), "SENTINEL in the store\n")
})
afterAll(() => {
  vi.unstubAllEnvs()
  rmSync(base, { recursive: true, force: true })
})

const bash = (command: string) => toolCall("Bash", { command })

test("sandboxed commands in the home folder see an empty store and cannot write, move or replace it", async () => {
  const forge = "grep -r SENTINEL . ; echo forged > .local/state/longhaul/secret.txt; rm -rf .local/state/longhaul"
  const calls = [
    bash(`ls -A .local/state/longhaul; ${forge}`),
    // Moved aside by one command, it would be exposed to the next.
    ...[".local/state/longhaul", ".local/state", ".local"].flatMap((path) => [
      bash(`mv ${path} aside; echo moved $?`),
      bash("grep -r SENTINEL .; find . -name secret.txt -exec sh -c 'echo forged > {}' ';'"),
    ]),
    bash("umount .local/state/longhaul; echo kept > work.txt; cat work.txt"),
  ]
  const result = await runAs(base, { workspace: home, sandbox: "required" }, calls)
  expect(result).toMatchObject({ status: "done" })
  const shown = result.toolCalls.map(({ result }) => result).join("\n")
  expect(shown).not.toMatch(/SENTINEL in|moved 0/)
  expect(shown).toContain("kept\n")
  expect(readFileSync(join(store, "secret.txt"), "utf8")).toBe("SENTINEL in the store\n")
  expect(result.transcript.path.startsWith(store)).toBe(true)
})

test("a sandboxed command can read the long output of its own run in the hidden store, but not change it", async () => {
  const outputs = `${store}/workspaces/default/.longhaul/projects/same/nodes/main/toolResults`
  const { toolCalls } = await runAs(base, { workspace: home, sandbox: "required" }, [
    longSecret,
    bash(`tail -n 1 ${outputs}/*; ls ${outputs}/..; echo x > ${outputs}/new; rm ${outputs}/*; mv ${outputs} x`),
  ])
  expect(toolCalls[1]?.result).toMatch(/^SENTINEL 20000\ntoolResults\n/)
  expect(toolCalls[1]?.result?.match(/Read-only file system|Device or resource busy/g)?.length).toBe(3)
})
