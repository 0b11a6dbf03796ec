import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, describe, expect, test, vi } from "vitest"
import { countAttacks } from "../../../../test/support/count-attacks.ts"
import { longSecret, outputOf, runAs, toolCall } from "../../../../test/support/tenant-scene.ts"
import { memoryStore } from "../../../stores/memory.ts"
import { scriptedModel } from "../../../testing/index.ts"
import { bashTool, fileTools } from "../../../tools/index.ts"
import { createAgentTools, createRuntime, fsStore, type NodeRuntimeConfig } from "../index.ts"

countAttacks("other tenants")

const base = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-tenants-")))
const state = join(base, "state")
vi.stubEnv("LONGHAUL_STORE", state)
afterAll(() => {
  vi.unstubAllEnvs()
  rmSync(base, { recursive: true, force: true })
})

/** Every way to read a file and each folder above it. */
function looksAt(file: string) {
  const folders: string[] = []
  for (let folder = dirname(file); folder !== base; folder = dirname(folder)) folders.push(folder)
  return [
    toolCall("Read", { path: file }),
    toolCall("Grep", { pattern: "SENTINEL", path: file }),
    ...folders.flatMap((path) => [
      toolCall("List", { path }),
      toolCall("Glob", { pattern: "**", path }),
      toolCall("Glob", { pattern: "**/*.txt", path }),
      toolCall("Grep", { pattern: "SENTINEL", path }),
    ]),
  ]
}

type Session = NodeRuntimeConfig & { readonly runId?: string }

const pairs: readonly (readonly [what: string, victim: Session, thief: Session])[] = [
  ["another tenant with a run of the same name", { workspaceId: "acme" }, { workspaceId: "rival" }],
  ["the default tenant", { workspaceId: "acme" }, {}],
  ["another run of the same tenant", { workspaceId: "acme" }, { workspaceId: "acme", runId: "other" }],
  [
    "another tenant that shares toolArtifactDir",
    { workspaceId: "acme", toolArtifactDir: join(base, "kept") },
    { workspaceId: "rival", toolArtifactDir: join(base, "kept") },
  ],
  [
    "a run that is named like the tenant, in a shared toolArtifactDir",
    { workspaceId: "acme", toolArtifactDir: join(base, "shared") },
    { runId: "acme", toolArtifactDir: join(base, "shared") },
  ],
  ["a run of the same name in another store that is not on disk", { store: memoryStore() }, { store: memoryStore() }],
]

describe.each(pairs)("command output is invisible to %s", (_, victim, thief) => {
  test("Read, List, Glob and Grep do not find the output, wherever they look", async () => {
    const store = fsStore(mkdtempSync(join(base, "store-")))
    const file = outputOf(await runAs(base, { store, ...victim }, [longSecret]))
    expect(readFileSync(file, "utf8")).toContain("SENTINEL 20000")

    const stolen = await runAs(base, { store, ...thief }, looksAt(file))
    expect(stolen.status).toBe("done")
    expect(stolen.toolCalls.length).toBeGreaterThan(10)
    for (const { name, args, status, result } of stolen.toolCalls) {
      expect([name, args, status, result]).toEqual([name, args, "error", expect.stringContaining('"code":"denied"')])
    }
  })
})

test("a run reads the output of its own commands, also after another runtime resumed it", async () => {
  const store = fsStore(state)
  const workspace = mkdtempSync(join(base, "workspace-"))
  const tools = [...fileTools(), bashTool()]
  const policy = { preApproved: ["Bash"] }
  const first = createRuntime({ store, workspace, tools, policy, model: scriptedModel([longSecret]) })
  const begun = await first.run({ task: "Go.", runId: "own", limits: { turns: 1 } })
  await first.close()
  const file = outputOf(begun)
  expect(dirname(file)).toBe(join(begun.transcript.path, "toolResults"))

  const model = scriptedModel([toolCall("Read", { path: file, offset: 20_000 }), "Done."])
  const second = createRuntime({ store, workspace, tools, model })
  const { toolCalls } = await second.resume({ runId: "own", limits: { turns: 5 } })
  await second.close()
  expect(toolCalls.at(-1)).toMatchObject({
    name: "Read",
    status: "ok",
    result: expect.stringContaining("SENTINEL 20000"),
  })
})

test("createAgentTools shows the output of its own commands, not of another session", async () => {
  const root = mkdtempSync(join(base, "root-"))
  const [mine, other] = [createAgentTools({ root }), createAgentTools({ root })]
  const { text } = await mine.callTool("Bash", { command: "seq 1 20000" })
  const [, file = ""] = /complete output is in ([^\]\s]+)\]/.exec(text) ?? []
  expect((await mine.callTool("Read", { path: file, limit: 1 })).text).toContain("1\t1")
  expect((await mine.callTool("Grep", { pattern: "^19999$", path: dirname(file) })).text).toContain("19999")
  for (const [name, args] of [
    ["Read", { path: file }],
    ["List", { path: dirname(file) }],
    ["List", { path: dirname(dirname(file)) }],
    ["Glob", { pattern: "**", path: dirname(dirname(file)) }],
    ["Grep", { pattern: "1", path: dirname(dirname(file)) }],
  ] as const) {
    expect([name, (await other.callTool(name, args)).text]).toEqual([name, expect.stringContaining('"code":"denied"')])
  }
  await Promise.all([mine.close(), other.close()])
})
