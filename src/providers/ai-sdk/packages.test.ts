import { createAnthropic } from "@ai-sdk/anthropic"
import { createGoogleGenerativeAI } from "@ai-sdk/google"
import { createOpenAI } from "@ai-sdk/openai"
import { createOpenAI as createOpenAiV4 } from "ai-sdk-openai-v4"
import { expect, test } from "vitest"
import type { Message } from "../../contract/message.ts"
import type { Effort } from "../../contract/model-settings.ts"
import type { Answer } from "../../contract/provider.ts"
import { fetchTransport } from "../../lib/fetch-transport.ts"
import { createSimulator } from "../../testing/index.ts"
import { type AiSdkModel, fromAiSdk } from "./index.ts"

const task: Message = { role: "user", content: [{ type: "text", text: "Say it" }] }

function ask(
  model: AiSdkModel,
  { messages = [task], effort }: { messages?: readonly Message[]; effort?: Effort } = {},
): Promise<Answer> {
  const setup = { tools: [], transport: fetchTransport(), ...(effort !== undefined && { effort }) }
  return fromAiSdk(model).converse(setup).call(messages, {}, new AbortController().signal)
}

const fetchOf = (fetch: unknown) => ({ apiKey: "k", fetch: fetch as typeof globalThis.fetch })
const packages: readonly [name: string, model: (fetch: unknown) => AiSdkModel][] = [
  ["anthropic v3", (fetch) => createAnthropic(fetchOf(fetch))("claude-sonnet-4-6")],
  ["google v3", (fetch) => createGoogleGenerativeAI(fetchOf(fetch))("gemini-2.5-flash")],
  ["openai v3", (fetch) => createOpenAI(fetchOf(fetch)).responses("gpt-5.5")],
  ["openai v4", (fetch) => createOpenAiV4(fetchOf(fetch)).responses("gpt-5.5")],
]

test.each(packages)("%s does not retry on its own", async (_, model) => {
  const { fetch, requests } = createSimulator({ script: () => "Hi", faults: [{ kind: "status", status: 500 }] })
  await expect(ask(model(fetch))).rejects.toMatchObject({ code: "provider_error", retryable: true })
  expect(requests).toHaveLength(1)
})

test("effort is sent in v4's own option", async () => {
  const { fetch, requests } = createSimulator({ script: () => "Hi" })
  const model = createOpenAiV4(fetchOf(fetch)).responses("gpt-5.5")
  for (const effort of ["low", "high"] as const) await ask(model, { effort })
  expect(requests.map(({ settings }) => settings.effort)).toEqual(["low", "high"])
})

test.each(packages.slice(2))(
  "%s: a text after reasoning is sent back with its reasoning, by its id",
  async (_, model) => {
    const parts = [{ reasoning: "hm", signature: "sealed" }, { text: "Oslo." }]
    const { fetch, requests } = createSimulator({ script: () => ({ parts }) })
    const answer = await ask(model(fetch))
    const content = answer.parts.map((part) =>
      part.type === "reasoning" ? { ...part, origin: "openai:gpt-5.5" } : part,
    ) as (Message & { role: "assistant" })["content"]
    await ask(model(fetch), { messages: [task, { role: "assistant", content }, task] })
    const { input = [] } = (requests[1]?.body ?? {}) as unknown as { input?: { type?: string; id?: string }[] }
    expect(input.map(({ type, id }) => [type, id?.slice(0, 3)])).toEqual([
      [undefined, undefined],
      ["item_reference", "rs_"],
      ["item_reference", "msg"],
      [undefined, undefined],
    ])
  },
)

test("a model is named by its provider and id", () => {
  const { provider, id } = fromAiSdk(createOpenAI({ apiKey: "k" }).responses("gpt-5.5"))
  expect([provider, id]).toEqual(["openai", "gpt-5.5"])
})
