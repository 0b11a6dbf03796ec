import { PassThrough } from "node:stream"
import { policyOf } from "../../src/cli/approval/gate.ts"
import { createConversation } from "../../src/cli/chat/conversation.ts"
import type { FoundConversation } from "../../src/cli/chat/open-chat.ts"
import { talk } from "../../src/cli/commands/chat.ts"
import type { Environment, Files } from "../../src/contract/env.ts"
import type { RuntimeConfig } from "../../src/contract/run.ts"
import type { Runtime } from "../../src/contract/runtime.ts"
import { createRuntime } from "../../src/index.ts"
import { memoryStore } from "../../src/stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../../src/testing/index.ts"
import { bashTool, fileTools } from "../../src/tools/index.ts"
import { memoryFiles } from "../../src/tools/memory-files.ts"
import { fakeTerminal } from "./fake-terminal.ts"
import { terminalOutput } from "./terminal-output.ts"
import { until } from "./watchdog.ts"

export interface PersonOptions extends Pick<RuntimeConfig, "store" | "hooks" | "tools"> {
  readonly steps: readonly ScriptedStep[]
  readonly ask?: readonly string[]
  readonly columns?: number
  readonly files?: Files
  readonly shell?: Environment["shell"]
  readonly earlier?: (runtime: Runtime) => Promise<FoundConversation>
}

/** Paths are displayed relative to the workspace, as on disk. */
export function harbourFiles(initial: Readonly<Record<string, string>> = {}): Files {
  const files = memoryFiles(
    Object.fromEntries(Object.entries(initial).map(([path, text]) => [`/harbour/${path}`, text])),
  )
  return { ...files, display: (path, cwd) => files.display(path, cwd).replace(/^harbour\//, "") }
}

/** A person in a chat at a terminal, in a workspace in memory, with a model that follows a script. */
export async function personAt(options: PersonOptions) {
  const {
    steps,
    ask = [],
    columns = 80,
    files = harbourFiles(),
    shell,
    store = memoryStore(),
    hooks,
    tools = [],
  } = options
  const model = scriptedModel(steps)
  const runtime = createRuntime({
    workspace: "/harbour",
    store,
    model,
    env: { files, ...(shell && { shell }) },
    tools: [...fileTools(), bashTool(), ...tools],
    policy: policyOf({ ask, bash: true, sandbox: "off" }),
    ...(hooks && { hooks }),
  })
  const earlier = await options.earlier?.(runtime)
  const terminal = fakeTerminal(columns)
  const keys = new PassThrough()
  const conversation = createConversation(runtime, {
    model: "scripted",
    settings: { runId: "petrel" },
    ...(earlier && { earlier: { ...earlier, maxTurns: 100, changes: {} } }),
  })
  const output = terminalOutput(terminal)
  const place = { input: keys, terminal, draws: true, output, watch: {}, first: "", earlier, cwd: "/harbour" }
  const ended = talk(conversation, { ...place, approval: { files } })
  const shows = (text: string, times = 1) =>
    until(() => terminal.lines().filter((line) => line.includes(text)).length >= times)
  return {
    model,
    runtime,
    terminal,
    files,
    ended,
    shows,
    type: (text: string) => keys.write(text),
    hangUp: () => keys.end(),
    /** Until this is the last line, waiting for input. */
    asks: (sign: string) => until(() => terminal.lines().at(-1) === sign),
    /** The last message to the model. */
    toldLast: () => JSON.stringify(model.calls.at(-1)?.at(-1)),
    read: async (path: string) => new TextDecoder().decode(await files.read(path, "/harbour")),
  }
}
