import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import type { RuntimeConfig } from "../../../contract/run.ts"
import { memoryStore } from "../../../stores/memory.ts"
import { type FakeSession, fakeBackend } from "../../../testing/index.ts"
import { createRuntime } from "../index.ts"
import { namedBackends } from "./named-backends.ts"

const workspace = mkdtempSync(join(tmpdir(), "longhaul-given-"))
afterAll(() => rmSync(workspace, { recursive: true, force: true }))

const policy = { rules: [{ ask: { tool: "Write" }, via: "pause" as const }] }

/** A backend with the name of one that the host has, and settings of its own: an address, a home, a key. */
function gateway(name: string, sessions: Map<string, FakeSession>) {
  return fakeBackend({
    name,
    sessions,
    script: ({ lastToolResults }) =>
      lastToolResults.length > 0
        ? "Written."
        : { parts: [{ toolCall: { name: "Write", args: { file_path: "a.txt", content: "x" } } }] },
  })
}

describe.each(namedBackends.names)("a run that began on a value named %s", (name) => {
  const places: readonly (readonly [string, (backend: ReturnType<typeof gateway>) => Partial<RuntimeConfig>])[] = [
    ["its backend", (backend) => ({ backend })],
    ["one of its backends", (backend) => ({ backends: [backend], backend: name })],
    ["an entry of its chain", (backend) => ({ chain: [{ backend }, { backend: "native" }] })],
  ]

  test.each(places)(
    "a run that began on a value as %s is not resumed on the program of that name",
    async (_, configOf) => {
      const sessions = new Map<string, FakeSession>()
      const store = memoryStore()
      const began = createRuntime({ store, workspace, policy, ...configOf(gateway(name, sessions)) })
      expect(await began.run({ task: "Write.", runId: "r" })).toMatchObject({ status: "paused" })

      const other = createRuntime({ store, workspace, policy })
      const refused = await other.resume({ runId: "r", decision: "approve" })
      expect(refused).toMatchObject({ status: "failed", error: { code: "config_invalid" } })
      expect(refused.error?.message).toContain(`a backend ${name} that was passed as a value`)
      expect(await other.status("r")).toMatchObject({ status: "paused" })

      const again = createRuntime({ store, workspace, policy, ...configOf(gateway(name, sessions)) })
      const result = await again.resume({ runId: "r", decision: "approve" })
      expect(result).toMatchObject({ status: "done", text: "Written." })
      expect(await other.continue("r", "And now?")).toMatchObject({
        status: "failed",
        error: { code: "config_invalid" },
      })
      await Promise.all([began, other, again].map((runtime) => runtime.close()))
    },
  )
})
