import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs"
import { join } from "node:path"
import { afterAll, expect, test, vi } from "vitest"
import { fsStore } from "../../src/hosts/node/index.ts"
import { countAttacks } from "../support/count-attacks.ts"
import { longSecret, outputOf, runAs, toolCall } from "../support/tenant-scene.ts"

countAttacks("other tenants from a sandbox")

// A sandbox has its own /tmp, so the tenants' folders must not be in there.
const base = realpathSync(mkdtempSync("/var/tmp/longhaul-tenants-"))
vi.stubEnv("LONGHAUL_STORE", join(base, "state"))
afterAll(() => {
  vi.unstubAllEnvs()
  rmSync(base, { recursive: true, force: true })
})

test.each([
  ["another tenant", { workspaceId: "rival" }],
  ["another run of the same tenant", { workspaceId: "acme", runId: "other" }],
])("sandboxed Bash of %s cannot read another run's command output, and its own run can", async (_, thief) => {
  const store = fsStore(mkdtempSync(join(base, "store-")))
  const sandbox = "required" as const
  const file = outputOf(await runAs(base, { store, sandbox, workspaceId: "acme" }, [longSecret]))
  expect(readFileSync(file, "utf8")).toContain("SENTINEL 20000")
  const look = `cat ${file}; ls -R ${base}; grep -r "SENTINEL 2" ${base} /tmp /var; true`
  const { toolCalls } = await runAs(base, { store, sandbox, ...thief }, [toolCall("Bash", { command: look })])
  expect(toolCalls).toMatchObject([{ status: "ok", result: expect.stringContaining("containment: sandbox") }])
  expect(toolCalls[0]?.result).not.toMatch(/SENTINEL 2|command-\w+-\d+\.txt$/m)

  const own = await runAs(base, { store, sandbox, runId: "own" }, [
    longSecret,
    toolCall("Bash", {
      command: `tail -n 1 ${base}/store-*/workspaces/*/.longhaul/projects/own/nodes/*/toolResults/*`,
    }),
  ])
  expect(own.toolCalls[1]?.result).toContain("SENTINEL 20000")
})
