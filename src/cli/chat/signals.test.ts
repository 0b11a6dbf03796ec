import { describe, expect, test } from "vitest"
import { commandLine, statusOnStderr, takenForTerminal } from "../../../test/support/command-line.ts"
import { until } from "../../../test/support/watchdog.ts"

const { start, simulate } = commandLine()

describe("chat in a pipe", () => {
  test("the first Ctrl-C in a pipe finishes the step and ends the chat with 130 without reading more lines", async () => {
    let mayAnswer = false
    const { requests } = await simulate({
      async script() {
        await until(() => mayAnswer)
        return { parts: [{ text: "All said." }, { toolCall: { name: "Write", args: { path: "x", content: "x" } } }] }
      },
    })
    const running = start(["chat"])
    running.child.stdin.end("Take your time\nAnd another\n")
    await until(() => requests.length === 1)
    running.child.kill("SIGINT")
    await until(() => running.shown.stdout.includes("press again to stop now"))
    mayAnswer = true
    const { code, stdout, stderr } = await running.ended
    expect(code).toBe(130)
    expect(stdout).toContain("All said.")
    expect(stderr).toContain("error cancelled:")
    expect(requests).toHaveLength(1)
  })

  test.each([
    ["SIGINT twice", ["SIGINT", "SIGINT"]],
    ["SIGTERM", ["SIGTERM"]],
  ] as const)("%s stops a chat in a pipe immediately with 130", async (_, signals) => {
    await simulate({
      script: () => "Never whole.",
      faults: () => ({ kind: "stall", atByte: 700 }),
    })
    const running = start(["chat"], statusOnStderr)
    running.child.stdin.write("Take your time\n")
    await until(() => running.shown.stderr.includes("writing"))
    for (const [index, each] of signals.entries()) {
      if (index > 0) {
        await until(() => running.shown.stdout.includes("press again to stop now"))
        // Two signals in quick succession count as one.
        await new Promise((resolve) => setTimeout(resolve, 60))
      }
      running.child.kill(each)
    }
    const { code, stderr } = await running.ended
    expect(code).toBe(130)
    expect(stderr).toContain("error cancelled:")
  })
})

describe("chat at a terminal", () => {
  test.each([{}, { NO_COLOR: "1" }])(
    "with %j a chat shows a prompt, accepts steering, and handles Ctrl-C",
    async (variables) => {
      let mayAnswer = false
      const { requests } = await simulate({
        async script({ messages }) {
          await until(() => mayAnswer)
          return `Heard: ${messages.map(({ text }) => text).join(" ")}`
        },
      })
      const running = start(["chat", "--max-turns", "5", "Hello."], { ...takenForTerminal, ...variables })
      await until(() => requests.length === 1)
      await until(() => /the\s+commands\n> Hello\.\n/.test(running.shown.stdout))
      running.child.stdin.write("And the tide.\r\n")
      await until(() => running.shown.stdout.includes("» And the tide. (sent to the model before its next turn)"))
      mayAnswer = true
      await until(() => running.shown.stdout.includes("2 turns"))
      expect(requests[1]?.lastUserText).toBe("And the tide.")

      running.child.kill("SIGINT")
      await until(() => running.shown.stdout.includes("Press Ctrl-C again to leave"))
      // Two signals in quick succession count as one.
      await new Promise((resolve) => setTimeout(resolve, 60))
      running.child.kill("SIGINT")
      const { code, stdout, stderr } = await running.ended
      expect({ code, stderr }).toEqual({ code: 130, stderr: "" })
      expect(stdout).toContain("▸")
      expect(stdout.includes("\u001b")).toBe(variables.NO_COLOR === undefined)
    },
  )
})
