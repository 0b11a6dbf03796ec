import { describe, expect, test } from "vitest"
import { LonghaulError } from "../../contract/error.ts"
import type { Extension, ExtensionRun, OpenedExtension } from "../../contract/extension.ts"
import type { ConversationSetup } from "../../contract/provider.ts"
import type { RuntimeConfig } from "../../contract/run.ts"
import type { Store } from "../../contract/store.ts"
import { createRuntime } from "../../index.ts"
import { memoryStore } from "../../stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../../testing/index.ts"
import { defineTool } from "../../tools/kernel/define-tool.ts"

const call = (name: string, args = {}) => ({ parts: [{ toolCall: { name, args } }] })

function tool(name: string, run: () => unknown = () => `${name} ran`, more: object = {}) {
  return defineTool({
    name,
    description: `runs ${name}`,
    inputSchema: { type: "object" },
    effect: "none",
    run,
    ...more,
  })
}

/** An extension that notes what happens to it. */
function noting(name: string, given: (run: ExtensionRun) => OpenedExtension) {
  const opened: ExtensionRun[] = []
  const closed: string[] = []
  const extension: Extension = {
    name,
    async open(run) {
      opened.push(run)
      return { ...given(run), close: async () => void closed.push(run.runId) }
    },
  }
  return { extension, opened, closed }
}

function runtimeOver(store: Store, steps: readonly ScriptedStep[], config: RuntimeConfig = {}) {
  const model = scriptedModel(steps)
  return { model, runtime: createRuntime({ model, store, ...config }) }
}

async function recordsOf(runtime: ReturnType<typeof createRuntime>, runId: string) {
  const records = []
  for await (const record of runtime.events(runId)) records.push(record)
  return records
}

describe("an extension", () => {
  test("an extension adds instructions and tools, which are recorded after run-start and before the first turn", async () => {
    const setups: ConversationSetup[] = []
    const { extension, opened, closed } = noting("weather", () => ({
      instructions: "Ask Weather.",
      tools: [tool("Weather")],
      facts: { station: 7 },
    }))
    const store = memoryStore()
    const durable: string[] = []
    const steps: ScriptedStep[] = [
      async (_, setup) => {
        setups.push(setup)
        // Another process sees only what is durable.
        const elsewhere = createRuntime({ store })
        for await (const { type } of elsewhere.events("r", { follow: false })) durable.push(type)
        return call("Weather")
      },
      "It rains.",
    ]
    const { runtime } = runtimeOver(store, steps, { extensions: [extension] })
    const result = await runtime.run({ task: "Will it rain?", system: "Be brief.", runId: "r" })
    expect(result).toMatchObject({ status: "done", toolCalls: [{ name: "Weather", status: "ok" }] })
    expect(setups[0]).toMatchObject({ system: "Be brief.\n\nAsk Weather.", tools: [{ name: "Weather" }] })
    expect(opened[0]).toMatchObject({ runId: "r", nodeId: "main", task: "Will it rain?" })
    expect(opened[0]?.signal.aborted).toBe(true)
    expect(closed).toEqual(["r"])
    expect(durable).toContain("extensions")
    const records = await recordsOf(runtime, "r")
    expect(records.map(({ type }) => type).slice(0, 2)).toEqual(["run-start", "extensions"])
    expect(records[1]).toMatchObject({
      extensions: [
        {
          name: "weather",
          instructions: "Ask Weather.",
          tools: [{ name: "Weather", digest: expect.any(String) }],
          facts: { station: 7 },
        },
      ],
    })
  })

  test("an extension of a run replaces the runtime's of the same name, and others stay", async () => {
    const of = (name: string, instructions: string) => noting(name, () => ({ instructions })).extension
    const systems: (string | undefined)[] = []
    const step: ScriptedStep = (_, setup) => {
      systems.push(setup.system)
      return "ok"
    }
    const { runtime } = runtimeOver(memoryStore(), [step, step], { extensions: [of("a", "A1"), of("b", "B1")] })
    await runtime.run({ task: "x", extensions: [of("b", "B2")] })
    await runtime.run({ task: "x" })
    expect(systems).toEqual(["A1\n\nB2", "A1\n\nB1"])
  })

  test("an extension of a resumed run gets back what it recorded, and the run keeps its instructions and its tools", async () => {
    const store = memoryStore()
    const pausing = { hooks: { gateBeforeTool: () => ({ allow: false, reason: "Ask." }) } } as const
    const first = noting("notes", () => ({ instructions: "Version 1.", tools: [tool("Note")], facts: { v: 1 } }))
    const begun = runtimeOver(store, [call("Note")], { extensions: [first.extension], ...pausing })
    expect(await begun.runtime.run({ task: "x", runId: "r" })).toMatchObject({ status: "paused" })

    const systems: (string | undefined)[] = []
    const tools: (readonly string[])[] = []
    const later = noting("notes", () => ({
      instructions: "Version 2.",
      tools: [tool("Note", () => "noted", { description: "another text" }), tool("Erase")],
    }))
    const steps: ScriptedStep[] = [
      (_, setup) => {
        systems.push(setup.system)
        tools.push(setup.tools.map(({ name }) => name))
        return "ok"
      },
    ]
    const { runtime } = runtimeOver(store, steps, { extensions: [later.extension] })
    const result = await runtime.resume({ runId: "r", decision: "approve" })
    expect(result).toMatchObject({ status: "done", toolCalls: [{ name: "Note", status: "ok" }] })
    expect(later.opened[0]?.recorded).toMatchObject({ name: "notes", facts: { v: 1 } })
    expect(systems).toEqual(["Version 1."])
    expect(tools).toEqual([["Note"]])
    expect(result.warnings).toMatchObject([{ code: "tool_changed", message: expect.stringContaining("Note") }])
  })

  test("an extension that is passed again on resume is opened anew and recorded again", {
    tags: ["PAU-08"],
  }, async () => {
    const store = memoryStore()
    const pausing = { hooks: { gateBeforeTool: () => ({ allow: false, reason: "Ask." }) } } as const
    const first = noting("skills", () => ({ instructions: "Old skills.", tools: [tool("SkillPage")] }))
    const begun = runtimeOver(store, [call("SkillPage")], pausing)
    await begun.runtime.run({ task: "x", runId: "r", extensions: [first.extension] })
    const systems: (string | undefined)[] = []
    const { runtime } = runtimeOver(store, [
      (_, setup) => {
        systems.push(setup.system)
        return "ok"
      },
    ])
    const again = noting("skills", () => ({ instructions: "New skills.", tools: [tool("SkillPage")] }))
    const result = await runtime.resume({ runId: "r", decision: "approve", extensions: [again.extension] })
    expect(result.status).toBe("done")
    expect(again.opened[0]?.recorded).toBeUndefined()
    expect(systems).toEqual(["New skills."])
    const recorded = (await recordsOf(runtime, "r")).filter(({ type }) => type === "extensions")
    expect(recorded).toHaveLength(2)
  })

  test("an extension that a waiting call needs and that is not there fails the run, which can be resumed with it", async () => {
    const store = memoryStore()
    const ran: string[] = []
    const pay = () =>
      noting("bank", () => ({ tools: [tool("Pay", () => ran.push("paid"), { effect: "once" })] })).extension
    const gone = noting("bank", () => ({})).extension
    const pausing = { hooks: { gateBeforeTool: () => ({ allow: false, reason: "Ask." }) } } as const
    const begun = runtimeOver(store, [call("Pay")], { extensions: [pay()], ...pausing })
    await begun.runtime.run({ task: "x", runId: "r" })
    const without = runtimeOver(store, [], { extensions: [gone] })
    expect(await without.runtime.resume({ runId: "r", decision: "approve" })).toMatchObject({
      status: "failed",
      error: { code: "config_invalid", retryable: true, message: expect.stringContaining("Pay") },
    })
    expect(ran).toEqual([])
    const { runtime } = runtimeOver(store, ["ok"], { extensions: [pay()] })
    expect(await runtime.resume({ runId: "r" })).toMatchObject({ status: "done" })
    expect(ran).toEqual(["paid"])
  })

  test("an extension that cannot be opened fails the run with its error, and the others are closed", async () => {
    const other = noting("other", () => ({}))
    const broken: Extension = {
      name: "broken",
      open: () => Promise.reject(new LonghaulError("network", "The server is down.", { retryable: true })),
    }
    const { runtime } = runtimeOver(memoryStore(), [], { extensions: [other.extension, broken] })
    expect(await runtime.run({ task: "x", runId: "r" })).toMatchObject({
      status: "failed",
      error: { code: "network", message: "The server is down." },
    })
    expect(other.closed).toEqual(["r"])
  })

  test("an extension has its tools filtered by allowedTools and disabledTools of the runtime and of the run", async () => {
    const listed: (readonly string[])[] = []
    const step: ScriptedStep = (_, setup) => {
      listed.push(setup.tools.map(({ name }) => name))
      return "ok"
    }
    const { extension } = noting("abc", () => ({ tools: [tool("A"), tool("B"), tool("C")] }))
    const config = { extensions: [extension], allowedTools: ["A", "B"] }
    const { runtime } = runtimeOver(memoryStore(), [step, step, step, step], config)
    await runtime.run({ task: "x" })
    await runtime.run({ task: "x", disabledTools: ["A"] })
    await runtime.run({ task: "x", allowedTools: ["B", "C"], runId: "r" })
    await runtime.continue("r", "y")
    expect(listed).toEqual([["A", "B"], ["B"], ["B"], ["B"]])
  })

  test("an extension has its credentials masked wherever they appear", async () => {
    const secret = "sentinel-of-extension-1234"
    const extension: Extension = {
      name: "leaky",
      credentials: () => ({ token: secret }),
      open: (run) => {
        run.warn("leak", `The token is ${secret}.`)
        return { instructions: `Use ${secret}.`, facts: { secret }, tools: [tool("Leak", () => `got ${secret}`)] }
      },
    }
    const store = memoryStore()
    const { runtime, model } = runtimeOver(store, [call("Leak"), "ok"], { extensions: [extension] })
    const result = await runtime.run({ task: `x ${secret}`, runId: "r" })
    expect(JSON.stringify([result, model.calls, await recordsOf(runtime, "r")])).not.toContain(secret)
  })

  test("an extension reaches only its workspace in the store", async () => {
    const store = memoryStore()
    const paths: string[] = []
    const extension: Extension = {
      name: "files",
      async open({ shared }) {
        await shared.folder("memory/lessons").create("a.md", new TextEncoder().encode("x"))
        for (const path of ["../other", "/etc", "a//b", "a/../../b", "", ".", "a/\0"]) {
          expect(() => shared.folder(path)).toThrow("is not a path inside a workspace")
        }
        paths.push(...(await shared.list("memory")))
        return {}
      },
    }
    const { runtime } = runtimeOver(store, ["ok"], { extensions: [extension], workspaceId: "acme" })
    expect(await runtime.run({ task: "x" })).toMatchObject({ status: "done" })
    expect(paths).toEqual(["lessons"])
    expect(await store.list("workspaces/acme/memory")).toEqual(["lessons"])
  })

  test("an extension with an invalid shape, or with the name of another, is config_invalid", async () => {
    const { extension } = noting("a", () => ({}))
    expect(() => createRuntime({ extensions: [extension, extension] })).toThrow("Two extensions have the name a.")
    // @ts-expect-error JavaScript callers have no compiler.
    expect(() => createRuntime({ extensions: [{ name: "x" }] })).toThrow("extensions[0] has no function open.")
  })

  test("an extension is shared by the agents of a run: they have its tools and its instructions", async () => {
    const seen: { system: string | undefined; tools: readonly string[] }[] = []
    const see = (_: unknown, setup: ConversationSetup) => {
      seen.push({ system: setup.system, tools: setup.tools.map(({ name }) => name) })
    }
    const { extension, opened } = noting("w", () => ({ instructions: "Ask Weather.", tools: [tool("Weather")] }))
    const steps: ScriptedStep[] = [
      call("Agent", { description: "d", prompt: "Look." }),
      (...args) => {
        see(...args)
        return call("Weather")
      },
      "It rains.",
      "Done.",
    ]
    const { runtime } = runtimeOver(memoryStore(), steps, { extensions: [extension], agents: {} })
    expect(await runtime.run({ task: "x" })).toMatchObject({ status: "done", text: "Done." })
    expect(opened).toHaveLength(1)
    expect(seen[0]?.system?.endsWith("\n\nAsk Weather.")).toBe(true)
    expect(seen[0]?.tools).toContain("Weather")
  })
})
