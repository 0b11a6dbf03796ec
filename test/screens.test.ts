import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { command as runsCommand } from "../src/cli/commands/runs.ts"
import type { Shell } from "../src/contract/env.ts"
import type { JsonObject } from "../src/contract/json.ts"
import type { Runtime } from "../src/contract/runtime.ts"
import type { Store } from "../src/contract/store.ts"
import { createRuntime, fsStore } from "../src/hosts/node/index.ts"
import { takeRun } from "../src/journal/journal.ts"
import { runPath } from "../src/journal/paths.ts"
import { scriptedModel } from "../src/testing/index.ts"
import { fakeTerminal } from "./support/fake-terminal.ts"
import { harbourFiles, personAt } from "./support/person.ts"
import { terminalOutput } from "./support/terminal-output.ts"

const widths = [80, 60] as const
const dawn = Date.UTC(2031, 3, 19, 6, 30)

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date", "performance"], now: dawn })
  for (const [name, value] of Object.entries({ NO_COLOR: "", TERM: "xterm", TZ: "UTC", npm_command: "" })) {
    vi.stubEnv(name, value)
  }
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllEnvs()
})

/** Compares with the recorded screen; `npx vitest run test/screens.test.ts -u` updates it. */
async function expectScreen(name: string, terminal: ReturnType<typeof fakeTerminal>): Promise<void> {
  const lines = terminal.lines().map((line) => line.trimEnd())
  expect(lines.filter((line) => line.length > terminal.columns)).toEqual([])
  await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot(`screens/${name}.${terminal.columns}.txt`)
}

const call = (name: string, args: JsonObject) => ({ parts: [{ toolCall: { name, args } }] })

const shell: Shell = {
  containment: "best-effort",
  run: async () => ({
    text: "12 passed\n",
    bytes: 10,
    leftOutBytes: 0,
    exitCode: 0,
    running: false,
    endedBy: "exit",
    durationMs: 300,
  }),
  start: () => Promise.reject(new Error("not used")),
  poll: () => Promise.reject(new Error("not used")),
  stop: () => Promise.reject(new Error("not used")),
  close: async () => {},
}

test.each(widths)("approving an edit renders correctly at %i columns", async (columns) => {
  const files = harbourFiles({
    "tides.md": "# Tides\n\nHigh water is at 04:17.\nLow water is at 10:32.\n\nThe harbour master knows the rest.\n",
  })
  const args = {
    path: "tides.md",
    oldText: "Low water is at 10:32.",
    newText: "Low water is at 10:40, and boats that draw more than two metres wait outside.",
  }
  const person = await personAt({
    steps: [call("Edit", args), "The tide is corrected."],
    ask: ["Edit"],
    files,
    columns,
  })
  person.type("Correct the tide.\r")
  await person.asks("y/n/a/e? ")
  person.type("y\r")
  await person.shows("done 2 turns")
  person.type("/exit\r")
  expect(await person.ended).toBe(0)
  await expectScreen("approve-edit", person.terminal)
})

test.each(widths)("denying and then always allowing a command renders correctly at %i columns", async (columns) => {
  const command = "npm test -- --reporter=verbose --coverage 2>&1 | tee results.log &&\nrm -rf dist\u200b/old"
  const steps = [call("Bash", { command }), call("Bash", { command: "npm test" }), "All 12 pass."]
  const person = await personAt({ steps, ask: ["Bash"], shell, columns })
  person.type("Run the tests.\r")
  await person.asks("y/n/e? ")
  person.type("n Do not delete anything.\r")
  await person.shows("$ npm test", 2)
  await person.asks("y/n/a/e? ")
  person.type("a\r")
  await person.shows("done 3 turns")
  person.type("/exit\r")
  expect(await person.ended).toBe(0)
  await expectScreen("approve-bash", person.terminal)
})

test.each(widths)("chat --continue renders the last exchange correctly at %i columns", async (columns) => {
  const steps = ["Aye, the Petrel.", "At 04:17, and again at 16:41.\n\nShe floats an hour before that.", "The Petrel."]
  const earlier = async (runtime: Runtime) => {
    const first = await runtime.run({ task: "My boat is the Petrel.", runId: "petrel" })
    const last = await runtime.continue("petrel", "When is high water today, and when can she leave the inner harbour?")
    const events = runtime.events("petrel", { nodeId: last.nodeId })
    for await (const start of events) {
      if (start.type === "run-start") return { exchanges: [first, last], last, start }
    }
    throw new Error("The exchange has no beginning.")
  }
  const person = await personAt({ steps, earlier, columns })
  await person.asks("> ")
  person.type("Which boat is mine?\r")
  await person.shows("done 1 turn")
  person.type("/turns\r")
  await person.shows("3 turns in this conversation")
  person.type("/exit\r")
  expect(await person.ended).toBe(0)
  await expectScreen("chat-continue", person.terminal)
})

/** A run whose process ran before the last boot of this machine. */
async function beginDeadRun(store: Store, runId: string): Promise<void> {
  const messages = [
    { role: "user", content: [{ type: "text", text: "Watch the barometer through the night" }] },
  ] as const
  const input = { messages, backend: "native", cwd: "/harbour" }
  await takeRun(store.folder(runPath({ workspaceId: "default", runId, nodeId: "main" })), {
    fresh: true,
    owner: { boot: "the boot before", pidns: "pid:[1]", pid: 1, started: 1 },
    first: () => [{ type: "run-start", runId, nodeId: "main", input, tools: [], limits: { turns: 100 } }],
  })
}

test.each(widths)("runs renders runs and conversations correctly at %i columns", async (columns) => {
  const folder = await mkdtemp(join(tmpdir(), "longhaul-screens-"))
  const write = call("Write", { path: "log.txt", content: "tide" })
  const model = scriptedModel(["Aye.", "At 04:17.", "The Petrel.", "Done.", write])
  const hooks = {
    gateBeforeTool: () => ({ allow: false, reason: "Ask first." }) as const,
  }
  const store = fsStore(join(folder, "store"))
  const runtime = createRuntime({ workspace: folder, store, model, hooks })
  const later = () => vi.setSystemTime(Date.now() + 90_000)
  await runtime.run({ task: "My boat is the Petrel, and she lies in the inner harbour.", runId: "petrel" })
  later()
  await runtime.run({
    task: "List the files here and say what they are about",
    runId: "run_0c5a8e12-7d1f-4b7e-9c1a-2f3b4c5d6e7f",
  })
  later()
  await runtime.continue("petrel", "When is high water?")
  await runtime.continue("petrel", "Which boat is mine?")
  later()
  await runtime.run({ task: "Write the log", runId: "run_0c5a8e12-9e44-4c02-8a1b-5d6e7f809102" })
  await beginDeadRun(store, "run_77b1d3f0-1111-4222-8333-444455556666")
  const terminal = fakeTerminal(columns)
  await runsCommand.run(["--store", join(folder, "store")], terminalOutput(terminal), {})
  await rm(folder, { recursive: true })
  await expectScreen("runs", terminal)
})
