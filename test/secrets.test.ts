import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { createRuntime, defineTool, LonghaulError, type Runtime, ToolError } from "../src/hosts/node/index.ts"
import { RunProjection } from "../src/journal/projection.ts"
import type { ScriptedStep } from "../src/testing/index.ts"
import { bashTool } from "../src/tools/index.ts"
import { cleanups, expectNoLeak, filesBelow, root, scene } from "./secrets/scene.ts"
import { declared, ofRunWebhook, type Sentinel, sentinels, tokens } from "./secrets/sentinels.ts"

const ofRun: readonly Sentinel[] = Object.values(ofRunWebhook)

test.each([...sentinels, ...ofRun].map((sentinel) => [sentinel.kind, sentinel] as const))(
  "%s appears in no journal, inbox, state, event, log, webhook, prompt, error or result, in any spelling; tools get it",
  async (_, sentinel) => {
    const text = sentinel.sent.map((spelling) => `<${spelling}>`).join(" and ")
    const received: unknown[] = []
    let elsewhere: Runtime | undefined
    const input = { type: "object" } as const
    const echo = defineTool({
      name: "echo",
      description: `Echoes ${text}.`,
      inputSchema: { type: "object", properties: { command: { type: "string", description: text, default: text } } },
      effect: "once",
      async run(args, { progress }) {
        received.push(args)
        progress(text)
        await elsewhere?.steer("r", text)
        return `${text}${"long ".repeat(30_000)}${text}`
      },
    })
    const refuse = defineTool({
      name: "refuse",
      description: "Refuses.",
      inputSchema: input,
      run: () => Promise.reject(new ToolError("io", text)),
    })
    const crash = defineTool({
      name: "crash",
      description: "Crashes.",
      inputSchema: input,
      run: () => Promise.reject(new TypeError(text, { cause: text })),
    })
    const called = (name: string) => ({ toolCall: { name, args: { command: text, [text]: [text] } } })
    const failing = new LonghaulError("overloaded", text, { requestId: text, data: { body: text }, fix: text })
    const { runtime, sinks, webhook, echoAsIds } = await scene(
      [
        {
          parts: [
            { reasoning: text, signature: text },
            { text },
            called("echo"),
            called("refuse"),
            called("crash"),
            called("none"),
          ],
          deltaSize: 3,
        },
        { fail: failing },
        `${text} is the answer`,
        // A slow run gets the message of `steer` before its end, and asks once more.
        `${text} is the answer`,
      ],
      { tools: [echo, refuse, crash] },
    )
    echoAsIds(text)
    // Only the runtime that got it knows a run's own webhook.
    const isOfRun = ofRun.includes(sentinel)
    elsewhere = isOfRun ? runtime : runtime.with({ observers: [] })
    cleanups.push(() => elsewhere?.close())
    const messages = [
      { role: "user" as const, content: text },
      { role: "assistant" as const, content: text },
    ]
    const started = await runtime.start({
      runId: "r",
      task: text,
      system: text,
      messages,
      metadata: { [text]: text },
      outputSchema: { type: "object", description: text, properties: { [text]: { const: text } } },
      outputMode: "forward",
      compaction: { instructions: text },
      ...(isOfRun && { webhook }),
    })
    const ended = await runtime.waitFor("r")
    await runtime.close()
    sinks.results.push(started, ended, await runtime.runs())
    expect(ended.status).toBe("done")
    expect(received).toEqual([{ command: text, [text]: [text] }])
    expect(sinks.webhooks).toHaveLength(1)
    expect(sinks.logs.length).toBeGreaterThan(2)
    expectNoLeak(sentinel, sinks)
    expect(JSON.stringify(sinks.requests)).toContain("{{secret:")
  },
)

test.each(sentinels.map((sentinel) => [sentinel.kind, sentinel] as const))(
  "%s in the error that ends a run appears nowhere",
  async (_, sentinel) => {
    const text = sentinel.sent.join(" and ")
    const { runtime, sinks } = await scene([
      { fail: new LonghaulError("auth", `${"x".repeat(550)} ${text}`, { requestId: text, data: { body: [text] } }) },
    ])
    const result = await runtime.run({ runId: "r", task: "Go." })
    expect(result).toMatchObject({ status: "failed", error: { code: "auth" } })
    sinks.results.push(result, await runtime.status("r"), await runtime.run({ task: "x", effort: text as "low" }))
    expectNoLeak(sentinel, sinks)
  },
)

test("folded messages equal the last request, also if secrets were masked in them", async () => {
  const value = declared.PLAIN?.value ?? ""
  const echo = defineTool({ name: "echo", description: "Echoes.", inputSchema: { type: "object" }, run: () => value })
  const { runtime, model, sinks } = await scene(
    [
      {
        parts: [
          { reasoning: value, signature: "s" },
          { text: `It is ${value}` },
          { toolCall: { name: "echo", args: { a: value } } },
        ],
      },
      "Done.",
    ],
    { tools: [echo] },
  )
  await runtime.run({ runId: "r", task: `Use ${value}` })
  const projection = new RunProjection()
  for await (const record of runtime.events("r")) projection.apply(record)
  expect(projection.messages.slice(0, -1)).toEqual(model.calls[1])
  expect(sinks.requests[0]).toBeUndefined()
  expect(JSON.stringify(model.calls[1])).toContain('{"a":"{{secret:PLAIN}}"}')
})

test("reasoning in which a secret was masked loses its signature, other reasoning keeps it", async () => {
  const value = declared.PLAIN?.value ?? ""
  const { runtime, sinks } = await scene([
    {
      parts: [
        { reasoning: `Use ${value}`, signature: "first" },
        { reasoning: "Plain", signature: "second" },
        { text: "Done." },
      ],
    },
  ])
  await runtime.run({ runId: "r", task: "Go." })
  const reasoning = sinks.events.filter(({ type }) => type === "reasoning-end")
  expect(reasoning).toMatchObject([{ text: "Use {{secret:PLAIN}}" }, { text: "Plain", opaque: expect.anything() }])
  expect(reasoning[0]).not.toHaveProperty("opaque")
})

test("an answer that is cut within a secret keeps no long part of it", async () => {
  const value = declared.PLAIN?.value ?? ""
  const stopping: ScriptedStep = () => ({ parts: [{ text: `It is ${value}` }], deltaSize: 4 })
  const { runtime, sinks } = await scene([stopping])
  const handle = runtime.stream({ runId: "r", task: "Go." })
  let shown = ""
  for await (const event of handle) {
    if (event.type !== "text-delta") continue
    shown += event.delta
    handle.interrupt("immediate")
  }
  expect(JSON.stringify([sinks.events, shown])).not.toContain(value.slice(0, 12))
})

test("a literal reference from a model, a tool or a user is never expanded", async () => {
  const received: unknown[] = []
  const literal = "{{secret:PLAIN}} {{secret:SPECIAL:base64-0}}"
  const echo = defineTool({
    name: "echo",
    description: "Echoes.",
    inputSchema: { type: "object" },
    run: (args) => {
      received.push(args)
      return literal
    },
  })
  const { runtime, sinks } = await scene(
    [{ parts: [{ toolCall: { name: "echo", args: { [literal]: literal } } }] }, `${literal}!`],
    { tools: [echo] },
  )
  const result = await runtime.run({ runId: "r", task: literal })
  expect(received).toEqual([{ [literal]: literal }])
  expect(JSON.stringify([result, sinks.events])).not.toMatch(/\{\{secret:[^:]/)
})

test.each([
  ["a known value", declared.SPECIAL],
  ["an undeclared token", tokens[0]],
])("%s in the long output of a command is masked before it is cut or saved", async (_, sentinel) => {
  const value = sentinel?.value ?? ""
  const workspace = join(root, "workspace")
  mkdirSync(workspace)
  // So many that every cut is inside or next to one.
  writeFileSync(join(workspace, "long.txt"), `é \xff ${value}|`.repeat(8_000))
  const { runtime, sinks } = await scene(
    [{ parts: [{ toolCall: { name: "Bash", args: { command: "cat long.txt" } } }] }, "Done."],
    { workspace, tools: [bashTool()], policy: { preApproved: ["Bash"] } },
  )
  const result = await runtime.run({ runId: "r", task: "Go." })
  sinks.results.push(result)
  expect(result).toMatchObject({
    status: "done",
    toolCalls: [{ status: "ok", result: expect.stringContaining("{{secret:") }],
  })
  expect(filesBelow(join(root, "store")).some((path) => path.includes("toolResults/command"))).toBe(true)
  if (sentinel) expectNoLeak(sentinel, sinks)
  expect(JSON.stringify([result, sinks.events])).not.toContain(JSON.stringify(value.slice(0, 12)).slice(1, -1))
})

test("a secret that cannot be masked is config_invalid when the runtime is created", () => {
  for (const value of ["abc", "true", "8080", "localhost", "https://example.com"]) {
    expect(() => createRuntime({ secrets: { NAME: value } })).toThrow(
      expect.objectContaining({ code: "config_invalid" }),
    )
  }
})

test("a secret of fewer than 8 characters is reported by its name when the runtime is created", () => {
  const warned: unknown[] = []
  createRuntime({ secrets: { PIN: "z7q-1" }, logger: { warn: (...logged) => warned.push(logged) } })
  expect(warned).toEqual([[expect.stringContaining("fewer than 8 characters"), { names: ["PIN"] }]])
})

test("a value that a function returned before stays masked after it returns another", async () => {
  const rotated = ["first-value-of-the-secret", "second-value-of-the-secret"]
  let at = 0
  const { runtime } = await scene([`${rotated}`, `${rotated}`], { secrets: { KEY: () => rotated[at] ?? "" } })
  expect((await runtime.run({ task: "x" })).text).toBe(`{{secret:KEY}},${rotated[1]}`)
  at = 1
  expect((await runtime.run({ task: "x" })).text).toBe("{{secret:former/KEY}},{{secret:KEY}}")
})

test("the next exchange of a conversation keeps the references in its system prompt", async () => {
  const value = declared.PLAIN?.value ?? ""
  const { runtime, sinks } = await scene(["One.", "Two."])
  await runtime.run({ runId: "r", task: "x", system: `Use ${value}`, metadata: { key: value } })
  await runtime.continue("r", "Go on.")
  expect(sinks.requests.filter((sent) => typeof sent === "string")).toEqual(Array(2).fill("Use {{secret:PLAIN}}"))
  expect(sinks.events.filter(({ type }) => type === "run-start")).toMatchObject(
    Array(2).fill({ input: { metadata: { key: "{{secret:PLAIN}}" } } }),
  )
})
