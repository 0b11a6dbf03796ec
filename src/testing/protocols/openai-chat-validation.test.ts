import { expect, test } from "vitest"
import { createSimulator } from "../simulator.ts"

const called = { name: "Read", arguments: "{}" }
const call = (id: string) => ({ id, type: "function", function: called })
const calls = (...ids: readonly string[]) => ({ role: "assistant", content: null, tool_calls: ids.map(call) })
const result = (id: string) => ({ role: "tool", tool_call_id: id, content: "ok" })
const hello = { role: "user", content: "hello" }
const said = { role: "assistant", content: "hi" }
const tool = (name: string) => ({ type: "function", function: { name, description: "", parameters: {} } })
const format = (json_schema: object) => ({ response_format: { type: "json_schema", json_schema } })
const city = { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
const strict = (schema: object) => format({ name: "answer", strict: true, schema })

const refused: readonly [reason: string, change: object, message: string][] = [
  ["no model", { model: undefined }, "you must provide a model parameter"],
  ["no messages", { messages: undefined }, "Missing required parameter: 'messages'."],
  ["an empty list of messages", { messages: [] }, "Invalid 'messages': empty array."],
  ["no stream", { stream: undefined }, "stream"],
  ["both names of the output limit", { max_tokens: 5, max_completion_tokens: 5 }, "at the same time"],
  ["a role that is none", { messages: [{ role: "model", content: "hi" }] }, "Invalid value: 'model'."],
  ["a user who says nothing", { messages: [{ role: "user" }] }, "expected a string, got null"],
  ["a model that says nothing", { messages: [hello, { role: "assistant", content: null }] }, "got null"],
  ["unknown content", { messages: [{ role: "user", content: [{ type: "input_text" }] }] }, "'input_text'"],
  ["a result without a call", { messages: [hello, said, result("a")] }, "must be a response to a preceeding message"],
  ["a result too late", { messages: [hello, calls("a"), result("a"), said, result("a")] }, "preceeding message"],
  ["two results for a call", { messages: [hello, calls("a"), result("a"), result("a")] }, "preceeding message"],
  ["a call without a result", { messages: [hello, calls("a"), hello] }, "did not have response messages: a"],
  ["a call at the end", { messages: [hello, calls("a")] }, "did not have response messages: a"],
  ["one result for two calls", { messages: [hello, calls("a", "b"), result("a"), hello] }, "messages: b"],
  ["a result without its id", { messages: [hello, { role: "tool", content: "ok" }] }, "messages[1].tool_call_id"],
  [
    "an image in a result",
    {
      messages: [hello, calls("a"), { ...result("a"), content: [{ type: "image_url", image_url: { url: "data:" } }] }],
    },
    "only allowed for messages with role 'user', but this message with role 'tool'",
  ],
  ["an id of 41 letters", { messages: [hello, calls("a".repeat(41))] }, "maximum length 40"],
  [
    "arguments that are no text",
    { messages: [hello, { ...calls(), tool_calls: [{ ...call("a"), function: { name: "Read", arguments: {} } }] }] },
    "messages[1].tool_calls[0].function.arguments",
  ],
  ["a tool name with a dot", { tools: [tool("fs.read")] }, "tools[0].function.name"],
  ["a tool name of 65 letters", { tools: [tool("a".repeat(65))] }, "maximum length 64"],
  ["a tool that is none", { tools: [{ name: "Read" }] }, "Supported values are: 'function' and 'custom'."],
  ["a schema without a name", format({ schema: city }), "response_format.json_schema.name"],
  ["a schema that is no object", format({ name: "answer", schema: { type: "array" } }), `got 'type: "array"'`],
  ["a strict schema left open", strict(city), "'additionalProperties' is required"],
  ["a strict schema with a choice", strict({ ...city, additionalProperties: false, required: [] }), "Missing 'city'"],
  [
    "a strict schema left open inside",
    strict({ type: "object", properties: { a: city }, required: ["a"], additionalProperties: false }),
    "'additionalProperties' is required",
  ],
]

test.each(refused)("the chat simulator rejects %s", async (_reason, change, message) => {
  const response = await send(change)
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({
    error: { type: "invalid_request_error", code: null, message: expect.stringContaining(message) },
  })
})

const accepted: readonly [reason: string, change: object][] = [
  ["an assistant first, and roles twice in a row", { messages: [said, said, hello, hello] }],
  ["results in any order", { messages: [hello, calls("a", "b"), result("b"), result("a")] }],
  ["an id that comes twice", { messages: [hello, calls("a"), result("a"), calls("a"), result("a")] }],
  ["a tool name of 64 letters", { tools: [tool("a".repeat(64))] }],
  ["a loose schema left open", format({ name: "answer", strict: false, schema: city })],
  ["a strict schema that is closed", strict({ ...city, additionalProperties: false })],
]

test.each(accepted)("the chat simulator accepts %s", async (_reason, change) => {
  expect(await (await send(change)).text()).toContain("data: [DONE]")
})

test.each([
  ["none", undefined, "You didn't provide an API key.", null],
  ["another", "Bearer other", "Incorrect API key provided: *****.", "invalid_api_key"],
])("the chat simulator rejects a request with the wrong key: %s", async (_, authorization, message, code) => {
  const response = await send({}, authorization === undefined ? {} : { authorization }, "known")
  expect(response.status).toBe(401)
  expect(await response.json()).toMatchObject({ error: { code, message: expect.stringContaining(message) } })
})

test("the chat simulator accepts any request if no key is configured", async () => {
  expect((await send({})).status).toBe(200)
})

function send(change: object, headers: Record<string, string> = {}, apiKey?: string): Promise<Response> {
  const body = { model: "m", stream: true, messages: [hello], ...change }
  const { fetch } = createSimulator({ script: () => "fine", ...(apiKey !== undefined && { apiKey }) })
  return fetch("http://model/v1/chat/completions", { method: "POST", headers, body: JSON.stringify(body) })
}
