import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import { LonghaulError } from "../../contract/error.ts"
import type { ResumeInput, RunInput, RuntimeConfig } from "../../contract/run.ts"
import type { Runtime } from "../../contract/runtime.ts"
import { openKnowledge, writeKnowledgeIndex } from "../../extensions/knowledge/index.ts"
import { indexShape, openShape } from "../../extensions/knowledge/source.ts"
import { createOnlyStore, fsStore, fsStoreShape } from "../../hosts/node/store/fs-store.ts"
import { createRuntime } from "../../index.ts"
import { memoryStore } from "../../stores/memory.ts"
import { scriptedModel } from "../../testing/index.ts"
import { defineTool } from "../../tools/kernel/define-tool.ts"
import { verifyWebhook } from "../../webhooks/index.ts"
import { receivedShape } from "../../webhooks/verify.ts"
import { configShape } from "../config.ts"
import { resumeShape } from "../resume-run.ts"
import { runShape } from "./input.ts"

const folder = mkdtempSync(join(tmpdir(), "longhaul-shapes-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** What JavaScript code passes by mistake. */
const wrong: readonly unknown[] = [
  null,
  0,
  Number.NaN,
  "",
  "photo.png",
  true,
  false,
  [],
  [null],
  ["photo.png"],
  [0],
  [[]],
  [{}],
  [() => {}],
  {},
  { custom: null },
  { custom: 1 },
  { type: "x", content: [] },
  () => {},
  Symbol("s"),
  10n,
  new Map(),
  new Date(0),
]

/** Passes a value without type checks, like plain JavaScript. */
const untyped = (value: unknown) => value as never
const named = (value: unknown) => (typeof value === "function" ? "function" : (whole(value) ?? String(value)))
function whole(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

async function paused(): Promise<Runtime> {
  const pay = defineTool({ name: "pay", description: "Pays.", input: { type: "object" }, run: () => "paid" })
  const hooks = { gateBeforeTool: () => ({ allow: false, reason: "Ask." }) as const }
  const steps = [{ parts: [{ toolCall: { name: "pay", args: {} } }] }, "Done.", "Done.", "Done."]
  const runtime = createRuntime({ model: scriptedModel(steps), store: memoryStore(), tools: [pay], hooks })
  await runtime.run({ task: "pay", runId: "r" })
  return runtime
}

/** Every result is typed; a rejection with anything else fails the test with what was passed. */
async function expectTyped(what: string, call: () => unknown): Promise<void> {
  try {
    await call()
  } catch (error) {
    if (LonghaulError.is(error)) expect(error.fix ?? "", what).not.toBe("")
    else expect.fail(`${what} threw ${error}`)
  }
}

describe.each(Object.keys(runShape))("run({ %s })", (key) => {
  test.each(wrong.map((value) => [named(value), value] as const))("%s never rejects raw", async (shown, value) => {
    const runtime = createRuntime({ model: scriptedModel(["Done.", "Done."]), store: memoryStore() })
    const input = { task: "x", [key]: value } as unknown as RunInput
    await expectTyped(`run({ ${key}: ${shown} })`, () => runtime.run(untyped(input)))
    await expectTyped(`start({ ${key}: ${shown} })`, async () => {
      const { runId } = await runtime.start(untyped(input))
      if (typeof runId === "string") await runtime.waitFor(runId, { timeoutMs: 1 })
    })
    await runtime.close()
  })
})

describe.each(Object.keys(resumeShape))("resume({ %s })", (key) => {
  test.each(wrong.map((value) => [named(value), value] as const))("%s never rejects raw", async (shown, value) => {
    const runtime = await paused()
    const input = { runId: "r", decision: "approve", [key]: value } as unknown as ResumeInput
    await expectTyped(`resume({ ${key}: ${shown} })`, () => runtime.resume(untyped(input)))
    await runtime.close()
  })
})

describe.each(Object.keys(configShape))("createRuntime({ %s })", (key) => {
  test.each(wrong.map((value) => [named(value), value] as const))("%s never throws raw", async (shown, value) => {
    const config = { model: scriptedModel(["Done."]), store: memoryStore(), [key]: value } as unknown as RuntimeConfig
    await expectTyped(`createRuntime({ ${key}: ${shown} })`, async () => {
      const runtime = createRuntime(untyped(config))
      await expectTyped(`run under createRuntime({ ${key}: ${shown} })`, () => runtime.run({ task: "x" }))
      await runtime.close()
    })
  })
})

const store = memoryStore()
const body = "{}"
/** Further public functions that take settings: the shape of the settings, ones that work, and the call. */
const functions: readonly (readonly [string, object, object, (given: never) => unknown])[] = [
  ["verifyWebhook", receivedShape, { headers: {}, body, secrets: ["whsec_MDEyMzQ1Njc4OQ=="] }, verifyWebhook],
  ["writeKnowledgeIndex", indexShape, { store, base: "handbook" }, writeKnowledgeIndex],
  ["openKnowledge", openShape, { store }, openKnowledge],
  ["fsStore", fsStoreShape, {}, (given) => fsStore(folder, given)],
]

describe.each(functions)("%s", (name, shape, working, call) => {
  test.each(Object.keys(shape))("%s of anything never rejects raw", async (key) => {
    for (const value of [undefined, ...wrong]) {
      await expectTyped(`${name}({ ${key}: ${named(value)} })`, () => call(untyped({ ...working, [key]: value })))
    }
  })

  test("settings that are none never reject raw", async () => {
    for (const value of [undefined, ...wrong]) await expectTyped(`${name}(${named(value)})`, () => call(untyped(value)))
  })
})

test("the folder of a store is a path", () => {
  for (const value of [undefined, ...wrong].filter((each) => typeof each !== "string" || each === "")) {
    expect(() => fsStore(untyped(value))).toThrow(expect.objectContaining({ code: "config_invalid" }))
    expect(() => createOnlyStore(untyped(value))).toThrow(expect.objectContaining({ code: "config_invalid" }))
  }
})

test.each([
  ["run", (runtime: Runtime) => runtime.run],
  ["stream", (runtime: Runtime) => (input: never) => runtime.stream(input).result],
  ["start", (runtime: Runtime) => runtime.start],
  ["resume", (runtime: Runtime) => runtime.resume],
  ["status", (runtime: Runtime) => runtime.status],
  ["waitFor", (runtime: Runtime) => runtime.waitFor],
  ["continue", (runtime: Runtime) => (input: never) => runtime.continue(input, input)],
  ["fork", (runtime: Runtime) => runtime.fork],
  ["cancel", (runtime: Runtime) => runtime.cancel],
  ["remove", (runtime: Runtime) => runtime.remove],
  ["runs", (runtime: Runtime) => runtime.runs],
  ["with", (runtime: Runtime) => async (input: never) => runtime.with(input)],
  ["steer", (runtime: Runtime) => async (input: never) => runtime.steer(input, input)],
] as const)("%s of anything never rejects raw", async (name, methodOf) => {
  for (const value of [undefined, ...wrong]) {
    const runtime = createRuntime({ model: scriptedModel(["Done."]), store: memoryStore() })
    await expectTyped(`${name}(${named(value)})`, () => Promise.resolve(methodOf(runtime)(untyped(value))))
    await runtime.close()
  }
})

test("a wrong setting is named with its path and what it should be", async () => {
  const runtime = createRuntime({ model: scriptedModel(["Done."]), store: memoryStore() })
  const messages: readonly (readonly [object, string])[] = [
    [{ attachments: ["photo.png"] }, "attachments[0] is a string, not an object."],
    [{ system: null }, "system is null, not a text."],
    [{ system: ["be brief"] }, "system is an array, not a text."],
    [{ signal: {} }, "signal is an object, not an AbortSignal."],
    [{ tools: { custom: 1 } }, "tools is an object, not an array."],
    [{ chain: [{ sdk: "claude" }] }, 'chain has an unknown key "sdk".'],
    [{ chain: [{ backend: 3 }] }, "chain[].backend is a number, not a text or an object."],
  ]
  for (const [input, message] of messages) {
    const result = await runtime.run(untyped({ task: "x", ...input }))
    expect(result).toMatchObject({ status: "failed", error: { code: "config_invalid", message } })
  }
})
