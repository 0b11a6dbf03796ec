import type { ErrorCode } from "../contract/error.ts"
import type { Message } from "../contract/message.ts"
import type { FaultOrder } from "./faults.ts"
import { type BenchOptions, check, type ProviderBench, ProviderScene, same, say } from "./provider-bench.ts"
import type { SimulatedAnswer } from "./simulated.ts"

/** One promise of the provider contract; throws where it is broken. */
export interface ProviderCase {
  readonly name: string
  run(bench: ProviderBench): Promise<void>
}

/** What every provider must do, as data: run each in any test runner, except what the bench says its wire lacks. */
export const providerCases: readonly ProviderCase[] = [
  {
    name: "text arrives whole, in order, while it streams",
    async run(bench) {
      const scene = new ProviderScene(bench, { parts: [{ text: TEXT }], deltaSize: 5 })
      const answer = await scene.ask()
      same(answer.parts, [{ type: "text", text: TEXT }], "the parts")
      same(answer.stopReason, "end", "the stop reason")
      same(told(scene, "text 0 "), TEXT, "the deltas")
      same(scene.heard[0], "start text 0", "what is heard first")
      check((answer.requestId ?? "") !== "", "the answer must carry the request's id")
      check(answer.model !== "", "the answer must name its model")
    },
  },
  {
    name: "calls come with whole arguments, in the model's order",
    async run(bench) {
      const calls = [
        { name: "Read", args: { path: "a.md", lines: [1, 2], words: ["décision", '"☕"\n'] } },
        { name: "List", args: {} },
        { name: "Read", args: { path: "b.md", deep: { er: [null, true, 1.5] } } },
      ]
      const parts = [{ text: "I look." }, ...calls.map((toolCall) => ({ toolCall }))]
      const scene = new ProviderScene(bench, { parts, deltaSize: 7 })
      const answer = await scene.ask()
      const got = answer.parts.flatMap((part) => (part.type === "tool-call" ? [part] : []))
      same(
        got.map(({ name, args }) => ({ name, args })),
        calls,
        "the calls",
      )
      same(answer.stopReason, "tool-calls", "the stop reason")
      check(new Set(got.map(({ wireId }) => wireId)).size === 3, "each call must have an id of its own")
      same(scene.heard.filter((line) => line.startsWith("call ")).length, 3, "calls told")
    },
  },
  {
    name: "arguments that are not JSON make a call that says so, with no arguments",
    async run(bench) {
      const scene = new ProviderScene(bench, { parts: [{ toolCall: { name: "Read", rawArgs: '{"path": "a' } }] })
      const [call] = (await scene.ask()).parts
      check(call?.type === "tool-call" && call.args === null && call.invalid !== undefined, "the call must be flagged")
    },
  },
  {
    name: "reasoning is told apart from text",
    async run(bench) {
      const scene = new ProviderScene(bench, { parts: [{ reasoning: "Let me think" }, { text: TEXT }], deltaSize: 5 })
      const answer = await scene.ask()
      same(answer.parts[0]?.type, "reasoning", "the first part")
      same(answer.parts[0]?.type === "reasoning" && answer.parts[0].text, "Let me think", "the reasoning")
      same(answer.parts.at(-1), { type: "text", text: TEXT }, "the last part")
      same(told(scene, "reasoning 0 "), "Let me think", "the deltas of the reasoning")
    },
  },
  {
    name: "what only the model can read goes back to it, and to no other",
    async run(bench) {
      const scene = new ProviderScene(bench, [signedAnswer, "Done."])
      const [own, other] = await Promise.all([
        handBack(scene, bench.origin),
        handBack(new ProviderScene(bench, [signedAnswer, "Done."]), "other:model"),
      ])
      same(own, ["sealed-1"], "what its own model gets back")
      same(other, [], "what another model gets")
    },
  },
  {
    name: "usage is in exclusive buckets",
    async run(bench) {
      const usage = { inputTokens: 11, outputTokens: 22, cacheReadTokens: 33, cacheWriteTokens: 0 }
      const answer = await new ProviderScene(bench, { parts: [{ text: "Hi" }], usage }).ask()
      same(answer.usage, { ...usage, costUsd: null }, "the usage")
    },
  },
  {
    name: "tokens written to a cache have their own bucket",
    async run(bench) {
      const usage = { inputTokens: 11, outputTokens: 22, cacheReadTokens: 33, cacheWriteTokens: 44 }
      const answer = await new ProviderScene(bench, { parts: [{ text: "Hi" }], usage }).ask()
      same(answer.usage, { ...usage, costUsd: null }, "the usage")
    },
  },
  stopsFor("output-limit"),
  stopsFor("refusal"),
  stopsFor("context-overflow"),
  stopsFor("pause"),
  {
    name: "an unknown stop reason is a typed failure, never a guess",
    async run(bench) {
      const error = await new ProviderScene(bench, {
        parts: [{ text: "Hi" }],
        wireStopReason: "GONE_FISHING",
      }).failure()
      same(error.code, "unexpected_stop", "the code")
    },
  },
  {
    name: "a request carries system, tools, history and settings",
    async run(bench) {
      const scene = new ProviderScene(bench, "Done.")
      scene.setup = {
        system: "You are brief.",
        tools: [{ name: "Read", description: "Reads a file.", inputSchema: readSchema }],
        maxOutputTokens: 2000,
        temperature: 0.25,
      }
      await scene.ask(history)
      const request = scene.simulator.requests[0]
      same(request?.system, "You are brief.", "the system prompt")
      same(request?.tools, [{ name: "Read", description: "Reads a file.", inputSchema: readSchema }], "the tools")
      same(request?.settings.temperature, 0.25, "the temperature")
      same(request?.settings.maxOutputTokens, 2000, "the output limit")
      const said = request?.messages.flatMap(({ text }) => (text === "" ? [] : [text]))
      same(said, ["Read both", "I look."], "what was said")
      const calls = request?.messages.flatMap(({ toolCalls }) => toolCalls) ?? []
      same(
        calls.map(({ name, args }) => ({ name, args })),
        [
          { name: "Read", args: { path: "a.md" } },
          { name: "Read", args: { path: "b.md" } },
        ],
        "the calls",
      )
      const results = request?.messages.flatMap(({ toolResults }) => toolResults) ?? []
      const owners = results.map(({ id }) => calls.findIndex((call) => call.id === id))
      same(owners, [0, 1], "the call of each result")
      // Some clients put a failure in words of their own around it.
      const isWhole = ["alpha", "no such file"].every((words, index) => results[index]?.text.includes(words))
      check(isWhole, `the results: ${JSON.stringify(results)}`)
    },
  },
  sends("topP goes out", { topP: 0.5 }),
  sends("stop sequences go out", { stopSequences: ["HALT"] }),
  {
    name: "a failed call is marked as one",
    async run(bench) {
      const scene = new ProviderScene(bench, "Done.")
      await scene.ask(history)
      const results = scene.simulator.requests[0]?.messages.flatMap(({ toolResults }) => toolResults) ?? []
      same(
        results.map(({ isError }) => isError),
        [false, true],
        "the marks",
      )
    },
  },
  {
    name: "calls whose ids a server repeated keep their own results",
    async run(bench) {
      const scene = new ProviderScene(bench, "Done.")
      await scene.ask([...history, ...again])
      const request = scene.simulator.requests[0]
      const calls = request?.messages.flatMap(({ toolCalls }) => toolCalls) ?? []
      const results = request?.messages.flatMap(({ toolResults }) => toolResults) ?? []
      same([calls.length, results.length], [3, 3], "calls and results")
      same(results.at(-1)?.id, calls.at(-1)?.id, "the last result's call")
      check(new Set(calls.map(({ id }) => id)).size === 3, "every call must have an id of its own")
    },
  },
  {
    name: "images and PDFs go in",
    async run(bench) {
      const scene = new ProviderScene(bench, "Done.")
      const content = [
        { type: "text", text: "What is this?" },
        { type: "image", mediaType: "image/png", data: PNG },
        { type: "file", mediaType: "application/pdf", data: PDF, name: "a.pdf" },
      ] as const
      await scene.ask([{ role: "user", content }])
      const attachments = scene.simulator.requests[0]?.messages.flatMap((message) => message.attachments) ?? []
      same(
        attachments.map(({ mediaType, data }) => [mediaType, data]),
        [
          ["image/png", PNG],
          ["application/pdf", PDF],
        ],
        "the attachments",
      )
    },
  },
  {
    name: "a schema for the answer goes out in the provider's own way",
    async run(bench) {
      const scene = new ProviderScene(bench, '{"city":"Oslo"}')
      scene.setup = { tools: [], outputSchema: citySchema }
      await scene.ask()
      const schema = scene.simulator.requests[0]?.outputSchema
      same(Object.keys((schema?.properties as object | undefined) ?? {}), ["city"], "the schema's properties")
    },
  },
  {
    name: "effort goes out in the provider's own words, more for more",
    async run(bench) {
      const efforts: (string | undefined)[] = []
      for (const effort of ["low", "high"] as const) {
        const scene = new ProviderScene(bench, "Done.")
        scene.setup = { tools: [], effort }
        await scene.ask()
        efforts.push(scene.simulator.requests[0]?.settings.effort)
      }
      check(efforts.every((effort) => effort !== undefined) && efforts[0] !== efforts[1], `the efforts: ${efforts}`)
    },
  },
  {
    name: "a conversation that grows repeats what was said",
    async run(bench) {
      const scene = new ProviderScene(bench, "Done.")
      const growing: Message[] = [say("One")]
      await scene.ask(growing)
      growing.push({ role: "assistant", content: [{ type: "text", text: "Done." }] }, say("Two"))
      await scene.ask(growing)
      const [first, second] = scene.simulator.requests
      same(
        second?.messages.map(({ role, text }) => [role, text]),
        [
          ["user", "One"],
          ["assistant", "Done."],
          ["user", "Two"],
        ],
        "the second request",
      )
      same(second?.messages[0], first?.messages[0], "the first message")
    },
  },
  {
    name: "a key that the server does not know is auth, with what to do about it",
    async run(bench) {
      const error = await new ProviderScene(bench, "Hi", null, { apiKey: "wrong", knownKey: "right" }).failure()
      same(error.code, "auth", "the code")
      check(!JSON.stringify(error.toJSON()).includes("wrong"), "the key must not be told")
      check(error.fix?.includes("API_KEY") === true, `the fix must name the variable: ${error.fix}`)
    },
  },
  failsWith("rate_limited", { kind: "status", status: 429, retryAfter: "7" }, true),
  failsWith("overloaded", { kind: "status", status: 529 }, true),
  failsWith("provider_error", { kind: "status", status: 500 }, true),
  failsWith("provider_error", { kind: "status", status: 502 }, true),
  failsWith(["provider_error", "overloaded"], { kind: "status", status: 503 }, true),
  failsWith("auth", { kind: "status", status: 401 }, false),
  failsWith("auth", { kind: "status", status: 403 }, false),
  failsWith("billing", { kind: "status", status: 402 }, false),
  failsWith("model_not_found", { kind: "status", status: 404 }, false),
  failsWith("invalid_request", { kind: "status", status: 400 }, false),
  failsWith("context_overflow", { kind: "status", status: 413 }, false),
  failsWith(["provider_error", "overloaded"], { kind: "error-event", type: "server_error", message: "Boom" }, true),
  failsWith("stream_malformed", { kind: "malformed" }, false),
  failsWith("stream_incomplete", { kind: "cut", atByte: 300 }, true),
  failsWith("network", { kind: "reset", atByte: 300 }, true),
  {
    name: "frames that come twice never double a text or a call",
    async run(bench) {
      const parts = [{ text: TEXT }, { toolCall: { name: "Read", args: { path: "a.md" } } }]
      const scene = new ProviderScene(bench, { parts }, { kind: "duplicate" })
      try {
        const answer = await scene.ask()
        same(answer.parts.length, 2, "the parts")
        same(answer.parts[0], { type: "text", text: TEXT }, "the text")
      } catch {
        same(
          (await new ProviderScene(bench, { parts }, { kind: "duplicate" }).failure()).code,
          "stream_malformed",
          "code",
        )
      }
    },
  },
  {
    name: "a slow stream that keeps coming is read to its end",
    async run(bench) {
      const scene = new ProviderScene(bench, "Hi.", { kind: "slow", bytesPerSecond: 20_000 })
      same((await scene.ask()).parts, [{ type: "text", text: "Hi." }], "the parts")
    },
  },
  stalls("before the first byte", 0, { firstByteMs: 60 }),
  stalls("between two chunks", 2500, { firstByteMs: 2000, idleMs: 60 }),
  {
    name: "an abort ends the call",
    async run(bench) {
      const scene = new ProviderScene(bench, { parts: [{ text: TEXT.repeat(40) }] }, { kind: "stall", atByte: 4000 })
      scene.abortAtStart = true
      await scene.failure()
    },
  },
]

const TEXT = "I will öook that up ☕, and a little more so that there is something to cut"
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
const PDF = "JVBERi0xLjQKJSVFT0YK"
const readSchema = { type: "object", properties: { path: { type: "string" } }, required: ["path"] }
const citySchema = { type: "object", properties: { city: { type: "string", minLength: 2 } }, required: ["city"] }

const read = (callId: string, wireId: string, path: string) =>
  ({ type: "tool-call", callId, wireId, name: "Read", args: { path } }) as const
const result = (callId: string, wireId: string, status: "ok" | "error", text: string) =>
  ({ type: "tool-result", callId, wireId, status, output: [{ type: "text", text }] }) as const

const history: readonly Message[] = [
  say("Read both"),
  {
    role: "assistant",
    content: [{ type: "text", text: "I look." }, read("1.1", "call_1", "a.md"), read("1.2", "call_2", "b.md")],
  },
  { role: "tool", content: [result("1.1", "call_1", "ok", "alpha"), result("1.2", "call_2", "error", "no such file")] },
]
const again: readonly Message[] = [
  { role: "assistant", content: [read("2.0", "call_1", "c.md")] },
  { role: "tool", content: [result("2.0", "call_1", "ok", "gamma")] },
]

function told(scene: ProviderScene, prefix: string): string {
  return scene.heard.flatMap((line) => (line.startsWith(prefix) ? [line.slice(prefix.length)] : [])).join("")
}

const signedAnswer: SimulatedAnswer = {
  parts: [{ reasoning: "Let me think", signature: "sealed-1" }, { toolCall: { name: "Read", args: {} } }],
}

/** Gives the first answer back as said by `origin`; what the second request held of its sealed part. */
async function handBack(scene: ProviderScene, origin: string): Promise<readonly string[]> {
  const answer = await scene.ask()
  const content = answer.parts.map((part, index) => {
    if (part.type === "reasoning") return { ...part, origin }
    if (part.type === "text") return part
    const { wireId, name, args, opaque } = part
    const sealed = opaque === undefined ? {} : { opaque, origin }
    return { type: "tool-call", callId: `1.${index}`, wireId, name, args, ...sealed } as const
  })
  const results = content.flatMap((part) =>
    part.type === "tool-call" ? [result(part.callId, part.wireId, "ok", "done")] : [],
  )
  await scene.ask([say("Say it"), { role: "assistant", content }, { role: "tool", content: results }])
  return scene.simulator.requests[1]?.messages.flatMap(({ signatures }) => signatures) ?? []
}

function sends(name: string, settings: Pick<BenchOptions, "topP" | "stopSequences">): ProviderCase {
  return {
    name,
    async run(bench) {
      const scene = new ProviderScene(bench, "Done.", null, settings)
      await scene.ask()
      const received = scene.simulator.requests[0]?.settings
      same({ ...received, ...settings }, received, "the settings")
    },
  }
}

function stopsFor(reason: "output-limit" | "refusal" | "context-overflow" | "pause"): ProviderCase {
  return {
    name: `an answer that stops for ${reason} says so`,
    async run(bench) {
      const answer = await new ProviderScene(bench, { parts: [{ text: "Hi" }], stopReason: reason }).ask()
      same(answer.stopReason, reason, "the stop reason")
    },
  }
}

function failsWith(code: ErrorCode | readonly ErrorCode[], fault: FaultOrder, retryable: boolean): ProviderCase {
  const codes = [code].flat()
  const { kind, ...details } = fault
  return {
    name: `${kind}${"status" in details ? ` ${details.status}` : ""} is ${codes.join(" or ")}`,
    async run(bench) {
      const error = await new ProviderScene(bench, TEXT, fault).failure()
      check(codes.includes(error.code), `the code: ${error.code} (${error.message})`)
      same(error.retryable, retryable, "retryable")
      if (error.code !== "network") check((error.requestId ?? "") !== "", "the failure must carry the request's id")
      if (fault.kind === "status" && fault.retryAfter) same(error.retryAfterMs, 7000, "how long to wait")
    },
  }
}

function stalls(when: string, atByte: number, deadlines: { firstByteMs: number; idleMs?: number }): ProviderCase {
  return {
    name: `a server that stalls ${when} is stream_stalled`,
    async run(bench) {
      const error = await new ProviderScene(bench, TEXT.repeat(10), { kind: "stall", atByte }, { deadlines }).failure()
      same([error.code, error.retryable], ["stream_stalled", true], "code and retryable")
    },
  }
}
