import { expect, test } from "vitest"
import { memoryStore } from "../../stores/memory.ts"
import { createSimulator } from "../../testing/index.ts"
import { serve } from "./http/serve.ts"
import { createRuntime, type LonghaulError } from "./index.ts"
import { defaultModelName, namedModel, namedProviders, parseModelName } from "./model-names.ts"

const failure = (work: () => unknown): LonghaulError => {
  try {
    work()
  } catch (error) {
    return error as LonghaulError
  }
  throw new Error("it should have failed")
}

test("a model name is provider and model; the model may contain colons and slashes", { tags: ["BK-08"] }, () => {
  expect(parseModelName("openai:gpt-5.5")).toEqual({ provider: "openai", model: "gpt-5.5" })
  expect(parseModelName("openrouter:vendor/model:free")).toEqual({ provider: "openrouter", model: "vendor/model:free" })
  for (const name of ["", "gpt-5.5", ":x", "openai:"]) {
    expect(failure(() => parseModelName(name))).toMatchObject({
      code: "config_invalid",
      fix: expect.stringContaining("anthropic, openai"),
    })
  }
})

test("every provider in the table creates a model from its name, and names its missing key", {
  tags: ["BK-08", "BK-15"],
}, () => {
  for (const { name, keyNames } of namedProviders) {
    if (keyNames.length > 0) {
      const error = failure(() => namedModel(`${name}:m`, {}))
      expect(error).toMatchObject({ code: "config_invalid", fix: expect.stringContaining(keyNames[0] as string) })
    }
    for (const keyName of keyNames)
      expect(namedModel(`${name}:m`, { [keyName]: "k" })).toMatchObject({ provider: name, id: "m" })
    if (keyNames.length === 0) expect(namedModel(`${name}:m`, {})).toMatchObject({ provider: name, id: "m" })
  }
  const error = failure(() => namedModel("acme:m", {}))
  expect(error.fix).toContain("openrouter, groq")
})

test("the default model is LONGHAUL_MODEL, else that of the first provider with a key, else none", () => {
  expect(defaultModelName({})).toBeUndefined()
  expect(defaultModelName({ OPENAI_API_KEY: "" })).toBeUndefined()
  expect(defaultModelName({ GEMINI_API_KEY: "k", OPENAI_API_KEY: "k" })).toMatch(/^openai:/)
  expect(defaultModelName({ OPENAI_API_KEY: "k", LONGHAUL_MODEL: "ollama:llama" })).toBe("ollama:llama")
})

test.each([
  ["anthropic:claude-sonnet-4-6", { ANTHROPIC_API_KEY: "key-1" }, "ANTHROPIC_BASE_URL", "", "x-api-key", "key-1"],
  [
    "anthropic:claude-sonnet-4-6",
    { ANTHROPIC_AUTH_TOKEN: "key-1" },
    "ANTHROPIC_BASE_URL",
    "",
    "authorization",
    "Bearer key-1",
  ],
  ["openai:gpt-5.5", { OPENAI_API_KEY: "key-1" }, "OPENAI_BASE_URL", "/v1", "authorization", "Bearer key-1"],
  ["google:gemini-2.5-pro", { GEMINI_API_KEY: "key-1" }, "GOOGLE_GEMINI_BASE_URL", "", "x-goog-api-key", "key-1"],
  ["ollama:llama", {}, "OLLAMA_BASE_URL", "/v1", "authorization", undefined],
] as const)("%s with %o from secrets uses the address in %s", async (name, keys, urlName, path, header, value) => {
  const simulator = createSimulator({ script: ({ model }) => `I am ${model}` })
  const server = await serve(simulator.fetch)
  try {
    const runtime = createRuntime({
      store: memoryStore(),
      model: name,
      secrets: { ...keys, [urlName]: () => `${server.url}${path}` },
    })
    const result = await runtime.run({ task: "Who?" })
    expect(result).toMatchObject({ status: "done", text: `I am ${parseModelName(name).model}` })
    expect(simulator.requests[0]?.headers[header]).toBe(value)
  } finally {
    await server.close()
  }
})
