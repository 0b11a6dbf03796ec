import { chmodSync, mkdirSync, writeFileSync } from "node:fs"
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
  const command = join(scene.folder, "codex")
  writeFileSync(command, `#!/bin/sh\nLONGHAUL_GATE=${quoted(gate)} exec ${programs.codex} "$@"\n`)
  chmodSync(command, 0o755)
  const result = await scene.runtime({}, { command }).run({ task: "Go." })
  expect(scene.lines("ran.txt")).toEqual([])
  expect(result).toMatchObject({ status: "done" })
})

test("codex: a command in another folder is declined, because the policy has not decided about it there", async () => {
  const server = await serveResponses((input, index) =>
    index === 0
      ? [functionCall("a", "exec_command", { cmd: "echo ran >> ran.txt", workdir: "sub" })]
      : [message(JSON.stringify(outputsIn(input)))],
  )
  const scene = sceneAt(server)
  mkdirSync(join(scene.workspace, "sub"))
  const result = await scene.runtime().run({ task: "Go." })
  expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "denied" }] })
  expect([...scene.lines("ran.txt"), ...scene.lines("sub/ran.txt")]).toEqual([])
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
  const scene = await createScene(once(shell("echo ran >> ran.txt")))
  const rules = join(scene.folder, "home/.codex/rules")
  mkdirSync(rules)
  writeFileSync(join(rules, "default.rules"), 'prefix_rule(pattern=["echo"], decision="allow")\n')
  const policy = { rules: [{ deny: { tool: "Bash", command: "echo **" } }] }
  expect(await scene.runtime({ policy }).run({ task: "Go." })).toMatchObject({ toolCalls: [{ status: "denied" }] })
  expect(scene.lines("ran.txt")).toEqual([])
})

test("codex: the caller's settings cannot remove the gate", async () => {
  const scene = await createScene(once(shell("echo ran >> ran.txt")))
  const policy = { rules: [{ deny: { tool: "Bash" } }] }
  const args = ["app-server", "-c", "features.hooks=false", "-c", "hooks.PreToolUse=[]"]
  expect(await scene.runtime({ policy }, { args }).run({ task: "Go." })).toMatchObject({ status: "done" })
  expect(scene.lines("ran.txt")).toEqual([])
})

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
