import { once } from "node:events"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { PassThrough } from "node:stream"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { fakeTerminal } from "../../../test/support/fake-terminal.ts"
import { terminalOutput } from "../../../test/support/terminal-output.ts"
import { until } from "../../../test/support/watchdog.ts"
import type { Runtime } from "../../contract/runtime.ts"
import { createRuntime, nodeFiles } from "../../hosts/node/index.ts"
import { memoryStore } from "../../stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../../testing/index.ts"
import { talk } from "../commands/chat.ts"
import { createConversation } from "./conversation.ts"

let workspace: string
let runtime: Runtime
beforeEach(async () => {
  // In unattended environments, NO_COLOR and similar variables disable drawing.
  vi.stubEnv("NO_COLOR", "")
  vi.stubEnv("TERM", "xterm")
  workspace = await mkdtemp(join(tmpdir(), "longhaul-talk-"))
  await writeFile(join(workspace, "tide.txt"), "High water is at 04:17.\n")
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await runtime.close()
  await rm(workspace, { recursive: true })
})

/** A person at a terminal, with keys delivered as on a real one. */
function sitDown(steps: readonly ScriptedStep[], first = "") {
  const model = scriptedModel(steps)
  runtime = createRuntime({ workspace, store: memoryStore(), model })
  const conversation = createConversation(runtime, { model: "scripted", settings: {} })
  const terminal = fakeTerminal(80)
  const keys = new PassThrough()
  const output = terminalOutput(terminal)
  const approval = { files: nodeFiles({ roots: [workspace] }) }
  const place = { input: keys, terminal, draws: true, output, watch: {}, first, approval, cwd: workspace }
  const ended = talk(conversation, place)
  const shows = (text: string) => until(() => terminal.lines().some((line) => line.includes(text)))
  return {
    model,
    terminal,
    ended,
    shows,
    type: (text: string) => keys.write(text),
    /** Until a line is awaited after the text. */
    asked: (after: string) =>
      until(() => {
        const lines = terminal.lines()
        return lines.at(-1)?.startsWith(">") === true && lines.some((line) => line.includes(after)) && !isBusy(lines)
      }),
  }
}

const isBusy = (lines: readonly string[]) => /^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/.test(lines.at(-2) ?? "")

/** A model step that waits until it is released. */
function held(answer: ScriptedStep & (string | object)) {
  let release = () => {}
  const mayAnswer = new Promise<void>((resolve) => {
    release = resolve
  })
  const step = async () => {
    await mayAnswer
    return answer
  }
  return { step: step as ScriptedStep, release: () => release() }
}

const textsOf = (messages: readonly { readonly role: string; readonly content: readonly object[] }[] = []) =>
  messages.flatMap(({ role, content }) =>
    content.map((part) => `${role}: ${"text" in part ? part.text : (part as { type: string }).type}`),
  )

test("a chat shows prompt, answer, usage and the prompt again; Ctrl-D leaves with 0", {
  tags: ["OBS-08"],
}, async () => {
  const { model, terminal, ended, type, asked } = sitDown([
    { parts: [{ text: "Aye, Petrel." }], usage: { inputTokens: 1000, outputTokens: 100, costUsd: 0.0123 } },
    "Petrel, you said.",
  ])
  type("My boat is the Petrel.\r")
  await asked("1100 tokens")
  type("Which boat\\\r")
  await until(() => terminal.lines().at(-1) === "… ")
  type("is mine?\r")
  await asked("cost unknown")
  type("\u0004")
  expect(await ended).toBe(0)
  expect(textsOf(model.calls[1])).toEqual([
    "user: My boat is the Petrel.",
    "assistant: Aye, Petrel.",
    "user: Which boat\nis mine?",
  ])
  const lines = terminal.lines()
  expect(lines.slice(lines.indexOf("> My boat is the Petrel."))).toEqual([
    "> My boat is the Petrel.",
    "Aye, Petrel.",
    expect.stringMatching(/^done 1 turn · 1100 tokens · \$0\.0123 · /),
    "> Which boat\\",
    "… is mine?",
    "Petrel, you said.",
    expect.stringMatching(/^done 1 turn · \d+ tokens · cost unknown · /),
    "> ",
    expect.stringMatching(/^Continue with: \S.* chat --continue$/),
  ])
})

test("input typed while a run works is shown below the status, steers the run, and is echoed", async () => {
  const slow = held({ parts: [{ toolCall: { name: "Read", args: { path: "tide.txt" } } }] })
  const { model, terminal, ended, type, shows, asked } = sitDown([slow.step, "At 04:17, in metres."])
  type("When is high water?\r")
  await shows("waiting for the model")
  type("And use met")
  await shows("> And use met")
  type("res,\\\rplease.\r")
  await shows("» And use metres, please. (sent to the model before its next turn)")
  slow.release()
  await asked("done 2 turns")
  type("/exit\r")
  expect(await ended).toBe(0)
  expect(textsOf(model.calls[1]).at(-1)).toBe("user: And use metres,\nplease.")
  const lines = terminal.lines()
  expect(lines).toContain("▸ sent to the model: And use metres, please.")
  expect(lines.at(-2)).toBe("> /exit")
})

test("unsent input is kept when the run ends; lines typed too early become the next messages", async () => {
  const slow = held("One.")
  const { model, ended, type, shows, asked } = sitDown([slow.step, "Two.", "Three."])
  type("First\rSecond\r")
  await shows("waiting for the model")
  type("Thi")
  await shows("> Thi")
  slow.release()
  await asked("Two.")
  await shows("> Second")
  type("rd\r")
  await asked("Three.")
  type("/exit\r")
  await ended
  expect(model.calls.map((messages) => textsOf(messages).at(-1))).toEqual([
    "user: First",
    "user: Second",
    "user: Third",
  ])
})

test("a typed line longer than the terminal leaves the output above intact", async () => {
  const slow = held("One.")
  const { terminal, model, ended, type, shows, asked } = sitDown([slow.step, "Two."])
  type("First\r")
  await shows("waiting for the model")
  const long = "word ".repeat(50)
  type(`${long}x\u007f`)
  await shows("word word word")
  slow.release()
  await asked("done 1 turn")
  const lines = terminal.lines()
  expect(lines.slice(lines.indexOf("> First"))).toEqual(["> First", "One.", expect.any(String), expect.any(String)])
  type("end\r")
  await asked("Two.")
  type("/exit\r")
  await ended
  expect(textsOf(model.calls[1]).at(-1)).toBe(`user: ${long}end`)
})

test("slash commands work during a run, except those that would change it", async () => {
  const slow = held("Aye.")
  const { ended, type, shows } = sitDown([slow.step], "Hello")
  await shows("waiting for the model")
  type("/cost\r")
  await shows("total: 0 turns")
  type("/clear\r")
  await shows("/clear is not available while a run is active.")
  type("/exit\r")
  await shows("Leaving once the current step is finished.")
  slow.release()
  expect(await ended).toBe(0)
})

test("Ctrl-C during a run finishes the step, a second one stops it; the chat continues", async () => {
  const slow = held({ parts: [{ text: "Half." }, { toolCall: { name: "List", args: {} } }] })
  const never = held("Never.")
  const { model, terminal, ended, type, shows, asked } = sitDown([slow.step, never.step, "Here again."])
  type("One\r")
  await shows("waiting for the model")
  type("\u0003")
  await shows("Finishing the current step; press again to stop now.")
  slow.release()
  await asked("cancelled 1 turn")

  type("Two\r")
  await shows("waiting for the model")
  type("\u0003")
  // Two signals in quick succession count as one: npm repeats the ones it receives.
  await new Promise((resolve) => setTimeout(resolve, 60))
  const stopped = once(process, "SIGINT")
  type("\u0003")
  await stopped
  // Its answer still arrives, but no longer counts.
  never.release()
  await asked("cancelled 0 turns")

  type("Three\r")
  await asked("Here again.")
  type("/exit\r")
  expect(await ended).toBe(0)
  expect(textsOf(model.calls[2])).toContain("user: Two")
  expect(terminal.lines().filter((line) => line.startsWith("error cancelled:"))).toHaveLength(2)
})

test("Ctrl-C at the prompt discards the input and shows how to leave; a second one leaves with 130", async () => {
  const { model, ended, type, shows, asked, terminal } = sitDown(["Aye."])
  type("Half a thou\u0003")
  await shows("Press Ctrl-C again to leave, or type /exit.")
  type("Hello\r")
  await asked("done 1 turn")
  type("\u0003")
  await until(() => terminal.lines().filter((line) => line.startsWith("Press Ctrl-C")).length === 2)
  // Two signals in quick succession count as one.
  await new Promise((resolve) => setTimeout(resolve, 60))
  type("\u0003")
  expect(await ended).toBe(130)
  expect(textsOf(model.calls[0])).toEqual(["user: Hello"])
})
