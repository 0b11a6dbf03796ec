import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import type { Policy, PolicyRule } from "../src/contract/policy.ts"
import { createRuntime, nodeFiles, nodeShell } from "../src/hosts/node/index.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { scriptedModel } from "../src/testing/index.ts"
import { bashTool } from "../src/tools/index.ts"

const root = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-tiers-")))
afterAll(() => rmSync(root, { recursive: true }))
const ran = join(root, "ran")
writeFileSync(join(root, "run.sh"), `echo x > ${ran}\n`, { mode: 0o755 })

const rules: PolicyRule[] = [{ deny: { tool: ["Write"], path: "**" } }, { deny: { exec: "./run.sh" } }]

/** Every way in which the tier lets a command pass without asking. */
const policies: readonly Policy[] = [
  { mode: "auto", rules },
  { preApproved: ["Bash"], rules },
  { tiers: { Bash: "low" }, rules },
]

test.each([
  `[[ a ]]; echo x > ${ran}`,
  "BASH_ENV=run.sh bash -c true",
  "GIT_EXTERNAL_DIFF=./run.sh git diff --no-index /dev/null run.sh",
])("where the tier decides, %s does not run beside a rule that refuses something", async (command) => {
  for (const policy of policies) {
    const model = scriptedModel([{ parts: [{ toolCall: { name: "Bash", args: { command } } }] }, "end"])
    const runtime = createRuntime({
      workspace: root,
      store: memoryStore(),
      env: { files: nodeFiles({ roots: [root] }), shell: nodeShell({ root, sandbox: "off" }) },
      model,
      tools: [bashTool()],
      policy,
    })
    const { toolCalls } = await runtime.run({ task: "go" })
    await runtime.close()
    expect(toolCalls.map(({ status }) => status)).toEqual(["denied"])
    expect(existsSync(ran)).toBe(false)
  }
})

test.each([
  ["asked where something refused exists", "full", "paused"],
  ["not asked where nothing refused exists", "empty", "done"],
])("a command without a sandbox that reads a whole folder is %s", async (_, folder, status) => {
  const workspace = join(root, folder)
  mkdirSync(join(workspace, "src"), { recursive: true })
  if (folder === "full") {
    mkdirSync(join(workspace, "secrets"))
    writeFileSync(join(workspace, "secrets/key.txt"), "X=1\n")
  }
  const command = "grep -r X . || true"
  const runtime = createRuntime({
    workspace,
    store: memoryStore(),
    env: { files: nodeFiles({ roots: [workspace] }), shell: nodeShell({ root: workspace, sandbox: "off" }) },
    model: scriptedModel([{ parts: [{ toolCall: { name: "Bash", args: { command } } }] }, "end"]),
    tools: [bashTool()],
    policy: { ask: "pause", rules: [{ allow: { tool: "Bash" } }, { deny: { read: "secrets/**" } }] },
  })
  expect(await runtime.run({ task: "go" })).toMatchObject({ status })
  await runtime.close()
})
