import type { ContentPart } from "../contract/content.ts"
import type { Message } from "../contract/message.ts"
import { type BenchOptions, check, type ProviderCase, ProviderScene, same, say, toolResult } from "./provider-bench.ts"

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
const PDF = "JVBERi0xLjQKJSVFT0YK"

/** Cases about requests. */
export const requestCases: readonly ProviderCase[] = [
  {
    name: "a request contains system prompt, tools, history and settings",
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
      same(said, ["Read both", "I look."], "the messages")
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
      // Some clients wrap a failure in their own text.
      const isWhole = ["alpha", "no such file"].every((words, index) => results[index]?.text.includes(words))
      check(isWhole, `the results: ${JSON.stringify(results)}`)
    },
  },
  sends("topP is sent", { topP: 0.5 }),
  sends("stop sequences are sent", { stopSequences: ["HALT"] }),
  {
    name: "a failed call is marked as failed",
    async run(bench) {
      const scene = new ProviderScene(bench, "Done.")
      await scene.ask(history)
      const results = scene.simulator.requests[0]?.messages.flatMap(({ toolResults }) => toolResults) ?? []
      same(
        results.map(({ isError }) => isError),
        [false, true],
        "the markers",
      )
    },
  },
  {
    name: "calls with duplicate ids from the server keep their own results",
    async run(bench) {
      const scene = new ProviderScene(bench, "Done.")
      await scene.ask([...history, ...again])
      const request = scene.simulator.requests[0]
      const calls = request?.messages.flatMap(({ toolCalls }) => toolCalls) ?? []
      const results = request?.messages.flatMap(({ toolResults }) => toolResults) ?? []
      same([calls.length, results.length], [3, 3], "calls and results")
      same(results.at(-1)?.id, calls.at(-1)?.id, "the last result's call")
      check(new Set(calls.map(({ id }) => id)).size === 3, "every call must have a unique id")
    },
  },
  {
    name: "images and PDFs are sent",
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
  returns("an image in a tool result reaches the model as an image", [
    { type: "text", text: "The picture:" },
    { type: "image", mediaType: "image/png", data: PNG },
  ]),
  returns("a PDF in a tool result reaches the model as a document", [
    { type: "file", mediaType: "application/pdf", data: PDF, name: "a.pdf" },
  ]),
  {
    name: "media in a failed result does not make the request invalid",
    async run(bench) {
      const scene = new ProviderScene(bench, "Done.")
      // Safe: the history below has these two.
      const [asked, called] = history as [Message, Message]
      const image = { type: "image", mediaType: "image/png", data: PNG } as const
      const failed = toolResult("1.1", "call_1", "error", "It broke.")
      const content = [{ ...failed, output: [...failed.output, image] }, toolResult("1.2", "call_2", "ok", "beta")]
      await scene.ask([asked, called, { role: "tool", content }])
      const results = scene.simulator.requests[0]?.messages.flatMap(({ toolResults }) => toolResults) ?? []
      check(results[0]?.text.includes("It broke.") === true, `the failed result: ${JSON.stringify(results[0])}`)
    },
  },
  {
    name: "an output schema is sent in the provider's own format",
    async run(bench) {
      const scene = new ProviderScene(bench, '{"city":"Oslo"}')
      scene.setup = { tools: [], outputSchema: citySchema }
      await scene.ask()
      const schema = scene.simulator.requests[0]?.outputSchema
      same(Object.keys(Object(schema?.properties)), ["city"], "the schema's properties")
    },
  },
  {
    name: "effort is sent in the provider's own format, higher for higher effort",
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
    name: "a growing conversation repeats its earlier messages unchanged",
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
]

const readSchema = { type: "object", properties: { path: { type: "string" } }, required: ["path"] }
const citySchema = { type: "object", properties: { city: { type: "string", minLength: 2 } }, required: ["city"] }

const read = (callId: string, wireId: string, path: string) =>
  ({ type: "tool-call", callId, wireId, name: "Read", args: { path } }) as const

const history: readonly Message[] = [
  say("Read both"),
  {
    role: "assistant",
    content: [{ type: "text", text: "I look." }, read("1.1", "call_1", "a.md"), read("1.2", "call_2", "b.md")],
  },
  {
    role: "tool",
    content: [toolResult("1.1", "call_1", "ok", "alpha"), toolResult("1.2", "call_2", "error", "no such file")],
  },
]
const again: readonly Message[] = [
  { role: "assistant", content: [read("2.0", "call_1", "c.md")] },
  { role: "tool", content: [toolResult("2.0", "call_1", "ok", "gamma")] },
]

/** The first of two calls returns media; the second does not, and the conversation continues after both. */
function returns(name: string, output: readonly ContentPart[]): ProviderCase {
  return {
    name,
    async run(bench) {
      const scene = new ProviderScene(bench, "Done.")
      // Safe: the history below has these two.
      const [asked, called] = history as [Message, Message]
      const first = { ...toolResult("1.1", "call_1", "ok", ""), output }
      const content = [first, toolResult("1.2", "call_2", "ok", "beta")]
      await scene.ask([asked, called, { role: "tool", content }, say("And?")])
      const messages = scene.simulator.requests[0]?.messages ?? []
      const results = messages.flatMap(({ toolResults }) => toolResults)
      const shown = [
        ...results.flatMap(({ attachments = [] }) => attachments),
        ...messages.flatMap(({ attachments }) => attachments),
      ]
      const given = output.flatMap((part) => (part.type === "text" ? [] : [[part.mediaType, part.data]]))
      same(
        shown.map(({ mediaType, data }) => [mediaType, data]),
        given,
        "the media parts",
      )
      check(!results.some(({ text }) => text.includes(PNG) || text.includes(PDF)), "base64 must not be sent as text")
      check(results[1]?.text === "beta", `the other result: ${JSON.stringify(results[1])}`)
      check(results[1]?.attachments === undefined, "the other result contains only text")
    },
  }
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
