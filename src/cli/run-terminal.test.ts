import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { commandLine, takenForTerminal } from "../../test/support/command-line.ts"
import { until } from "../../test/support/watchdog.ts"
import type { JsonObject } from "../contract/json.ts"
import type { RunState } from "../contract/runtime.ts"

const { place, start, longhaul, json, simulate } = commandLine()

const call = (name: string, args: JsonObject) => ({ parts: [{ toolCall: { name, args } }] })
const written = () => readFile(join(place.workspace, "tide.txt"), "utf8")
const before = "High water is at 04:17.\n"

/** Edits the file, then repeats the result. */
const edits = {
  script: ({ lastToolResults: [result] }: { readonly lastToolResults: readonly { readonly text: string }[] }) =>
    result ? `It says: ${result.text}` : call("Edit", { path: "tide.txt", oldText: "04:17", newText: "04:29" }),
}

/** A run at a terminal, up to its question. */
async function asked(
  args: readonly string[] = ["run", "--ask", "Edit", "--run-id", "r", "Correct the tide"],
  early = "",
) {
  const running = start(args, takenForTerminal)
  if (early !== "") running.child.stdin.write(early)
  await until(() => running.shown.stdout.includes("y/n/a/e? "))
  return running
}

describe("run --ask at a terminal", () => {
  test("--ask shows the change and asks, and the run continues in the same process after approval", async () => {
    await simulate(edits)
    const running = await asked()
    expect(running.shown.stdout).toContain("- High water is at 04:17.")
    expect(running.shown.stdout).toContain("+ High water is at 04:29.")
    expect(running.shown.stdout).toContain("always allow Edit in this run")
    expect(await written()).toBe(before)
    running.child.stdin.write("y\r")
    const { code, stdout } = await running.ended
    expect(code).toBe(0)
    expect(stdout).toContain("It says: Replaced one place")
    expect(await written()).toBe("High water is at 04:29.\n")
  })

  test("a run is recorded as paused while its question is open, so a kill loses nothing", async () => {
    await simulate(edits)
    const running = await asked()
    running.child.kill("SIGKILL")
    await running.ended
    expect(await json(["show", "r", "--json"])).toMatchObject({ status: "paused", pause: { reason: "approval" } })
    expect((await longhaul(["approve", "r"])).code).toBe(0)
    expect(await written()).toBe("High water is at 04:29.\n")
  })

  test.each([
    ["Ctrl-C", (stdin: NodeJS.WritableStream) => stdin.write("\u0003")],
    ["the end of input", (stdin: NodeJS.WritableStream) => stdin.end()],
  ])("%s at the question leaves the run paused: exit code 3 and the commands to decide", async (_, leave) => {
    await simulate(edits)
    const running = await asked()
    leave(running.child.stdin)
    const { code, stdout } = await running.ended
    expect(code).toBe(3)
    expect(stdout).toContain("approve r")
    expect(((await json(["show", "r", "--json"])) as RunState).status).toBe("paused")
    expect(await written()).toBe(before)
  })

  test("input typed before the question does not answer it", async () => {
    await simulate(edits)
    const running = await asked(undefined, "y\ry\ry\r")
    expect(await written()).toBe(before)
    running.child.stdin.write("n Not today.\r")
    const { code, stdout } = await running.ended
    expect(code).toBe(0)
    expect(stdout).toContain("Not today.")
    expect(await written()).toBe(before)
  })

  test("the question is not asked if a program reads the output: the run pauses as in a pipe", async () => {
    await simulate(edits)
    const { code, stdout } = await start(["run", "--json", "--ask", "Edit", "Correct the tide"], takenForTerminal).ended
    expect(code).toBe(3)
    expect(JSON.parse(stdout)).toMatchObject({ status: "paused" })
  })

  test("a paused run asks when it is resumed at a terminal, and its calls keep their names", async () => {
    await simulate(edits)
    await longhaul(["run", "--ask", "Edit", "--run-id", "r", "Correct the tide"])
    const running = await asked(["resume", "r"])
    running.child.stdin.write("y\r")
    const { code, stdout } = await running.ended
    expect(code).toBe(0)
    expect(stdout).toMatch(/✓\S* \S*Edit\S* tide\.txt/)
    expect(await written()).toBe("High water is at 04:29.\n")
  })

  test("a question of the model is answered at the terminal", async () => {
    await simulate({
      script: ({ lastToolResults: [answer] }) =>
        answer ? `You said ${answer.text}` : call("AskUser", { question: "Which tide?" }),
    })
    const running = start(["run", "Ask me"], takenForTerminal)
    await until(() => running.shown.stdout.includes("answer: "))
    expect(running.shown.stdout).toContain("? Which tide?")
    running.child.stdin.write("The next one.\r")
    const { code, stdout } = await running.ended
    expect(code).toBe(0)
    expect(stdout).toContain("You said The next one.")
  })
})
