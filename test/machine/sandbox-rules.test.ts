import { execFileSync } from "node:child_process"
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { afterAll, beforeEach, describe, expect, test } from "vitest"
import type { Policy, PolicyRule } from "../../src/contract/policy.ts"
import { createRuntime, nodeFiles, nodeShell } from "../../src/hosts/node/index.ts"
import { memoryStore } from "../../src/stores/memory.ts"
import { scriptedModel } from "../../src/testing/index.ts"
import { bashTool } from "../../src/tools/index.ts"
import { countAttacks } from "../support/count-attacks.ts"
import { until } from "../support/watchdog.ts"

const attacks = countAttacks("sandbox with path rules")

// A sandbox has its own /tmp.
const base = realpathSync(mkdtempSync("/var/tmp/longhaul-rules-"))
const root = join(base, "ws")
const git = (...args: string[]) =>
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: root })
afterAll(() => rmSync(base, { recursive: true, force: true }))

const policyText = "version: 1\n"

beforeEach(() => {
  rmSync(root, { recursive: true, force: true })
  for (const folder of ["secrets/deep", "src", "packages/a"]) mkdirSync(join(root, folder), { recursive: true })
  const files = {
    "src/a.txt": "plain text",
    "packages/a/.env": "SENTINEL=1",
    "packages/a/.env.example": "EXAMPLE=1",
    "secrets/key.txt": "SENTINEL",
    "secrets/deep/key.txt": "SENTINEL",
    "longhaul.policy.yaml": policyText,
    ".npmrc": "own=1\n",
  }
  execFileSync("git", ["init", "-q", root])
  for (const [path, text] of Object.entries(files)) writeFileSync(join(root, path), text)
  git("add", "src")
  git("commit", "-qm", "first")
  writeFileSync(join(root, ".env"), "SENTINEL=1")
  symlinkSync("secrets", join(root, "innocent"))
})

const rules: PolicyRule[] = [{ deny: { read: "secrets/**" } }]
const autonomous: Policy = { extends: "autonomous", rules }

/** The result of one command of a run under the policy. */
async function bash(command: string, policy: Policy = autonomous, timeoutMs = 120_000): Promise<string> {
  const model = scriptedModel([{ parts: [{ toolCall: { name: "Bash", args: { command, timeoutMs } } }] }, "end"])
  const runtime = createRuntime({
    workspace: root,
    store: memoryStore(),
    model,
    tools: [bashTool()],
    env: {
      files: nodeFiles({ roots: [root] }),
      shell: nodeShell({ root, sandbox: "required", spillFolder: join(base, "spill") }),
    },
    policy,
  })
  const { toolCalls } = await runtime.run({ task: "go" })
  await runtime.close()
  return `${toolCalls[0]?.status}: ${toolCalls[0]?.result}`
}

test.each([
  ["cat .env"],
  ["cat packages/a/.env"],
  ["f=.env; cat $f"],
  ["cat .e*"],
  ["[[ a ]]; cat .env"],
  ["cat secrets/key.txt"],
  ["cat innocent/deep/key.txt"],
  ["ln -s . q; cat q/secrets/key.txt"],
  ["ln secrets/key.txt h; cat h"],
  ["mv secrets s; cat s/key.txt"],
  ["mv packages p; cat p/a/.env"],
  ["chmod -R 777 secrets .env; cat .env secrets/key.txt"],
  ["umount secrets; cat secrets/key.txt"],
  ["grep -r SENTINEL ."],
  ["tar c . | tar xO"],
  ["cp -r . /tmp/c; cat /tmp/c/.env /tmp/c/secrets/key.txt"],
  ["git add -A; git diff --cached"],
  ["find . -name '*.txt' -exec cat {} +"],
  ["cat /proc/self/cwd/.env /proc/self/root$PWD/secrets/key.txt"],
  ["sed -n 'e cat .env'"],
  ["sort --compress-program=./x secrets/key.txt; sort secrets/key.txt"],
  ["tar cf /dev/null --checkpoint=1 --checkpoint-action=exec='cat .env' src"],
  ["split --filter='cat; cat .env' src/a.txt"],
  ["git archive HEAD --exec='cat .env' --remote=. | cat; cat .env"],
  ["for i in 1 2 3 4 5 6 7 8; do ln -sfn secrets x; ln -sfn src x; cat x/key.txt; done"],
])("a sandboxed command does not read what a rule refuses: %s", async (command) => {
  expect(await bash(command)).not.toContain("SENTINEL")
})

test.each([
  ["cp src/a.txt .git/hooks/y", ".git/hooks/y"],
  ["echo x | tee -a longhaul.policy.yaml"],
  ["f=longhaul.policy.yaml; echo x > $f"],
  ["[[ a ]]; echo x >> .npmrc"],
  ["rm -f .npmrc; echo x > .npmrc"],
  ["mv .npmrc old; echo x > .npmrc"],
  ["mv .git g; mkdir -p .git/hooks; echo x > .git/hooks/y", ".git/hooks/y"],
  ["sed -i s/own/other/ .npmrc"],
  ["dd if=/dev/zero of=longhaul.policy.yaml count=1"],
  ["cd .git && echo x > hooks/y", ".git/hooks/y"],
  ["git config alias.x '!id'; git config core.hooksPath src"],
])("a sandboxed command does not write what a rule refuses: %s", async (command, made?: string) => {
  const before = readFileSync(join(root, ".git/config"), "utf8")
  await bash(command)
  expect(made === undefined || !existsSync(join(root, made))).toBe(true)
  expect(readFileSync(join(root, "longhaul.policy.yaml"), "utf8")).toBe(policyText)
  expect(readFileSync(join(root, ".npmrc"), "utf8")).toBe("own=1\n")
  expect(readFileSync(join(root, ".git/config"), "utf8")).toBe(before)
})

describe("what is not refused", () => {
  test("a sandboxed command works with all other files", async () => {
    const result = await bash(
      "cat src/a.txt packages/a/.env.example; echo new > src/b; grep -r plain .; git log --oneline",
    )
    expect(result).toMatch(/^ok: plain text/)
    expect(result).toContain("EXAMPLE=1")
    expect(result).toContain("./src/a.txt:plain text")
    expect(result).toContain("first")
    expect(readFileSync(join(root, "src/b"), "utf8")).toBe("new\n")
  })

  test("the files that were covered are as they were", async () => {
    await bash("ls -la . secrets")
    expect(readFileSync(join(root, ".env"), "utf8")).toBe("SENTINEL=1")
    expect(readFileSync(join(root, "secrets/key.txt"), "utf8")).toBe("SENTINEL")
  })
})

test("a link that flips all the time leads no sandboxed command to a refused file", async () => {
  const races = Number(process.env.LONGHAUL_LINK_RACES ?? 200)
  attacks.tried(races)
  writeFileSync(join(root, "src/key.txt"), "harmless\n")
  const flips = "while :; do ln -sfn secrets x; ln -sfn src x; done &"
  const reads = `i=0; while [ $i -lt ${races} ]; do cat x/key.txt 2>/dev/null; i=$((i+1)); done | sort | uniq -c; echo END`
  const result = await bash(`${flips} ${reads}`, { ...autonomous, tiers: { Bash: "low" } }, 600_000)
  expect(result).toContain("END")
  expect(result).toContain("harmless")
  expect(result).not.toContain("SENTINEL")
})

test("a rule that asked about the command, and was answered, covers nothing", async () => {
  const asks: Policy = { rules: [{ ask: { read: "secrets/**" } }], tiers: { Bash: "low" } }
  const approving: Policy = { ...asks, onAsk: () => ({ decision: "approve" }) }
  expect(await bash("cat secrets/key.txt", approving)).toContain("SENTINEL")
  expect(await bash("cat src/a.txt; f=secrets; cat $f/key.txt", asks)).not.toContain("SENTINEL")
})

test("a file in a read-only system folder is covered, too", async () => {
  const refusal: Policy = {
    ...autonomous,
    rules: [{ deny: { read: ["/etc/passwd", "/usr/share/common-licenses/**"] } }],
  }
  expect(await bash("f=/etc/passwd; cat $f", refusal)).not.toContain("root:")
  expect(await bash("cd /usr/share; cat common-licenses/*", refusal)).not.toContain("GNU")
})

test("new files that match a refusal are reported", async () => {
  const result = await bash("v=.vscode; mkdir -p sub/$v; f=.env; echo x > src/$f; m=.mcp.json; ln -s src sub/$m")
  expect(result).toContain("although the policy refuses to write there")
  for (const path of ["src/.env", "sub/.vscode", "sub/.mcp.json"]) expect(result).toContain(path)
  expect(await bash("ls")).not.toContain("although the policy refuses")
})

test("a refusal of the whole workspace, or of more paths than can be covered, refuses the command", async () => {
  const sandboxed: PolicyRule = { allow: { tool: "Bash", sandboxed: true } }
  const whole: Policy = { unparsed: "sandboxed", rules: [sandboxed, { deny: { read: "**" } }] }
  expect(await bash("f=x; echo $f", whole)).toContain("refuses the whole folder")
  mkdirSync(join(root, "many"))
  for (let index = 0; index < 400; index++) writeFileSync(join(root, `many/${index}.pem`), "SENTINEL")
  const many: Policy = { unparsed: "sandboxed", rules: [sandboxed, { deny: { read: "**/*.pem" } }] }
  expect(await bash("f=many; cat $f/*", many)).toMatch(/cannot hide what the policy refuses/)
  const folder: Policy = { unparsed: "sandboxed", rules: [sandboxed, { deny: { read: "many/**" } }] }
  expect(await bash("f=many; cat $f/*; echo done", folder)).toMatch(/done/)
})

test.each([
  ["longhaul.policy.yaml", {}],
  [".npmrc", autonomous],
  [".env", autonomous],
])("a command that runs while a person saves %s by renaming is stopped", async (name, policy) => {
  const shell = nodeShell({ root, sandbox: "required", spillFolder: join(base, "spill") })
  const runtime = createRuntime({
    workspace: root,
    store: memoryStore(),
    model: scriptedModel([
      {
        parts: [
          {
            toolCall: {
              name: "Bash",
              args: { command: `f=${name}; touch started; until cat $f | grep saved; do :; done; echo EVIL > $f` },
            },
          },
        ],
      },
      "end",
    ]),
    tools: [bashTool()],
    env: { files: nodeFiles({ roots: [root] }), shell },
    policy: { preApproved: ["Bash"], ...policy },
  })
  const running = runtime.run({ task: "go" })
  await until(() => existsSync(join(root, "started")))
  writeFileSync(join(root, "next"), "saved by a person\n")
  renameSync(join(root, "next"), join(root, name))
  const { toolCalls } = await running
  await runtime.close()
  expect(toolCalls[0]?.result).toContain(`${name} was replaced or removed while it ran`)
})

test("a command that runs while a person saves a covered file of a read-only folder by renaming is stopped", async () => {
  const notes = join(base, "notes")
  rmSync(notes, { recursive: true, force: true })
  mkdirSync(notes)
  writeFileSync(join(notes, "key"), "SENTINEL")
  const command = `touch started; k=key; until cat ${notes}/$k | grep saved; do :; done; while :; do sleep 1; done`
  const model = scriptedModel([{ parts: [{ toolCall: { name: "Bash", args: { command } } }] }, "end"])
  const options = { root, readOnlyRoots: [notes], sandbox: "required", spillFolder: join(base, "spill") } as const
  await using runtime = createRuntime({
    workspace: root,
    store: memoryStore(),
    model,
    tools: [bashTool()],
    env: { files: nodeFiles({ roots: [root] }), shell: nodeShell(options) },
    policy: { extends: "autonomous", rules: [{ deny: { read: `${notes}/key` } }] },
  })
  const running = runtime.run({ task: "go" })
  await until(() => existsSync(join(root, "started")))
  writeFileSync(join(notes, "next"), "saved by a person\n")
  renameSync(join(notes, "next"), join(notes, "key"))
  const { toolCalls } = await running
  expect(toolCalls[0]?.result).toContain("notes/key was replaced or removed while it ran")
})

test("hard links that exist before are a known limit", async () => {
  linkSync(join(root, "secrets/key.txt"), join(root, "src/h"))
  expect(await bash("cat src/h")).toContain("SENTINEL")
})
