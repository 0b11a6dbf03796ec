import { describe, expect, test } from "vitest"
import {
  createAgentTools,
  createRuntime as createNodeRuntime,
  nodeFetch,
  nodeFiles,
  nodeSearch,
  nodeShell,
  nodeTransport,
  serve,
} from "../../hosts/node/index.ts"
import { createMetricsObserver, createRuntime, defineTool } from "../../index.ts"
import { anthropic } from "../../providers/anthropic/index.ts"
import { google } from "../../providers/google/index.ts"
import { openai } from "../../providers/openai/index.ts"
import { memoryStore } from "../../stores/memory.ts"
import { s3Store } from "../../stores/s3/index.ts"
import { scriptedModel } from "../../testing/index.ts"
import { bashTool, brave, createDispatcher, taskTools } from "../../tools/index.ts"
import { verifyWebhook } from "../../webhooks/index.ts"

const model = scriptedModel([])
const runtime = createRuntime({ model, store: memoryStore() })
const definition = { name: "pay", description: "Pays.", inputSchema: { type: "object" }, run: () => "paid" }
/** Passes options without type checks, like plain JavaScript. */
const untyped = (options: object) => options as never

const refusals: readonly [what: string, call: () => unknown, meant: string][] = [
  ["hooks", () => createRuntime({ hooks: untyped({ gateBeforeTol: () => ({ allow: false }) }) }), "gateBeforeTool"],
  ["createRuntime", () => createRuntime(untyped({ hook: {} })), "hooks"],
  ["createRuntime of longhaul/node", () => createNodeRuntime(untyped({ sandbx: "required" })), "sandbox"],
  ["compaction", () => createRuntime({ compaction: untyped({ windw: 3 }) }), "window"],
  [
    "compaction.offload",
    () => createRuntime({ compaction: { offload: untyped({ tresholdBytes: 3 }) } }),
    "thresholdBytes",
  ],
  ["limits", () => createRuntime({ limits: untyped({ turn: 3 }) }), "turns"],
  ["brand", () => createRuntime({ brand: untyped({ servicename: "x" }) }), "serviceName"],
  ["env", () => createRuntime({ env: untyped({ file: {} }) }), "files"],
  [
    "observers",
    () => createRuntime({ observers: [untyped({ recordEvent() {}, recordMetrics() {} })] }),
    "recordMetric",
  ],
  ["webhook", () => createRuntime({ webhook: untyped({ url: "https://x.example", event: ["done"] }) }), "events"],
  ["defineTool", () => defineTool(untyped({ ...definition, efect: "none" })), "effect"],
  ["fork", () => runtime.fork("r", untyped({ att: 3 })), "at"],
  ["cancel", () => runtime.cancel("r", untyped({ node: "x" })), "nodeId"],
  ["runs", () => runtime.runs(untyped({ stats: "done" })), "status"],
  ["waitFor", () => runtime.waitFor("r", untyped({ timeout: 3 })), "timeoutMs"],
  ["recoverOrphanedRuns", () => runtime.recoverOrphanedRuns(untyped({ actions: "resume" })), "action"],
  ["anthropic", () => anthropic(untyped({ model: "m", apikey: "k" })), "apiKey"],
  ["openai", () => openai(untyped({ model: "m", baseURL: "http://127.0.0.1" })), "baseUrl"],
  ["google", () => google(untyped({ model: "m", seeds: 1 })), "seed"],
  ["deadlines", () => google({ model: "m", deadlines: untyped({ idle: 1 }) }), "idleMs"],
  ["s3Store", () => s3Store(untyped({ bucket: "b", regions: "x" })), "region"],
  ["createDispatcher", () => createDispatcher([], untyped({ allow: [] })), "allowed"],
  ["createAgentTools", () => createAgentTools(untyped({ root: ".", readonly: true })), "readOnly"],
  ["bashTool", () => bashTool(untyped({ maxOutputByte: 1 })), "maxOutputBytes"],
  ["taskTools", () => taskTools(untyped({ maxRun: 1 })), "maxRuns"],
  ["brave", () => brave(untyped({ apikey: "k" })), "apiKey"],
  ["nodeTransport", () => nodeTransport(untyped({ connectTimeout: 5 })), "connectTimeoutMs"],
  ["nodeFiles", () => nodeFiles(untyped({ root: ["."] })), "roots"],
  ["nodeSearch", () => nodeSearch(untyped({ roots: ["."], hiden: [] })), "hidden"],
  ["nodeFetch", () => nodeFetch(untyped({ allows: [] })), "allow"],
  ["nodeShell", () => nodeShell(untyped({ root: ".", sandbx: "required" })), "sandbox"],
  ["serve", () => serve(() => new Response(), untyped({ prot: 80 })), "port"],
  ["verifyWebhook", () => verifyWebhook(untyped({ headers: {}, body: "", secret: "s" })), "secrets"],
]

describe("an unknown key is config_invalid with a suggestion", () => {
  test.each(refusals)("an unknown key in %s is config_invalid with a suggestion", async (_, call, meant) => {
    await expect((async () => call())()).rejects.toMatchObject({
      code: "config_invalid",
      fix: expect.stringContaining(`Did you mean "${meant}"?`),
    })
  })

  test("run, start and resume return an unknown key as a failed result", async () => {
    const wrong = { code: "config_invalid", fix: 'Did you mean "limits"?' }
    expect(await runtime.run(untyped({ task: "x", limit: {} }))).toMatchObject({ status: "failed", error: wrong })
    expect(await runtime.start(untyped({ task: "x", limit: {} }))).toMatchObject({ status: "failed", error: wrong })
    expect(await runtime.resume(untyped({ runId: "r", limit: {} }))).toMatchObject({ status: "failed", error: wrong })
  })

  test("a nearly correct hook name in a class or its base class is rejected", () => {
    class Base {
      gateBeforeTools() {
        return { allow: false, reason: "no" }
      }
    }
    class Gate extends Base {
      readonly rules = ["mine"]
    }
    expect(() => createRuntime({ hooks: untyped(new Gate()) })).toThrow("gateBeforeTools")
  })

  test("a class and an observer may have other members", () => {
    class Gate {
      readonly rules = new Map()
      gateBeforeTool() {
        return { allow: true } as const
      }
    }
    expect(() => createRuntime({ hooks: new Gate(), observers: [createMetricsObserver()] })).not.toThrow()
  })
})

describe("a value of the wrong shape is config_invalid", () => {
  const wrong: readonly [string, object, string][] = [
    ["observers as an object", { observers: {} }, "observers is an object, not an array."],
    ["an observer without recordEvent", { observers: [{}] }, "observers[0].recordEvent is missing, not a function."],
    ["a hook that is no function", { hooks: { gateBeforeTool: true } }, "hooks.gateBeforeTool is a boolean"],
    ["hooks as an array", { hooks: [] }, "hooks is an array, not an object."],
    ["a logger without warn", { logger: {} }, "logger has no function warn."],
    ["tools as an object", { tools: { pay: {} } }, "tools is an object, not an array."],
    ["a tool that is none", { tools: [{ name: "x", inputSchema: {} }] }, "tools[0] has no function run."],
    ["allowedTools as text", { allowedTools: "Read" }, "allowedTools is a string, not an array."],
    ["secrets as a list", { secrets: ["x"] }, "secrets is an array, not an object."],
  ]
  test.each(wrong)("a value of the wrong shape is config_invalid: %s", (_, config, message) => {
    expect(() => createRuntime(untyped(config))).toThrow(
      expect.objectContaining({ code: "config_invalid", message: expect.stringContaining(message) }),
    )
  })

  const inputs: readonly [string, unknown, string][] = [
    ["a text", "hello", "run was given a string, not an object."],
    ["nothing", undefined, "run is missing, not an object."],
    ["null", null, "run is null, not an object."],
    ["messages as text", { messages: "hi" }, "messages is a string, not an array."],
    [
      "a message without a role",
      { messages: [{ role: "user", content: "hi" }, { content: "x" }] },
      "messages[1] has no",
    ],
    ["a system message", { messages: [{ role: "system", content: "hi" }] }, 'messages[0] has the role "system"'],
    ["a message without content", { messages: [{ role: "user" }] }, "messages[0].content is missing"],
    ["an unknown part", { messages: [{ role: "user", content: [{ type: "txt" }] }] }, "messages[0].content[0]"],
    ["tools as an object", { task: "x", tools: { a: 1 } }, "tools is an object, not an array."],
  ]
  test.each(inputs)("run with %s fails with the reason", async (_, input, message) => {
    for (const result of [await runtime.run(input as never), await runtime.stream(input as never).result]) {
      expect(result).toMatchObject({
        status: "failed",
        error: { code: "config_invalid", message: expect.stringContaining(message), fix: expect.any(String) },
      })
    }
    expect(await runtime.start(input as never)).toMatchObject({ status: "failed" })
  })

  test("messages may contain text instead of parts", async () => {
    const heard = scriptedModel([(messages) => JSON.stringify(messages)])
    const { text } = await createRuntime({ model: heard }).run({
      messages: [
        { role: "user", content: "hi" },
        { role: "assistant", content: "hello" },
        { role: "user", content: [{ type: "text", text: "again" }] },
      ],
    })
    expect(JSON.parse(text)).toEqual([
      { role: "user", content: [{ type: "text", text: "hi" }] },
      { role: "assistant", content: [{ type: "text", text: "hello" }] },
      { role: "user", content: [{ type: "text", text: "again" }] },
    ])
  })
})

test("a wrong setting is named with its path and what it should be", async () => {
  const runtime = createRuntime({ model: scriptedModel(["Done."]), store: memoryStore() })
  const messages: readonly (readonly [object, string])[] = [
    [{ attachments: ["photo.png"] }, "attachments[0] is a string, not an object."],
    [{ system: null }, "system is null, not a text."],
    [{ system: ["be brief"] }, "system is an array, not a text."],
    [{ signal: {} }, "signal is an object, not an AbortSignal."],
    [{ tools: { custom: 1 } }, "tools is an object, not an array."],
    [{ chain: [{ sdk: "claude" }] }, 'chain[0] has an unknown key "sdk".'],
    [{ chain: [{ backend: 3 }] }, "chain[0].backend is a number, not a text or an object."],
  ]
  for (const [input, message] of messages) {
    const result = await runtime.run(untyped({ task: "x", ...input }))
    expect(result).toMatchObject({ status: "failed", error: { code: "config_invalid", message } })
  }
})
