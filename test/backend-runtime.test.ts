import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import type { Backend } from "../src/contract/backend.ts"
import type { Capabilities, Feature } from "../src/contract/capabilities.ts"
import type { Json } from "../src/contract/json.ts"
import type { RunInput, RuntimeConfig } from "../src/contract/run.ts"
import { createRuntime, fsStore, LonghaulError } from "../src/hosts/node/index.ts"
import { processOwner } from "../src/hosts/node/owner.ts"
import { defaultSpillFolder } from "../src/hosts/node/store/state-folder.ts"
import { delay } from "../src/lib/abort.ts"
import { noUsage } from "../src/lib/usage.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { counting } from "../src/testing/backend-bench.ts"
import {
  type FakeBackendOptions,
  type FakeSession,
  fakeBackend,
  type SimulatedRequest,
  scriptedModel,
} from "../src/testing/index.ts"
import { fileTools } from "../src/tools/index.ts"
import { until } from "./support/watchdog.ts"

const base = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-own-")))
const workspace = join(base, "workspace")
mkdirSync(workspace)
symlinkSync("/etc", join(workspace, "link"))
afterAll(() => rmSync(base, { recursive: true, force: true }))
let stores = 0

const unasked = { gate: "vendor", rewrite: false, failsClosed: true, exactArguments: true, ledger: "result" } as const

/** A run on a backend that writes once with its own tool, and what was written. */
function scene(
  more: Partial<FakeBackendOptions> = {},
  config: Partial<RuntimeConfig> = {},
  args: Json = { path: "a" },
) {
  const written: Json[] = []
  const sessions = new Map<string, FakeSession>()
  const script = ({ messages }: SimulatedRequest) => {
    const results = messages.flatMap(({ toolResults }) => toolResults)
    return results.length > 0
      ? `It said: ${results.map(({ text }) => text).join(" ")}`
      : { parts: [{ toolCall: { name: "Write", args } }] }
  }
  const backend = fakeBackend({ script, sessions, write: (given) => written.push(given), ...more })
  const store = fsStore(join(base, `store-${stores++}`))
  const policy = { rules: [{ allow: { tool: "*" } }] }
  const open = (other: Partial<RuntimeConfig> = {}) =>
    createRuntime({ workspace, store, backend, policy, tools: [], ...config, ...other })
  return { written, sessions, store, backend, open }
}

describe("a limit of tokens or dollars", () => {
  test("a limit of tokens or dollars stops a session as soon as its reported usage has reached it", async () => {
    const { backend, open } = scene()
    let used = 0
    const reporting: Backend = {
      ...backend,
      async open(request, env) {
        const session = await backend.open(request, env)
        return {
          ...{ ref: session.ref, steer: () => false, interrupt: () => stop(), close: () => session.close() },
          async run(_, host) {
            while (!stopped && used < 10_000) {
              used += 100
              host.emit({ type: "metering", usage: { ...noUsage, inputTokens: 100 } })
            }
            return { reason: "interrupted" }
          },
        }
      },
    }
    let stopped = false
    const stop = () => {
      stopped = true
    }
    const result = await open({ backend: reporting }).run({ task: "Go.", limits: { tokens: 450 } })
    expect(result).toMatchObject({ error: { code: "budget_exceeded" } })
    expect(used).toBe(500)
  })

  test.each(["end", "none"] as const)(
    "a limit of tokens or dollars is refused by a backend that reports its usage too late (%s)",
    async (metering) => {
      const { open, written } = scene({ capabilities: { metering } })
      expect(await open().run({ task: "Go.", limits: { tokens: 10 } })).toMatchObject({
        status: "failed",
        error: { code: "capability_mismatch", fix: expect.stringContaining("turns") },
      })
      expect(written).toEqual([])
    },
  )

  test.each([
    ["tokens", { tokens: 10 }, "budget_exceeded"],
    ["turns", { turns: 1 }, "max_turns"],
  ])("a limit of tokens or dollars that is used up opens no further session: %s", async (_, limits, code) => {
    const { open, backend } = scene()
    let opened = 0
    const counted: Backend = {
      ...backend,
      open(request, env) {
        opened++
        return backend.open(request, env)
      },
    }
    const runtime = open({ backend: counted })
    await runtime.run({ task: "Go.", runId: "r", limits })
    expect(await runtime.resume({ runId: "r" })).toMatchObject({ error: { code } })
    expect(opened).toBe(1)
    const raised = { tokens: 10_000, turns: 10 }
    expect(await runtime.resume({ runId: "r", limits: raised })).toMatchObject({ status: "done" })
  })
})

describe("a tool that the backend runs itself", () => {
  test.each([
    ["another folder", "/etc/passwd", "is outside the workspace"],
    ["a folder above", "../x", "is outside the workspace"],
    ["a link that leads outside", "link/passwd", "is outside the workspace"],
    ["a policy file", "sub/longhaul.policy.yaml", "governs runs"],
    ["the records of runs", ".LONGHAUL/x", "governs runs"],
  ])("a tool of the backend does not write to %s, whatever the policy allows", async (_, path, reason) => {
    const { open, written } = scene({}, {}, { path })
    const result = await open().run({ task: "Write." })
    expect(written).toEqual([])
    expect(result.toolCalls).toMatchObject([{ status: "denied", error: `Write was denied: ${path} ${reason}` }])
  })

  test.each([
    ["allowedTools does not name it", { allowedTools: ["Read"] }],
    ["disabledTools names it", { disabledTools: ["Write"] }],
    ["disabledTools has its backend's name of it", { disabledTools: ["fake_write"] }],
  ])(
    "a tool of the backend does not run if %s, of the run or of its runtime, and its backend starts without it",
    async (_, restricted) => {
      const tools = [counting("Read", "none").tool]
      for (const isOfRun of [true, false]) {
        const opened: (readonly string[])[] = []
        const { open, written, backend } = scene({}, { tools })
        const watched: Backend = {
          ...backend,
          open(request, env) {
            opened.push(request.withoutTools)
            return backend.open(request, env)
          },
        }
        const runtime = open({ backend: watched, ...(!isOfRun && restricted) })
        const result = await runtime.run({ task: "Write.", ...(isOfRun && restricted) })
        expect(written).toEqual([])
        expect(result.toolCalls).toMatchObject([
          { status: "denied", error: "Write was denied: the run may not use this tool" },
        ])
        expect(opened).toEqual([["Write"]])
      }
    },
  )

  test("a tool of the backend does not run in a resumed run whose input did not allow it", async () => {
    const { open, written } = scene({}, { policy: { rules: [{ ask: { tool: "Write" }, via: "pause" }] } })
    const rules = [{ allow: { tool: "*" } }] as const
    const paused = await open().run({ task: "Write.", runId: "r" })
    expect(paused.status).toBe("paused")
    const resumed = await open({ disabledTools: ["Write"], policy: { rules } }).resume({
      runId: "r",
      decision: "approve",
    })
    expect(written).toEqual([])
    expect(resumed.toolCalls).toMatchObject([{ status: "denied" }])
  })

  test("a tool of the backend may be named by allowedTools, although the runtime has no tool of that name", async () => {
    const { open, written } = scene()
    expect(await open().run({ task: "Write.", allowedTools: ["Write"] })).toMatchObject({ status: "done" })
    expect(written).toHaveLength(1)
    const misspelt = open().run({ task: "Write.", allowedTools: ["Wirte"] })
    await expect(misspelt).resolves.toMatchObject({ status: "failed", error: { code: "config_invalid" } })
  })

  test.each(["Wrte", "write", "*", "mcp:gh/*"])(
    "a tool of the backend fails the run before it starts if disabledTools has %s",
    async (name) => {
      const { open, written } = scene()
      const result = await open().run({ task: "Write.", disabledTools: [name] })
      expect(result).toMatchObject({ status: "failed", error: { code: "config_invalid" } })
      expect(() => open({ disabledTools: [name] })).toThrow(expect.objectContaining({ code: "config_invalid" }))
      expect(written).toEqual([])
    },
  )

  test.each([
    ["disabledTools names it", { disabledTools: ["Write"] }],
    ["allowedTools does not name it", { allowedTools: ["Grep"] }],
  ])(
    "a tool of the backend fails the run before it starts if %s, and the vendor neither asks about it nor starts without it",
    async (_, restricted) => {
      const enforcement = [{ ...unasked, tools: "*" }]
      const { open, written } = scene({ capabilities: { enforcement } })
      const result = await open({ tools: [counting("Grep", "none").tool] }).run({ task: "Write.", ...restricted })
      expect(result).toMatchObject({ status: "failed", error: { code: "config_invalid" } })
      expect(written).toEqual([])
    },
  )

  test("a tool of the backend does not search a folder with a file that Read is denied, and searches another", async () => {
    for (const folder of ["open", "closed"]) mkdirSync(join(workspace, folder))
    writeFileSync(join(workspace, "closed/.env"), "KEY=1")
    const policy = { rules: [{ allow: { tool: "*" } }, { deny: { tool: "Read", path: "**/.env" } }] } as const
    const searched: Json[] = []
    const search = (args: Json) => {
      searched.push(args)
      return "found"
    }
    const script = ({ messages }: SimulatedRequest) => {
      const count = messages.flatMap(({ toolResults }) => toolResults).length
      const path = ["closed", ".", "open"][count]
      return path === undefined ? "Done." : { parts: [{ toolCall: { name: "Grep", args: { pattern: "K", path } } }] }
    }
    const result = await scene({ script, search }, { policy }).open().run({ task: "Search." })
    expect(searched).toEqual([{ pattern: "K", path: "open" }])
    expect(result.toolCalls).toMatchObject([
      { status: "denied", error: expect.stringContaining("hides something below closed: search a narrower folder") },
      { status: "denied" },
      { status: "ok" },
    ])
  })

  test("a tool of the backend gets the value of a secret, and the journal its reference", async () => {
    const secret = "tide-secret-4711"
    const { open, written } = scene({}, { secrets: { TIDE: secret } }, { path: "a", text: `key ${secret}` })
    const runtime = open()
    const result = await runtime.run({ task: "Write." })
    expect(written).toEqual([{ path: "a", text: `key ${secret}` }])
    const records = []
    for await (const record of runtime.events(result.runId)) records.push(record)
    expect(JSON.stringify(records)).not.toContain(secret)
    expect(JSON.stringify(records)).toContain("{{secret:TIDE}}")
  })

  test("a tool of the backend asks `onAsk` and waits; an edit is decided again", async () => {
    const rules = [{ ask: { tool: "Write" } }, { deny: { tool: "Write", path: "b" } }]
    const asked = (path: string) => ({
      policy: { rules, onAsk: () => ({ decision: "approve", args: { path } }) as const },
    })
    const allowed = scene({}, asked("c"))
    expect(await allowed.open().run({ task: "Write." })).toMatchObject({ status: "done" })
    expect(allowed.written).toEqual([{ path: "c" }])
    const denied = scene({}, asked("b"))
    expect(await denied.open().run({ task: "Write." })).toMatchObject({ toolCalls: [{ status: "denied" }] })
    expect(denied.written).toEqual([])
  })

  test("a tool of the backend that was running when the process died is flagged, and its session is not continued", async () => {
    let hang = true
    const died = scene({
      script: ({ messages }) => {
        const isSecond = messages.some(({ text }) => text.includes("may or may not have happened"))
        return isSecond ? "I check first." : { parts: [{ toolCall: { name: "Write", args: { path: "a" } } }] }
      },
      write() {
        if (hang) throw new Error("killed")
      },
    })
    const runtime = died.open()
    const failed = await runtime.run({ task: "Write." })
    expect(failed).toMatchObject({ status: "failed", toolCalls: [{ status: "unknown" }] })
    hang = false
    const resumed = await died.open().resume({ runId: failed.runId })
    expect(resumed).toMatchObject({ status: "done", text: "I check first.", toolCalls: [{ status: "unknown" }] })
  })

  test("a call in a resumed session that is lost is asked for again, with the approval", async () => {
    const { open, written, sessions } = scene({}, { policy: { rules: [{ ask: { tool: "Write" }, via: "pause" }] } })
    const again: SimulatedRequest[] = []
    const paused = await open().run({ task: "Write." })
    expect(paused).toMatchObject({ status: "paused", pause: { pendingToolCall: { name: "Write" } } })
    sessions.clear()
    const backend = fakeBackend({
      script(request) {
        again.push(request)
        const isDone = request.messages.some(({ toolResults }) => toolResults.length > 0)
        return isDone ? "Done." : { parts: [{ toolCall: { name: "Write", args: { path: "a" } } }] }
      },
      write: (args) => written.push(args),
    })
    const result = await open({ backend }).resume({ runId: paused.runId, decision: "approve" })
    expect(again[0]?.messages[0]?.text).toContain("Write")
    expect(result).toMatchObject({ status: "done", warnings: [{ code: "session_lost" }] })
    expect(written).toHaveLength(1)
  })
})

test("a run that was paused on one backend is approved and finished on another", async () => {
  const rules = [{ ask: { tool: "Write" }, via: "pause" as const }]
  const { open, written, store } = scene({}, { policy: { rules } })
  const paused = await open().run({ task: "Write." })
  const seen: string[] = []
  const model = scriptedModel([
    (messages) => {
      seen.push(JSON.stringify(messages))
      return "Finished on native."
    },
  ])
  const runtime = createRuntime({ workspace, store, model, policy: { rules }, tools: [] })
  const result = await runtime.resume({ runId: paused.runId, decision: "approve", backend: "native" })
  expect(result).toMatchObject({ status: "done", text: "Finished on native.", backend: "native" })
  expect(seen[0]).toContain("was approved, but has not run yet")
  expect(written).toEqual([])
})

test("metered usage that exceeds a limit stops the run", async () => {
  const { open } = scene({ script: () => ({ parts: [{ toolCall: { name: "Write", args: { path: "a" } } }] }) })
  const result = await open().run({ task: "Write for ever.", limits: { usd: 0.0035 } })
  expect(result).toMatchObject({ status: "failed", error: { code: "budget_exceeded" } })
  expect(result.usage.costUsd).toBeCloseTo(0.004)
})

test("a session without a sign of life is stopped as stalled, and the run can be resumed", async () => {
  let isSilent = true
  const script = () => (isSilent ? new Promise<never>(() => {}) : "Here.")
  const { open } = scene({ script }, { deadlines: { idleMs: 50 } })
  const stalled = await open().run({ task: "Answer." })
  expect(stalled).toMatchObject({ status: "failed", error: { code: "stream_stalled" } })
  isSilent = false
  expect(await open().resume({ runId: stalled.runId })).toMatchObject({ status: "done", text: "Here." })
})

test("an approved call that runs outside the loop may take longer than a session may be silent", async () => {
  const policy = { rules: [{ ask: { tool: "Write" } }], ask: "pause" } as const
  const fake = scene({ resumeBy: "settle", capabilities: { edge: false } })
  const backend: Backend = {
    ...fake.backend,
    async open(request, env) {
      const session = await fake.backend.open(request, env)
      const execute = session.execute?.bind(session)
      session.execute = async (call, signal) => {
        await delay(1500)
        return (await execute?.(call, signal)) ?? { status: "unknown", output: [] }
      }
      return session
    },
  }
  const runtime = fake.open({ backend, policy, deadlines: { idleMs: 500 } })
  const { runId } = await runtime.run({ task: "Write." })
  expect(await runtime.resume({ runId, decision: "approve" })).toMatchObject({ status: "done" })
  expect(fake.written).toHaveLength(1)
})

test("a fork has a session of its own", async () => {
  const { open, sessions } = scene()
  const runtime = open()
  const first = await runtime.run({ task: "Write." })
  const { runId } = await runtime.fork(first.runId)
  const forked = await runtime.resume({ runId, answer: "And now?" })
  expect(forked.status).toBe("done")
  expect(sessions.size).toBe(2)
  expect(forked.sessionId).not.toBe(first.sessionId)
})

test("a backend that throws is a failed run with a code", { tags: ["RES-15", "RES-16"] }, async () => {
  const { open, backend } = scene()
  const throwing = { ...backend, open: () => Promise.reject(new TypeError("undefined is not a function")) }
  expect(await open({ backend: throwing }).run({ task: "x" })).toMatchObject({
    status: "failed",
    error: { code: "backend_crashed", message: "The fake backend failed unexpectedly." },
  })
})

describe("auto", () => {
  const named = (name: string, script: FakeBackendOptions["script"], features: readonly Feature[]) =>
    fakeBackend({ name, script, capabilities: { features } })

  test("a run chooses a backend that works here and has what the work needs, and records why", {
    tags: ["BK-21"],
  }, async () => {
    const absent = named("absent", () => "absent", ["code_execution", "file_access"])
    const gone = { ...absent, probe: async () => ({ found: false, login: "unknown" }) as const }
    const plain = named("plain", () => "plain", ["tools"])
    const coder = named("coder", () => "I am the coder.", ["tools", "code_execution"])
    const { open } = scene({}, { backend: "auto", backends: [gone, plain, coder] })
    const runtime = open()
    const result = await runtime.run({ task: "Build it." })
    expect(result).toMatchObject({ status: "done", text: "I am the coder.", backend: "coder" })
    for await (const record of runtime.events(result.runId)) {
      if (record.type !== "choice") continue
      expect(record.reasons).toEqual(["Required: code_execution.", "It is the first that has all of these."])
    }
  })

  test("a task that native can do stays there: its features follow from the run's tools and servers", async () => {
    const { open } = scene({}, { backend: "auto", model: scriptedModel(["native"]), tools: fileTools() })
    expect(await open().run({ task: "hello" })).toMatchObject({ status: "done", text: "native", backend: "native" })
  })

  test("a backend that is logged out is not used", async () => {
    const loggedOut = {
      ...named("out", () => "out", ["tools"]),
      probe: async () => ({ found: true, login: "no" }) as const,
    }
    const { open } = scene({}, { backend: "auto", backends: [loggedOut], model: scriptedModel(["native"]) })
    expect(await open().run({ task: "hello" })).toMatchObject({ status: "done", text: "native" })
  })

  test("a backend whose probe hangs or fails is not used", async () => {
    const asked: unknown[] = []
    const hanging: Backend = {
      ...named("hanging", () => "hanging", ["tools"]),
      probe({ deadlines }) {
        asked.push(deadlines)
        return new Promise(() => {})
      },
    }
    const failure = new LonghaulError("backend_crashed", "It broke.").toJSON()
    const broken = {
      ...named("broken", () => "broken", ["tools"]),
      probe: async () => ({ found: true, login: "unknown", failure }) as const,
    }
    const throwing = {
      ...named("throwing", () => "throwing", ["tools"]),
      probe() {
        throw new TypeError("undefined is not a function")
      },
    }
    const rejecting = { ...named("rejecting", () => "rejecting", ["tools"]), probe: () => Promise.reject(failure) }
    const backends = [hanging, broken, throwing, rejecting]
    const { open } = scene({}, { backend: "auto", backends, model: scriptedModel(["native"]) })
    expect(await open().run({ task: "hello" })).toMatchObject({ status: "done", text: "native" })
    expect(asked).toMatchObject([{ openMs: 3000, replyMs: 3000 }])
  })

  test("a chosen backend that turns out to be logged out is replaced by native", async () => {
    const loggedOut = named("out", () => {
      throw new LonghaulError("auth", "Not logged in.")
    }, ["tools"])
    const { open } = scene({}, { backend: "auto", backends: [loggedOut], model: scriptedModel(["native"]) })
    expect(await open().run({ task: "hello" })).toMatchObject({ status: "done", text: "native", backend: "native" })
  })

  test.each(["config_invalid", "backend_protocol", "backend_crashed"] as const)(
    "a chosen backend whose session fails as %s before an answer is replaced by native, one that was named is not",
    async (code) => {
      const unfit = {
        ...named("unfit", () => "unfit", ["tools"]),
        open: () => Promise.reject(new LonghaulError(code, "It does not open here.", { retryable: false })),
      }
      const { open } = scene({}, { backend: "auto", backends: [unfit], model: scriptedModel(["native", "native"]) })
      const runtime = open()
      expect(await runtime.run({ task: "hello" })).toMatchObject({ status: "done", text: "native", backend: "native" })
      expect(await runtime.run({ task: "hello", chain: ["unfit", "native"] })).toMatchObject({
        status: "failed",
        error: { code },
      })
    },
  )

  test("a chosen backend that fails after its first answer ends the run", async () => {
    const script = ({ messages }: SimulatedRequest) => {
      if (messages.length === 1) return { parts: [{ toolCall: { name: "missing", args: {} } }] }
      throw new LonghaulError("backend_protocol", "It broke.")
    }
    const late = named("late", script, ["tools"])
    const { open } = scene({}, { backend: "auto", backends: [late], model: scriptedModel(["native"]) })
    expect(await open().run({ task: "hello" })).toMatchObject({
      status: "failed",
      backend: "late",
      error: { code: "backend_protocol" },
    })
  })

  test.each([
    ["a chain of one", { chain: [{ backend: "fake", requires: ["audio"] }] }, "capability_mismatch"],
    ["a misspelt feature", { chain: [{ backend: "fake", requires: ["adio"] }] }, "config_invalid"],
    ["a misspelt feature of a selection", { backend: "auto", selection: { requires: ["adio"] } }, "config_invalid"],
    ["a text instead of a list", { chain: [{ backend: "fake", requires: "audio" }] }, "config_invalid"],
  ])("a requirement in %s counts", async (_, input, code) => {
    const { open, backend } = scene()
    const given = input as Pick<RunInput, "chain"> // Safe: the point is that some are not.
    const run = open({ backends: [backend] }).run({ task: "Go.", ...given })
    expect(await run).toMatchObject({ status: "failed", error: { code } })
  })

  test("without a capable backend the run is native", { tags: ["SEL-09"] }, async () => {
    const plain = named("plain", () => "plain", ["tools"])
    const { open } = scene({}, { backend: "auto", backends: [plain], model: scriptedModel(["native"]) })
    const result = await open().run({ task: "Look.", selection: { requires: ["audio"] } })
    expect(result).toMatchObject({ status: "done", text: "native", backend: "native" })
  })

  test("a backend that answers slowly is not chosen again for speed", { tags: ["SEL-07"] }, async () => {
    const slow = named("slow", () => new Promise((resolve) => setTimeout(resolve, 60, "slow")), ["tools"])
    const fast = fakeBackend({
      name: "fast",
      script: () => "fast",
      capabilities: { features: ["tools"], latencyMs: 20 },
    })
    const declared = { ...slow, capabilities: { ...slow.capabilities, latencyMs: 5 } }
    const { open } = scene(
      {},
      { backend: "auto", backends: [declared, fast], selection: { strategy: "latency_optimized" } },
    )
    const runtime = open()
    expect((await runtime.run({ task: "Now." })).text).toBe("slow")
    expect((await runtime.run({ task: "Now." })).text).toBe("fast")
  })
})

test("the runtime tells what its backends can do, and how far the policy reaches on each", {
  tags: ["CAP-10"],
}, async () => {
  const { open } = scene({}, { backends: [fakeBackend({ name: "other", script: () => "" })] })
  const runtime = open()
  expect(await runtime.backends()).toContainEqual({ name: "other", found: true, version: "1", login: "yes" })
  expect((await runtime.capabilities("native")).features).toContain("parallel_tools")
  expect(await runtime.enforcement("fake")).toMatchObject([{ tools: "*", gate: "ours", failsClosed: true }])
  await expect(runtime.capabilities("nowhere")).rejects.toMatchObject({ code: "config_invalid" })
})

describe("a run that moves to another backend", () => {
  const model = () => scriptedModel(["Finished on native."])
  async function failedRun() {
    const { open, store, backend } = scene(
      {
        script: ({ messages }) => {
          if (messages.some(({ toolResults }) => toolResults.length > 0)) throw new Error("down")
          return { parts: [{ toolCall: { name: "Write", args: { path: "moved.txt" } } }] }
        },
        write: () => writeFileSync(join(workspace, "moved.txt"), "as the run left it"),
      },
      {},
    )
    const failed = await open().run({ task: "Write." })
    expect(failed.status).toBe("failed")
    const resume = (answer?: string) =>
      createRuntime({ workspace, store, backends: [backend], model: model(), tools: [] }).resume({
        runId: failed.runId,
        backend: "native",
        ...(answer !== undefined && { answer }),
      })
    return { resume }
  }

  test("a run that moves to another backend goes on if the files that it used are as it left them", async () => {
    const { resume } = await failedRun()
    expect(await resume()).toMatchObject({ status: "done", text: "Finished on native.", backend: "native" })
  })

  test("a run that moves to another backend pauses if a file that it used was deleted", async () => {
    const { resume } = await failedRun()
    rmSync(join(workspace, "moved.txt"))
    expect((await resume()).pause).toMatchObject({ reason: "handover", text: expect.stringContaining("moved.txt") })
  })

  test("a run that moves to another backend pauses and says which files have changed, and goes on when it is resumed again", async () => {
    const { resume } = await failedRun()
    writeFileSync(join(workspace, "moved.txt"), "changed by a person")
    expect(await resume()).toMatchObject({
      status: "paused",
      pause: {
        reason: "handover",
        text: "Files that the run used have changed since it stopped on fake: moved.txt.",
        pendingToolCall: null,
      },
    })
    expect(await resume("I changed it on purpose.")).toMatchObject({ status: "done", backend: "native" })
  })
})

test("a listener that comes in the middle of a secret gets none of it", async () => {
  const secret = "tide-table-key-4711"
  const middle = deferred()
  const base = fakeBackend({ script: () => "" })
  const backend: Backend = {
    ...base,
    async open(request, env) {
      const session = await base.open(request, env)
      return {
        ...session,
        ref: session.ref,
        steer: () => false,
        interrupt: () => {},
        close: async () => {},
        async run(_, host) {
          await host.beginTurn(1, () => ({ inputTokens: 0, outputTokens: 0 }))
          const show = (delta: string) => host.deltas && host.show({ type: "text-delta", id: "1.0", delta })
          if (host.deltas) host.show({ type: "text-start", id: "1.0" })
          show(`The key is ${secret.slice(0, 9)}`)
          middle.resolve()
          await until(() => host.deltas)
          show(`${secret.slice(9)}.`)
          const text = `The key is ${secret}.`
          host.emit({ type: "text-end", turn: 1, id: "1.0", text })
          return { reason: "done", text }
        },
      }
    },
  }
  const runtime = createRuntime({ store: memoryStore(), backend, tools: [], secrets: { KEY: secret } })
  const { runId } = await runtime.start({ task: "Tell me." })
  await middle.promise
  const seen: string[] = []
  const events = runtime.events(runId, { follow: true, deltas: true })[Symbol.asyncIterator]()
  for (let next = await events.next(); !next.done; next = await events.next()) seen.push(JSON.stringify(next.value))
  expect(seen.join("\n")).toContain("text-end")
  expect(seen.filter((event) => event.includes("text-delta"))).toEqual([])
})

function deferred() {
  let resolve = () => {}
  const promise = new Promise<void>((settle) => {
    resolve = settle
  })
  return { promise, resolve: () => resolve() }
}

test("a result does not claim more enforcement than its backend declares, however often its session changes", async () => {
  const weak = {
    tools: "*",
    gate: "vendor",
    rewrite: false,
    failsClosed: false,
    exactArguments: false,
    ledger: "result",
  } as const
  const base = fakeBackend({ script: () => "Done.", capabilities: { enforcement: [weak] } })
  const backend: Backend = {
    ...base,
    async open(request, env) {
      const session = await base.open(request, env)
      const run: typeof session.run = (input, host) => {
        host.emit({ type: "session", ref: { ...session.ref, data: { stored: true } } })
        return session.run(input, host)
      }
      return Object.assign(Object.create(session), { run, ref: session.ref })
    },
  }
  const { open, store } = scene({}, { backend })
  const result = await open().run({ task: "x" })
  expect(result.enforcement).toEqual([weak])
  const moved = createRuntime({ workspace, store, model: scriptedModel(["Done."]), backends: [backend], tools: [] })
  const { runId } = await moved.fork(result.runId)
  const resumed = await moved.resume({ runId, answer: "Go on.", backend: "native" })
  const everything = { gate: "ours", rewrite: true, failsClosed: true, exactArguments: true, ledger: "intent" } as const
  expect(resumed.enforcement).toEqual([{ tools: "*", ...everything }])
  expect((await moved.run({ task: "x", backend: "native" })).enforcement).toEqual([{ tools: "*", ...everything }])
})

test("a program that prints its keys does not get them into the list of backends", async () => {
  const key = "tide-table-key-4711"
  const base = fakeBackend({ name: "loud", script: () => "" })
  const failure = new LonghaulError("auth", `The key ${key} is not valid.`, { fix: `Replace ${key}.` }).toJSON()
  const loud: Backend = { ...base, probe: async () => ({ found: true, version: `1 ${key}`, login: "no", failure }) }
  const runtime = createRuntime({ store: memoryStore(), backends: [loud], secrets: { TIDE: key }, tools: [] })
  const found = (await runtime.backends()).find(({ name }) => name === "loud")
  expect(found).toMatchObject({ version: "1 {{secret:TIDE}}", login: "no" })
  expect(JSON.stringify(found)).not.toContain(key)
})

describe("a failure that may pass", () => {
  const capabilities = { retries: undefined } as unknown as Partial<Capabilities> // As a backend that does not repeat requests.
  const overloaded = new LonghaulError("overloaded", "Busy.", { retryable: true, retryAfterMs: 1 })

  /** Fails at these requests of the model, which calls Write once. */
  function failing(...at: readonly number[]) {
    let requests = 0
    const seen: number[] = []
    const script = ({ messages }: SimulatedRequest) => {
      requests++
      seen.push(messages.length)
      if (at.includes(requests)) throw overloaded
      const text = JSON.stringify(messages)
      return /written/.test(text) ? "Done." : { parts: [{ toolCall: { name: "Write", args: { path: "a" } } }] }
    }
    return { ...scene({ script, capabilities }), count: () => requests }
  }

  test.each([
    ["the first request", 1],
    ["a request after a call, which does not run again", 2],
  ])("a turn that fails at %s is repeated in the vendor's session, and recorded as a retry", async (_, at) => {
    const { open, backend, written, count } = failing(at)
    const origins: string[] = []
    const watched: Backend = {
      ...backend,
      open(request, env) {
        origins.push(request.from.kind)
        return backend.open(request, env)
      },
    }
    const runtime = open({ backend: watched })
    expect(await runtime.run({ task: "Write.", runId: "r" })).toMatchObject({ status: "done", text: "Done." })
    expect(count()).toBe(3)
    expect(written).toHaveLength(1)
    const retries = []
    for await (const record of runtime.events("r")) if (record.type === "retry") retries.push(record)
    expect(retries).toMatchObject([{ attempt: 1, failure: { code: "overloaded" } }])
    expect(origins).toEqual(["history", "session"])
  })

  test("a failure of the backend while a call is open flags the call, and does not run it again", async () => {
    const { open, backend, written } = failing()
    const origins: string[] = []
    const breaking: Backend = {
      ...backend,
      async open(request, env) {
        const session = await backend.open(request, env)
        if (origins.push(request.from.kind) > 1) return session
        return {
          ...{ ref: session.ref, steer: () => false, interrupt: () => {}, close: () => session.close() },
          async run(_, host) {
            await host.beginTurn(1, () => ({ inputTokens: 0, outputTokens: 0 }))
            const call = { callId: "c", name: "Write", args: { path: "a" } }
            host.emit({ type: "tool-call", turn: 1, executor: "backend", ...call })
            await host.authorize(call, { name: "Write", nativeName: "w", effect: "once", risk: "low" })
            return { reason: "failed", failure: overloaded.toJSON() }
          },
        }
      },
    }
    const runtime = open({ backend: breaking })
    const result = await runtime.run({ task: "Write.", runId: "r" })
    expect(result.toolCalls[0]).toMatchObject({ name: "Write", status: "unknown" })
    const types: string[] = []
    for await (const { type } of runtime.events("r")) types.push(type)
    // The next session is told, so it comes before the retry.
    expect(types.indexOf("tool-result")).toBeLessThan(types.indexOf("retry"))
    expect(types).toContain("tool-result")
    // A session that ended in the middle of a step is not continued.
    expect(origins).toEqual(["history", "history"])
    expect(written.length).toBeLessThanOrEqual(1)
  })

  test("a failure of the backend that does not pass fails the run after three attempts", async () => {
    const { open, count } = failing(1, 2, 3, 4)
    expect(await open().run({ task: "Write." })).toMatchObject({ status: "failed", error: { code: "overloaded" } })
    expect(count()).toBe(3)
  })

  test("each turn that fails has three attempts, however many the turns before took", async () => {
    const { open, count } = failing(1, 2, 4, 5)
    expect(await open().run({ task: "Write." })).toMatchObject({ status: "done", text: "Done." })
    expect(count()).toBe(6)
  })

  test("a failed turn is not repeated by a backend that repeats its requests itself", async () => {
    const { open, backend, count } = failing(1)
    const repeating = { ...backend, capabilities: { ...backend.capabilities, retries: true } } as const
    expect(await open({ backend: repeating }).run({ task: "Write." })).toMatchObject({ status: "failed" })
    expect(count()).toBe(1)
  })
})

describe("a resume, on any backend, first ends the programs that the dead owner left", () => {
  const isSwept = async (resume: () => Promise<unknown>) => {
    process.env.LONGHAUL_STORE = join(base, "swept")
    const folder = join(defaultSpillFolder(), "0".repeat(32))
    mkdirSync(folder, { recursive: true })
    const dead = { ...processOwner(), started: 1 }
    writeFileSync(join(folder, "owner.json"), JSON.stringify(dead))
    await resume()
    delete process.env.LONGHAUL_STORE
    return !existsSync(join(folder, "owner.json"))
  }
  const native = { backend: "native", model: scriptedModel(["Done.", "Done."]) } as const

  test("a resume of a run with a session first ends the programs that the dead owner left", async () => {
    const { open } = scene({}, { policy: { rules: [{ ask: { tool: "Write" }, via: "pause" }] } })
    await open().run({ task: "Write.", runId: "r" })
    const resume = () => open(native).resume({ runId: "r", decision: "deny", backend: "native" })
    expect(await isSwept(resume)).toBe(true)
  })

  test("a resume of a run whose program had not opened its session first ends the programs that the dead owner left", async () => {
    const { open, backend } = scene()
    const recorded: string[] = []
    const opening: Backend = {
      ...backend,
      async open() {
        // As another process would see it at this moment.
        for await (const { type } of open().events("r")) {
          recorded.push(type)
          if (type === "choice") break
        }
        throw new LonghaulError("backend_crashed", "It broke.", { retryable: false })
      },
    }
    await open({ backend: opening }).run({ task: "Write.", runId: "r" })
    expect(recorded).toEqual(["run-start", "choice"])
    expect(await isSwept(() => open(native).resume({ runId: "r", backend: "native" }))).toBe(true)
  })

  test("a resume of a run that never had a session ends no programs: its shells report what they end", async () => {
    const { open } = scene({}, native)
    await open().run({ task: "Write.", runId: "r", limits: { tokens: 1 } })
    expect(await isSwept(() => open(native).resume({ runId: "r", limits: { tokens: 100_000 } }))).toBe(false)
  })
})
