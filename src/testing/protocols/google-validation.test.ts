import { expect, test } from "vitest"
import { createSimulator } from "../simulator.ts"

const text = (words: string) => ({ text: words })
const call = (name: string, more: object = {}) => ({ functionCall: { name, args: {}, ...more } })
const result = (name: string, more: object = {}) => ({
  functionResponse: { name, response: { output: "ok" }, ...more },
})
const user = (...parts: readonly object[]) => ({ role: "user", parts })
const model = (...parts: readonly object[]) => ({ role: "model", parts })
const hello = user(text("hello"))
const declare = (...names: readonly string[]) => [
  { functionDeclarations: names.map((name) => ({ name, description: "", parametersJsonSchema: { type: "object" } })) },
]
const png = { mimeType: "image/png", data: "AAAA" }

const refused: readonly [reason: string, change: object, message: string][] = [
  ["no contents", { contents: undefined }, "contents is not specified"],
  ["an empty list of contents", { contents: [] }, "contents is not specified"],
  ["a field that it does not have", { messages: [] }, 'Unknown name "messages"'],
  ["an assistant role", { contents: [{ role: "assistant", parts: [text("hi")] }] }, "valid role: user, model"],
  ["a content without parts", { contents: [user()] }, "parts must not be empty"],
  ["an unknown kind of part", { contents: [user({ image: png })] }, "Unknown name \"image\" at 'contents[0].parts[0]'"],
  ["a part without data", { contents: [hello, model({ thought: true })] }, "must have one initialized field"],
  ["a part of two kinds", { contents: [user({ text: "a", inlineData: png })] }, "already set"],
  ["data without a media type", { contents: [user({ inlineData: { data: "AAAA" } })] }, "mime_type"],
  ["a call from the user", { contents: [user(call("Read"))] }, "come from the model"],
  ["a result from the model", { contents: [hello, model(result("Read"))] }, "come from the user"],
  ["a call without a name", { contents: [hello, model(call("")), user(result("Read"))] }, "Name cannot be empty"],
  [
    "arguments that are no object",
    { contents: [hello, model(call("Read", { args: "x" })), user(result("Read"))] },
    "Invalid value at 'contents[1].parts[0].function_call.args'",
  ],
  [
    "a response that is no object",
    { contents: [hello, model(call("Read")), user(result("Read", { response: "x" }))] },
    "Invalid value at 'contents[2].parts[0].function_response.response'",
  ],
  [
    "an image in a result of an older model",
    { contents: [hello, model(call("Read")), user(result("Read", { parts: [{ inlineData: png }] }))] },
    "not supported for this model",
  ],
  [
    "a result without a call",
    { contents: [hello, model(text("hi")), user(result("Read"))] },
    "after a function call turn",
  ],
  ["a result at the start", { contents: [user(result("Read"))] }, "after a function call turn"],
  [
    "a result two turns after its call",
    { contents: [hello, model(call("Read")), user(result("Read")), model(text("hi")), user(result("Read"))] },
    "after a function call turn",
  ],
  ["a call without a result", { contents: [hello, model(call("Read")), hello] }, "number of function response parts"],
  ["a call at the end", { contents: [hello, model(call("Read"))] }, "number of function response parts"],
  [
    "one result for two calls",
    { contents: [hello, model(call("Read"), call("Read")), user(result("Read"))] },
    "number of function response parts",
  ],
  [
    "a result of another function",
    { contents: [hello, model(call("Read")), user(result("List"))] },
    "belongs to a function call",
  ],
  [
    "a result with the id of no call",
    { contents: [hello, model(call("Read", { id: "a" })), user(result("Read", { id: "b" }))] },
    "belongs to a function call",
  ],
  ["a call first", { contents: [model(call("Read")), user(result("Read"))] }, "comes immediately after a user turn"],
  ["a function name with a space", { tools: declare("fs read") }, "Invalid function name"],
  ["a function name that begins with a digit", { tools: declare("1read") }, "Invalid function name"],
  ["a function name of 65 letters", { tools: declare("a".repeat(65)) }, "Invalid function name"],
  ["two functions of one name", { tools: declare("Read", "Read") }, "Duplicate function declaration"],
  [
    "a budget and a level",
    { generationConfig: { thinkingConfig: { thinkingBudget: 1, thinkingLevel: "low" } } },
    "only one of thinking budget and thinking level",
  ],
  ["a level", { generationConfig: { thinkingConfig: { thinkingLevel: "low" } } }, "Thinking level is not supported"],
  ["a schema for plain text", { generationConfig: { responseJsonSchema: {} } }, "only supported with"],
  [
    "a schema beside tools",
    { tools: declare("Read"), generationConfig: { responseMimeType: "application/json" } },
    "Function calling with a response mime type",
  ],
]

test.each(refused)("the Google simulator rejects %s", async (_reason, change, message) => {
  const response = await send(change)
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({
    error: { code: 400, status: "INVALID_ARGUMENT", message: expect.stringContaining(message) },
  })
})

const accepted: readonly [reason: string, change: object, modelName?: string][] = [
  ["two contents of one role in a row", { contents: [hello, hello, model(text("hi")), hello] }],
  ["a content without a role", { contents: [{ parts: [text("hi")] }] }],
  [
    "results without ids",
    { contents: [hello, model(call("Read"), call("Read")), user(result("Read"), result("Read"))] },
  ],
  [
    "results in another order than their calls",
    {
      contents: [
        hello,
        model(call("Read", { id: "a" }), call("List", { id: "b" })),
        user(result("List", { id: "b" }), result("Read", { id: "a" })),
      ],
    },
  ],
  ["a function name with dots, colons and dashes", { tools: declare("fs.read:all-lines") }],
  ["a budget", { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } }],
  [
    "a level where there are levels",
    { generationConfig: { thinkingConfig: { thinkingLevel: "low" } } },
    "gemini-3-pro",
  ],
  [
    "a schema beside tools where that goes",
    { tools: declare("Read"), generationConfig: { responseMimeType: "application/json" } },
    "gemini-3-pro",
  ],
  [
    "an unsigned call of an earlier turn",
    { contents: [hello, model(call("Read")), user(result("Read")), model(text("hi")), hello] },
    "gemini-3-pro",
  ],
]

test.each(accepted)("the Google simulator accepts %s", async (_reason, change, modelName) => {
  expect(await (await send(change, allHeaders, modelName)).text()).toContain('"finishReason":"STOP"')
})

test.each(["gemini-3-pro-preview", "gemini-3.8-flash", "gemini-4"])(
  "%s rejects an unsigned call of its turn, unless it is marked as another model's",
  async (modelName) => {
    const turn = (part: object) => ({
      contents: [hello, model(text("hm"), part, call("List")), user(result("Read"), result("List"))],
    })
    const unsigned = await send(turn(call("Read")), allHeaders, modelName)
    expect(await unsigned.json()).toMatchObject({
      error: { message: expect.stringMatching(/missing a thought_signature.*default_api:Read`, position 2/) },
    })
    for (const thoughtSignature of ["c2ln", "skip_thought_signature_validator"]) {
      expect((await send(turn({ ...call("Read"), thoughtSignature }), allHeaders, modelName)).status).toBe(200)
    }
  },
)

test("a wrong key is an invalid argument with details; a missing key is a different error", async () => {
  expect(await (await send({}, { "x-goog-api-key": "wrong" })).json()).toMatchObject({
    error: { code: 400, status: "INVALID_ARGUMENT", details: [{ reason: "API_KEY_INVALID" }] },
  })
  expect(await (await send({}, {})).json()).toMatchObject({ error: { code: 403, status: "PERMISSION_DENIED" } })
})

test("results match their calls by id, else by name and order", async () => {
  const { fetch, requests } = createSimulator({ script: () => "fine" })
  const contents = [
    hello,
    model(call("Read"), call("List"), call("Read")),
    user(result("List"), result("Read", { response: { error: "no" } }), result("Read", { response: { content: "c" } })),
    model(call("Read", { id: "x" }), call("Read", { id: "y" })),
    user(result("Read", { id: "y" }), result("Read", { id: "x" })),
  ]
  await fetch(address("gemini-2.5-flash"), { method: "POST", headers: allHeaders, body: JSON.stringify({ contents }) })
  const [, first, firstResults, , secondResults] = requests[0]?.messages ?? []
  const [readA, list, readB] = first?.toolCalls.map(({ id }) => id) ?? []
  expect(new Set([readA, list, readB]).size).toBe(3)
  expect(firstResults?.toolResults).toEqual([
    { id: list, text: "ok", isError: false },
    { id: readA, text: "no", isError: true },
    { id: readB, text: "c", isError: false },
  ])
  expect(secondResults?.toolResults.map(({ id }) => id)).toEqual(["y", "x"])
})

const allHeaders = { "x-goog-api-key": "key" }

function address(modelName: string): string {
  return `http://model/v1beta/models/${modelName}:streamGenerateContent?alt=sse`
}

function send(
  change: object,
  headers: Record<string, string> = allHeaders,
  modelName = "gemini-2.5-flash",
): Promise<Response> {
  const { fetch } = createSimulator({ script: () => "fine", apiKey: "key" })
  return fetch(address(modelName), { method: "POST", headers, body: JSON.stringify({ contents: [hello], ...change }) })
}
