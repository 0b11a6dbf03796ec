import { describe, expect, test } from "vitest"
import { hookInput, isSameCommand, isWithinPatch, mcpParts, ownCall } from "./calls.ts"

const patch = "*** Begin Patch\n*** Add File: a.txt\n+hello\n*** End Patch\n"

function asked(tool: string, input: object, cwd = "/project") {
  // Safe: written as JSON below.
  const question = { callId: "c", tool, input: input as never, cwd }
  const { call, tool: own } = ownCall(question, ["lab", "lab__two"], "/project")
  return { name: call.name, args: call.args, effect: own.effect }
}

describe("the call that a hook asks about", () => {
  test("a command keeps the arguments of the hook", () => {
    expect(asked("Bash", { command: "ls" })).toEqual({ name: "Bash", args: { command: "ls" }, effect: "once" })
  })

  test("a command for another folder begins with cd, whatever the folder is called", () => {
    expect(asked("Bash", { command: "rm x" }, "/project/it's here").args).toEqual({
      command: "cd '/project/it'\\''s here' && rm x",
    })
  })

  test("a patch of the tool and a patch in the shell have their text as patch", () => {
    expect(asked("apply_patch", { command: patch })).toMatchObject({ name: "ApplyPatch", args: { patch } })
    const command = `apply_patch <<'EOF'\n${patch}EOF\n`
    expect(asked("Bash", { command })).toMatchObject({ name: "ApplyPatch", args: { command, patch } })
  })

  test.each([
    `cd /etc && apply_patch <<'EOF'\n${patch}EOF\n`,
    `true; apply_patch <<'EOF'\n${patch}EOF\n`,
    `apply_patch <<'EOF'\n${patch}EOF\nrm -rf /`,
    `apply_patch '${patch}'`,
  ])("a patch in any other form stays a command: %j", (command) => {
    expect(asked("Bash", { command }).name).toBe("Bash")
  })

  test("a patch in the shell of another folder stays a command, because its paths are others", () => {
    expect(asked("Bash", { command: `apply_patch <<'EOF'\n${patch}EOF\n` }, "/other").name).toBe("Bash")
  })

  test("a tool of a server has the server's name, also if that contains two underscores", () => {
    expect(asked("mcp__lab__calc", {}).name).toBe("mcp:lab/calc")
    expect(asked("mcp__lab__two__calc", {}).name).toBe("mcp:lab__two/calc")
    expect(asked("mcp__other__a__b", {}).name).toBe("mcp:other/a__b")
    expect(mcpParts("mcp:lab/a/b")).toEqual({ server: "lab", tool: "a/b" })
  })

  test("an image is read, and an unknown tool is treated with the greatest care", () => {
    expect(asked("view_image", { path: "a.png" })).toEqual({ name: "Read", args: { path: "a.png" }, effect: "none" })
    expect(asked("new_tool", {})).toEqual({ name: "new_tool", args: {}, effect: "once" })
  })
})

describe("changed arguments", () => {
  test("a command and a patch are passed on, a patch in the shell cannot be", () => {
    const call = { callId: "c", name: "Bash", args: {} }
    expect(hookInput(call, { command: "ls" })).toEqual({ command: "ls" })
    expect(hookInput({ ...call, name: "ApplyPatch" }, { patch })).toEqual({ command: patch })
    expect(hookInput({ ...call, name: "ApplyPatch" }, { command: "apply_patch …", patch })).toBeUndefined()
    expect(hookInput(call, "ls")).toBeUndefined()
  })
})

describe("an approval request", () => {
  // As Codex quotes them.
  test.each([
    ["/bin/bash -lc ls", "ls"],
    ["/bin/bash -lc 'pwd; ls'", "pwd; ls"],
    [`/bin/bash -lc "sh -c 'exit 3'"`, "sh -c 'exit 3'"],
    [`/bin/bash -lc "cat a\\"b\\\\\\\\c 'x y' "'$HOME'`, `cat a"b\\\\c 'x y' $HOME`],
    ["/usr/bin/zsh -c ls", "ls"],
  ])("%s is the command %s", (line, command) => {
    expect(isSameCommand(line, command)).toBe(true)
  })

  test.each([
    ["another command", "/bin/bash -lc 'rm x'", "ls"],
    ["a program of the workspace as a shell", "/project/bash -lc ls", "ls"],
    ["a shell by its name only", "bash -lc ls", "ls"],
    ["other options", "/bin/bash -x ls", "ls"],
    ["more words", "/bin/bash -lc ls x", "ls"],
    ["an open quote", "/bin/bash -lc 'ls", "ls"],
    ["nothing", "", ""],
  ])("%s is not the permitted command", (_, line, command) => {
    expect(isSameCommand(line, command)).toBe(false)
  })

  test("the changed files must all be named by the patch", () => {
    expect(isWithinPatch(patch, "/project", ["/project/a.txt"])).toBe(true)
    expect(isWithinPatch(patch, "/project", ["/project/sub/../a.txt"])).toBe(true)
    expect(isWithinPatch(patch, "/project", ["/project/a.txt", "/project/b.txt"])).toBe(false)
    expect(isWithinPatch(patch, "/project/sub", ["/project/a.txt"])).toBe(false)
    expect(isWithinPatch(patch, "/project", [])).toBe(false)
    expect(isWithinPatch("no patch", "/project", ["/project/a.txt"])).toBe(false)
    const moved = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-x\n+y\n*** End Patch\n"
    expect(isWithinPatch(moved, "/project", ["/project/a.txt", "/project/b.txt"])).toBe(true)
  })
})
