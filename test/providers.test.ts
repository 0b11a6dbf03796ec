import { createAnthropic } from "@ai-sdk/anthropic"
import { createGoogleGenerativeAI } from "@ai-sdk/google"
import { createOpenAI } from "@ai-sdk/openai"
import { createOpenAI as createOpenAiV4 } from "ai-sdk-openai-v4"
import { afterAll, describe, expect, test } from "vitest"
import type { Model } from "../src/contract/provider.ts"
import { nodeTransport } from "../src/hosts/node/http/http-transport.ts"
import { type Served, serve } from "../src/hosts/node/http/serve.ts"
import { type AiSdkModel, type AiSdkOptions, fromAiSdk } from "../src/providers/ai-sdk/index.ts"
import { anthropic } from "../src/providers/anthropic/index.ts"
import { google } from "../src/providers/google/index.ts"
import { openai } from "../src/providers/openai/index.ts"
import { type BenchOptions, type ProviderBench, providerCases } from "../src/testing/index.ts"

const servers: Served[] = []
const transport = nodeTransport()
afterAll(async () => {
  for (const server of servers) await server.close()
})

interface NamedBench extends ProviderBench {
  readonly name: string
}

/** A bench over real sockets. `name` distinguishes it from others of the same origin. */
function bench(
  origin: string,
  model: (options: BenchOptions & { readonly baseUrl: string }) => Model,
  lacks: Readonly<Record<string, string>> = {},
  name: string = origin,
): NamedBench {
  return {
    name,
    origin,
    lacks,
    async connect(simulator, options) {
      const server = await serve(simulator.fetch)
      servers.push(server)
      return { model: model({ ...options, baseUrl: server.url }), transport }
    },
  }
}

/** Cases that Google's protocol cannot express. */
const googleLacks = {
  "a call with invalid JSON arguments is flagged and has no arguments":
    "the server reads them itself and ends the answer with MALFORMED_FUNCTION_CALL",
  "cache writes have their own usage bucket": "the server reports none",
  "an answer that stops for context-overflow reports it": "the server refuses such a request instead",
  "an answer that stops for pause reports it": "nothing pauses",
}

/** Cases that neither of OpenAI's protocols can express. */
const openAiLacks = {
  "a failed call is marked as failed": "a result has no such mark: what went wrong is its text",
  "an answer that stops for context-overflow reports it": "the server refuses such a request instead",
  "an answer that stops for pause reports it": "nothing pauses",
}

const responsesLacks = { "stop sequences are sent": "the Responses API takes none" }

const chatLacks = {
  "opaque reasoning data is returned to the same model only": "reasoning is shown in plain, nothing is sealed",
}

type OurBench = Parameters<typeof bench>

const anthropicBench: OurBench = [
  "anthropic:claude-sonnet-4-6",
  (options) => anthropic({ model: "claude-sonnet-4-6", ...options }),
]

/** A bench for one of OpenAI's protocols. */
function openAiBench(api: "responses" | "chat", lacks: Readonly<Record<string, string>>): OurBench {
  return [
    "openai:gpt-5.5",
    ({ baseUrl, ...options }) => openai({ model: "gpt-5.5", api, baseUrl: `${baseUrl}/v1`, ...options }),
    { ...openAiLacks, ...lacks },
    `openai (${api})`,
  ]
}

function googleBench(model: string): OurBench {
  return [`google:${model}`, (options) => google({ model, ...options }), googleLacks]
}

const ours: readonly OurBench[] = [
  anthropicBench,
  openAiBench("responses", responsesLacks),
  openAiBench("chat", chatLacks),
  googleBench("gemini-2.5-flash"),
  googleBench("gemini-3-pro-preview"),
]

/** Cases that the AI SDK's older specification cannot express. */
const v3Lacks = {
  "effort is sent in the provider's own format, higher for higher effort":
    "specification v3 has none: providerOptions say it",
}

/** Otherwise the server stores encrypted items, and the package sends references to them. */
const sealedByClient = { providerOptions: { openai: { store: false, include: ["reasoning.encrypted_content"] } } }

/** A real AI SDK package, over real sockets too. */
function aiSdkBench(
  name: string,
  origin: string,
  lacks: Readonly<Record<string, string>>,
  model: (options: { readonly baseUrl: string; readonly apiKey: string }) => AiSdkModel,
  more: AiSdkOptions = {},
): NamedBench {
  return bench(
    origin,
    ({ baseUrl, apiKey = "", ...options }) => fromAiSdk(model({ baseUrl, apiKey }), { ...more, ...options }),
    lacks,
    `AI SDK ${name}`,
  )
}

const benches: readonly NamedBench[] = [
  ...ours.map((each) => bench(...each)),
  aiSdkBench("v3: anthropic", "anthropic:claude-sonnet-4-6", v3Lacks, ({ baseUrl, apiKey }) =>
    createAnthropic({ baseURL: `${baseUrl}/v1`, apiKey })("claude-sonnet-4-6"),
  ),
  aiSdkBench(
    "v3: google",
    "google:gemini-3-pro-preview",
    { ...googleLacks, ...v3Lacks, "a failed call is marked as failed": "the package sends both kinds of result alike" },
    ({ baseUrl, apiKey }) => createGoogleGenerativeAI({ baseURL: `${baseUrl}/v1beta`, apiKey })("gemini-3-pro-preview"),
  ),
  aiSdkBench(
    "v3: openai chat",
    "openai:gpt-4.1",
    { ...openAiLacks, ...v3Lacks, ...chatLacks, "reasoning is separate from text": "the package reads none here" },
    ({ baseUrl, apiKey }) => createOpenAI({ baseURL: `${baseUrl}/v1`, apiKey }).chat("gpt-4.1"),
  ),
  aiSdkBench(
    "v3: openai responses",
    "openai:gpt-4.1",
    { ...openAiLacks, ...v3Lacks, ...responsesLacks },
    ({ baseUrl, apiKey }) => createOpenAI({ baseURL: `${baseUrl}/v1`, apiKey }).responses("gpt-4.1"),
    sealedByClient,
  ),
  aiSdkBench(
    "v4: openai responses",
    "openai:gpt-4.1",
    {
      ...openAiLacks,
      ...responsesLacks,
      "an answer that stops for refusal reports it": "the package takes no notice of refusals",
      "effort is sent in the provider's own format, higher for higher effort":
        "the package leaves it out for a model that does not reason; ai-sdk.test.ts has one that does",
    },
    ({ baseUrl, apiKey }) => createOpenAiV4({ baseURL: `${baseUrl}/v1`, apiKey }).responses("gpt-4.1"),
    sealedByClient,
  ),
]

/** The result of each case with each provider, printed at the end. */
const outcomes = new Map<string, Map<string, string>>()

describe.each(benches.map((each) => ({ bench: each, name: each.name })))("$name", ({ bench: each, name }) => {
  for (const { name: title, run } of providerCases) {
    const reason = each.lacks?.[title]
    const row = outcomes.get(title) ?? new Map<string, string>()
    outcomes.set(title, row)
    row.set(name, reason === undefined ? "FAIL" : `none: ${reason}`)
    if (reason !== undefined) continue
    test(title, async () => {
      await run(each)
      row.set(name, "ok")
    })
  }
})

test("every case that a protocol lacks is an existing case", () => {
  const titles = providerCases.map(({ name }) => name)
  for (const each of benches) expect(titles).toEqual(expect.arrayContaining(Object.keys(each.lacks ?? {})))
})

afterAll(() => {
  const lines = Array.from(
    outcomes,
    ([title, row]) => `  ${title}: ${[...row].map((cell) => cell.join(" ")).join(" · ")}`,
  )
  console.log(`provider cases (${providerCases.length} × ${benches.length}):\n${lines.join("\n")}`)
})
