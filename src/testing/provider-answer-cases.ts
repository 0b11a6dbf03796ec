import { check, type ProviderCase, ProviderScene, same, say, TEXT, toolResult } from "./provider-bench.ts"
import type { SimulatedAnswer } from "./simulated.ts"

/** Cases about answers. */
export const answerCases: readonly ProviderCase[] = [
  {
    name: "text arrives complete and in order while it streams",
    async run(bench) {
      const scene = new ProviderScene(bench, { parts: [{ text: TEXT }], deltaSize: 5 })
      const answer = await scene.ask()
      same(answer.parts, [{ type: "text", text: TEXT }], "the parts")
      same(answer.stopReason, "end", "the stop reason")
      same(deltasOf(scene, "text 0 "), TEXT, "the deltas")
      same(scene.events[0], "start text 0", "the first event")
      check((answer.requestId ?? "") !== "", "the answer must contain the request's id")
      check(answer.model !== "", "the answer must name its model")
    },
  },
  {
    name: "calls have complete arguments and keep the model's order",
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
      check(new Set(got.map(({ wireId }) => wireId)).size === 3, "each call must have a unique id")
      same(scene.events.filter((line) => line.startsWith("call ")).length, 3, "the reported calls")
    },
  },
  {
    name: "a call with invalid JSON arguments is flagged and has no arguments",
    async run(bench) {
      const scene = new ProviderScene(bench, { parts: [{ toolCall: { name: "Read", rawArgs: '{"path": "a' } }] })
      const [call] = (await scene.ask()).parts
      check(call?.type === "tool-call" && call.args === null && call.invalid !== undefined, "the call must be flagged")
    },
  },
  {
    name: "reasoning is separate from text",
    async run(bench) {
      const scene = new ProviderScene(bench, { parts: [{ reasoning: "Let me think" }, { text: TEXT }], deltaSize: 5 })
      const answer = await scene.ask()
      same(answer.parts[0]?.type, "reasoning", "the first part")
      same(answer.parts[0]?.type === "reasoning" && answer.parts[0].text, "Let me think", "the reasoning")
      same(answer.parts.at(-1), { type: "text", text: TEXT }, "the last part")
      same(deltasOf(scene, "reasoning 0 "), "Let me think", "the deltas of the reasoning")
    },
  },
  {
    name: "opaque reasoning data is returned to the same model only",
    async run(bench) {
      const scene = new ProviderScene(bench, [signedAnswer, "Done."])
      const [own, other] = await Promise.all([
        handBack(scene, bench.origin),
        handBack(new ProviderScene(bench, [signedAnswer, "Done."]), "other:model"),
      ])
      same(own, ["sealed-1"], "the request to the same model")
      same(other, [], "the request to another model")
    },
  },
  {
    name: "usage is reported in exclusive buckets",
    async run(bench) {
      const usage = { inputTokens: 11, outputTokens: 22, cacheReadTokens: 33, cacheWriteTokens: 0 }
      const answer = await new ProviderScene(bench, { parts: [{ text: "Hi" }], usage }).ask()
      same(answer.usage, { ...usage, costUsd: null }, "the usage")
    },
  },
  {
    name: "cache writes have their own usage bucket",
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
    name: "an unknown stop reason is a typed failure",
    async run(bench) {
      const error = await new ProviderScene(bench, {
        parts: [{ text: "Hi" }],
        wireStopReason: "GONE_FISHING",
      }).failure()
      same(error.code, "unexpected_stop", "the code")
    },
  },
]

function deltasOf(scene: ProviderScene, prefix: string): string {
  return scene.events.flatMap((line) => (line.startsWith(prefix) ? [line.slice(prefix.length)] : [])).join("")
}

const signedAnswer: SimulatedAnswer = {
  parts: [{ reasoning: "Let me think", signature: "sealed-1" }, { toolCall: { name: "Read", args: {} } }],
}

/** Sends the first answer back as written by `origin`; returns the second request's copy of its opaque part. */
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
    part.type === "tool-call" ? [toolResult(part.callId, part.wireId, "ok", "done")] : [],
  )
  await scene.ask([say("Say it"), { role: "assistant", content }, { role: "tool", content: results }])
  return scene.simulator.requests[1]?.messages.flatMap(({ signatures }) => signatures) ?? []
}

function stopsFor(reason: "output-limit" | "refusal" | "context-overflow" | "pause"): ProviderCase {
  return {
    name: `an answer that stops for ${reason} reports it`,
    async run(bench) {
      const answer = await new ProviderScene(bench, { parts: [{ text: "Hi" }], stopReason: reason }).ask()
      same(answer.stopReason, reason, "the stop reason")
    },
  }
}
