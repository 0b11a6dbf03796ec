import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { programs } from "../programs.ts"
import { functionCall, message, outputsIn, serveResponses } from "./responses-server.ts"
import { createScene, once, sceneAt, shell } from "./scene.ts"

test.each([
  ["is killed", "kill -9 $$"],
  ["exits with 1", "exit 1"],
  ["prints nothing", "true"],
  ["prints garbage", "echo garbage"],
  [
    "prints an unknown verdict",
    `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"maybe"}}'`,
  ],
  ["allows by itself", `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'`],
])("codex: a command does not run if its gate %s", async (_, gate) => {
  const scene = await createScene(once(shell("echo ran >> ran.txt")))
  const command = wrapped(scene.folder, gate)
  const result = await scene.runtime({}, { command }).run({ task: "Go." })
  expect(scene.lines("ran.txt")).toEqual([])
  expect(result).toMatchObject({ status: "done" })
})

test("codex: a command in another folder is decided by its paths there", async () => {
  const server = await serveResponses((input, index) => {
    const touch = (id: string, workdir: string) => functionCall(id, "exec_command", { cmd: "touch ran.txt", workdir })
    if (index === 0) return [touch("a", "open"), touch("b", "secrets")]
    return [message(JSON.stringify(outputsIn(input)))]
  })
  const scene = sceneAt(server)
  for (const name of ["open", "secrets"]) mkdirSync(join(scene.workspace, name))
  const rules = [{ deny: { tool: "Bash", command: "cd **/secrets" } }]
  const result = await scene.runtime({ policy: { rules } }).run({ task: "Go." })
  expect(result.status).toBe("done")
  expect(
    result.toolCalls.map(({ args, status }) => [JSON.stringify(args).includes("secrets"), status]).toSorted(),
  ).toEqual([
    [false, "ok"],
    [true, "denied"],
  ])
  expect([readdirSync(join(scene.workspace, "open")), readdirSync(join(scene.workspace, "secrets"))]).toEqual([
    ["ran.txt"],
    [],
  ])
})

test("codex: a command that is to run outside the sandbox is declined, although the policy permits its text", async () => {
  const args = { cmd: "echo ran >> ../ran.txt", sandbox_permissions: "require_escalated" }
  const server = await serveResponses((_, index) =>
    index === 0 ? [functionCall("a", "exec_command", args)] : [message("done")],
  )
  const scene = sceneAt(server)
  expect(await scene.runtime().run({ task: "Go." })).toMatchObject({ toolCalls: [{ status: "denied" }] })
  expect(scene.lines("../ran.txt")).toEqual([])
})

test("codex: a command that ran without permission fails the run", async () => {
  const scene = await createScene(once(shell("touch ran.txt")))
  allowByRule(scene.folder)
  const command = wrapped(scene.folder, "kill -9 $$")
  const result = await scene.runtime({}, { command }).run({ task: "Go." })
  expect(result).toMatchObject({ status: "failed", error: { code: "backend_protocol" } })
})

test("codex: input for a running terminal, about which no hook is asked, is refused", async () => {
  const server = await serveResponses((input, index) => {
    if (index === 0) return [functionCall("a", "exec_command", { cmd: "sh", tty: true, yield_time_ms: 250 })]
    const session = /session ID (\d+)/.exec(JSON.stringify(outputsIn(input)))?.[1] ?? "1"
    if (index > 1) return [message("done")]
    return [functionCall("b", "write_stdin", { session_id: Number(session), chars: "echo ran >> ran.txt\n" })]
  })
  const scene = sceneAt(server)
  expect(await scene.runtime().run({ task: "Go." })).toMatchObject({ status: "done" })
  expect(scene.lines("ran.txt")).toEqual([])
})

test("codex: a command that Codex's own rules allow still needs the policy", async () => {
  const scene = await createScene(once(shell("touch ran.txt")))
  allowByRule(scene.folder)
  const policy = { rules: [{ deny: { tool: "Bash", command: "touch **" } }] }
  expect(await scene.runtime({ policy }).run({ task: "Go." })).toMatchObject({ toolCalls: [{ status: "denied" }] })
  expect(existsSync(join(scene.workspace, "ran.txt"))).toBe(false)
})

test("codex: the caller's settings cannot remove the gate", async () => {
  const scene = await createScene(once(shell("echo ran >> ran.txt")))
  const policy = { rules: [{ deny: { tool: "Bash" } }] }
  const args = ["app-server", "-c", "features.hooks=false", "-c", "hooks.PreToolUse=[]"]
  expect(await scene.runtime({ policy }, { args }).run({ task: "Go." })).toMatchObject({ status: "done" })
  expect(scene.lines("ran.txt")).toEqual([])
})

/** A program that starts Codex with another gate. */
function wrapped(folder: string, gate: string): string {
  const command = join(folder, "codex")
  writeFileSync(command, `#!/bin/sh\nLONGHAUL_GATE=${quoted(gate)} exec ${programs.codex} "$@"\n`)
  chmodSync(command, 0o755)
  return command
}

/** Lets Codex run the command without asking for approval. */
function allowByRule(folder: string): void {
  const rules = join(folder, "home/.codex/rules")
  mkdirSync(rules)
  writeFileSync(join(rules, "default.rules"), 'prefix_rule(pattern=["touch"], decision="allow")\n')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
