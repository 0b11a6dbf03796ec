import { mkdtempSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import type { Backend, TurnHost } from "../src/contract/backend.ts"
import type { RunEvent } from "../src/contract/event.ts"
import type { Json, JsonObject } from "../src/contract/json.ts"
import type { Policy } from "../src/contract/policy.ts"
import type { RunResult } from "../src/contract/result.ts"
import type { RunInput, RuntimeConfig } from "../src/contract/run.ts"
import { listRuntimeBridges } from "../src/hosts/node/backends/registry.ts"
import { createRuntime } from "../src/hosts/node/index.ts"
import { isJsonObject } from "../src/lib/json.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { defineTool } from "../src/tools/kernel/define-tool.ts"
import { acpColumn } from "./support/gates/acp.ts"
import { claudeCliColumn, claudeSdkColumn } from "./support/gates/claude.ts"
import { codexColumn } from "./support/gates/codex.ts"
import { type CallKind, type Column, over, type Program } from "./support/gates/column.ts"
import { nativeColumn, piColumn } from "./support/gates/models.ts"

/** How each backend is driven without its vendor, by name. */
const columns: Readonly<Record<string, Column>> = {
  "claude-sdk": claudeSdkColumn,
  "claude-cli": claudeCliColumn,
  codex: codexColumn,
  ...Object.fromEntries(["gemini", "copilot", "opencode", "cursor"].map((name) => [`acp:${name}`, acpColumn(name)])),
  pi: piColumn,
  native: nativeColumn,
}

test("the table has a column for every backend of the package", () => {
  expect(Object.keys(columns).toSorted()).toEqual(listRuntimeBridges().toSorted())
})

const workspace = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-gates-")))
afterAll(() => rmSync(workspace, { recursive: true, force: true }))

interface Scene {
  readonly config?: Partial<RuntimeConfig>
  readonly input?: Partial<RunInput>
  play(program: Program): Promise<void>
  /** What a permitted call does. Default: it ends at once. */
  run?(text: string, signal: AbortSignal): Promise<void>
  /** The host as the gate sees it. */
  host?(real: TurnHost): TurnHost
}

/** Starts a run of this backend. `ran`: the calls that began, whatever became of them. */
function scene(name: string, kind: CallKind, { config = {}, input = {}, play, run, host }: Scene) {
  const ran: string[] = []
  const begin = async (text: string, signal: AbortSignal) => {
    ran.push(text)
    await run?.(text, signal)
  }
  const send = defineTool({
    ...{ name: "send", description: "Sends.", effect: "once", risk: "low" },
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    run: async ({ text }: { readonly text: string }, { signal }) => {
      await begin(text, signal)
      return "sent"
    },
  })
  const column = columns[name] ?? expect.fail(`there is no column for ${name}`)
  const { backend, ...own } = column.setUp({ kind, play, run: begin })
  expect(backend.name).toBe(name)
  const runtime = createRuntime({
    ...{ workspace, store: memoryStore(), tools: [send], policy, backend: host ? seenBy(backend, host) : backend },
    ...own,
    ...config,
  })
  const events: RunEvent[] = []
  const watchers: ((event: RunEvent) => void)[] = []
  const onEvent = (event: RunEvent) => {
    events.push(event)
    for (const watch of watchers) watch(event)
  }
  const handle = runtime.stream({ task: "Go.", onEvent, ...input })
  const seen = (type: RunEvent["type"]) =>
    new Promise<void>((resolve) => {
      if (events.some((event) => event.type === type)) resolve()
      watchers.push((event) => event.type === type && resolve())
    })
  return { handle, ran, seen, runtime }
}

/** The backend, whose sessions get another host. */
function seenBy(backend: Backend, host: (real: TurnHost) => TurnHost): Backend {
  return over(backend, {
    async open(request, env) {
      const session = await backend.open(request, env)
      return over(session, { run: (input, real) => session.run(input, host(real)) })
    },
  })
}

const about = (text: string) => ["/command", "/text"].map((pointer) => ({ tool: "*", args: { [pointer]: text } }))
const policy: Policy = {
  rules: [
    ...about("forbidden").map((deny) => ({ deny })),
    ...about("ask-first").map((ask) => ({ ask, via: "pause" as const })),
    { allow: { tool: "*" } },
  ],
}

/** Lets everything happen that needs no further event. */
async function quiet(): Promise<void> {
  for (let tick = 0; tick < 20; tick++) await new Promise((resolve) => setImmediate(resolve))
}

const cells = Object.entries(columns).flatMap(([name, { kinds }]) => kinds.map((kind) => [name, kind] as const))

/** What the journal says has run. */
function recorded({ toolCalls }: RunResult): readonly string[] {
  return toolCalls.filter(({ status }) => status === "ok").map(({ args }) => textIn(args))
}

function textIn(args: Json | undefined): string {
  const { command, text } = isJsonObject(args ?? null) ? (args as JsonObject) : {} // Safe: checked.
  return String(command ?? text)
}

describe.each(cells)("%s, %s call", (name, kind) => {
  const open = (given: Scene) => scene(name, kind, given)
  const first = { id: "c1", text: "one" }
  const second = { id: "c2", text: "two" }

  test("a call that is allowed runs once, and is recorded", async () => {
    const { handle, ran } = open({ play: (program) => program.answer(first) })
    expect(await handle.result).toMatchObject({ status: "done", toolCalls: [{ status: "ok" }] })
    expect(ran).toEqual(["one"])
  })

  test("a call does not run if the decision about it throws, and is not recorded as run", async () => {
    const fails = () => Promise.reject(new Error("lost"))
    const { handle, ran } = open({
      play: (program) => program.answer(first),
      host: (real) => over(real, { authorize: fails, callTool: fails }),
    })
    expect(recorded(await handle.result)).toEqual([])
    expect(ran).toEqual([])
  })

  test("a call is denied if the caller's gate throws", async () => {
    const gateBeforeTool = () => {
      throw new Error("lost")
    }
    const { handle, ran } = open({ play: (program) => program.answer(first), config: { hooks: { gateBeforeTool } } })
    expect((await handle.result).toolCalls).toMatchObject([{ status: "denied" }])
    expect(ran).toEqual([])
  })

  test.each(["afterwards", "at once"])("a call under the id of another call is decided anew, %s", async (when) => {
    const forbidden = { id: first.id, text: "forbidden" }
    const { handle, ran } = open({
      async play(program) {
        if (when === "at once") return program.answer(first, forbidden)
        await program.answer(first)
        await program.answer(forbidden)
      },
    })
    const result = await handle.result
    // At once, a backend may refuse both.
    expect(ran).toEqual(when === "at once" && ran.length === 0 ? [] : ["one"])
    expect(recorded(result)).toEqual(ran)
  })

  test("a call under the id of another call runs at most once, as it is recorded", async () => {
    const { handle, ran } = open({ play: (program) => program.answer(first, { id: first.id, text: "two" }) })
    const result = await handle.result
    expect(result.status).toBe("done")
    expect(recorded(result).toSorted()).toEqual(ran.toSorted())
    expect(new Set(ran).size).toBe(ran.length)
  })

  test("a call with an effect that is cancelled while it runs has an unknown outcome", async () => {
    let isRunning = () => {}
    const running = new Promise<void>((resolve) => {
      isRunning = resolve
    })
    const { handle } = open({
      play: (program) => program.answer(first),
      run: (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(new Error("stopped")))
          isRunning()
        }),
    })
    await running
    handle.interrupt("immediate")
    expect(await handle.result).toMatchObject({ status: "cancelled", toolCalls: [{ status: "unknown" }] })
  })

  test("a call after the last turn does not run", async () => {
    const { handle, ran, seen } = open({
      input: { limits: { turns: 1 } },
      async play(program) {
        void program.answer(first)
        await seen("tool-result")
        await program.answer(second)
      },
    })
    const result = await handle.result
    await quiet()
    expect(result).toMatchObject({ status: "failed", error: { code: "max_turns" } })
    expect(ran).not.toContain("two")
    expect(recorded(result)).toEqual(ran)
  })

  test("a call after a limit of the run does not run", async () => {
    const { handle, ran } = open({
      async play(program) {
        await program.answer(first)
        await program.answer(second)
      },
      host: (real) =>
        over(real, {
          beginTurn: async (turn, bound) => (turn === 1 ? real.beginTurn(turn, bound) : { reason: "limit" }),
        }),
    })
    const result = await handle.result
    await quiet()
    expect(ran).toEqual(["one"])
    expect(recorded(result)).toEqual(ran)
  })

  test.each(["beside", "after"])("%s one that waits for a person does not run", async (when) => {
    const waiting = { id: "w", text: "ask-first" }
    const { handle, ran, seen } = open({
      async play(program) {
        if (when === "beside") return program.answer(waiting, second)
        void program.answer(waiting)
        await seen("approval-request")
        await program.answer(second)
      },
    })
    const result = await handle.result
    await quiet()
    expect(result).toMatchObject({ status: "paused", pause: { pendingToolCall: { args: expect.anything() } } })
    expect(ran).toEqual([])
    expect(recorded(result)).toEqual([])
  })

  test("a call does not run if a person approves it after the end of the run", async () => {
    const { asked, answer, onAsk } = lateAnswer({ decision: "approve" } as const)
    const { handle, ran } = open({
      config: { policy: { rules: [{ ask: { tool: "*" }, via: "wait" }], onAsk } },
      play: (program) => program.answer(first),
    })
    await asked
    handle.interrupt("immediate")
    const result = await handle.result
    answer()
    await quiet()
    expect(ran).toEqual([])
    expect(recorded(result)).toEqual([])
  })
})

const ownCells = cells.filter(([, kind]) => kind === "own")

describe.each(ownCells)("%s, %s call", (name, kind) => {
  test.each(["is stopped", "ends its work"])(
    "a call does not run if its gate answers after the end of a run whose program %s",
    async (how) => {
      const { asked, answer, onAsk } = lateAnswer({ kind: "run", args: { command: "one" } } as const)
      const { handle, ran } = scene(name, kind, {
        async play(program) {
          void program.answer({ id: "c1", text: "one" })
          await asked
          if (how === "is stopped") await new Promise(() => {})
        },
        host: (real) => over(real, { authorize: onAsk }),
      })
      await asked
      if (how === "is stopped") handle.interrupt("immediate")
      await handle.result
      answer()
      await quiet()
      expect(ran).toEqual([])
    },
  )

  test("a call whose decision throws is recorded as denied", async () => {
    const { handle } = scene(name, kind, {
      play: (program) => program.answer({ id: "c1", text: "one" }),
      host: (real) => over(real, { authorize: () => Promise.reject(new Error("lost")) }),
    })
    const { toolCalls } = await handle.result
    expect(toolCalls).toMatchObject([{ status: "denied" }])
    expect(toolCalls[0]).not.toHaveProperty("ungated")
  })
})

/** Answers a question when the test says so. `asked`: resolves when it was asked. */
function lateAnswer<Answer>(given: Answer) {
  let isAsked = () => {}
  let answer = () => {}
  const asked = new Promise<void>((resolve) => {
    isAsked = resolve
  })
  const answered = new Promise<Answer>((resolve) => {
    answer = () => resolve(given)
  })
  const onAsk = () => {
    isAsked()
    return answered
  }
  return { asked, answer, onAsk }
}
