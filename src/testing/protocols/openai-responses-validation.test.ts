import { expect, test } from "vitest"
import { createSimulator } from "../simulator.ts"

const user = (...content: readonly object[]) => ({ type: "message", role: "user", content })
const hello = user({ type: "input_text", text: "hello" })
const said = { role: "assistant", content: [{ type: "output_text", text: "hi" }] }
const call = (id: string) => ({ type: "function_call", call_id: id, name: "Read", arguments: "{}" })
const result = (id: string) => ({ type: "function_call_output", call_id: id, output: "ok" })
const thought = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "sealed" }
const tool = (name: string) => ({ type: "function", name, description: "", parameters: {} })
const city = { type: "object", properties: { city: { type: "string" } }, required: ["city"] }

const refused: readonly [reason: string, change: object, message: string][] = [
  ["no model", { model: undefined }, "Missing required parameter: 'model'."],
  ["no input", { input: undefined }, `One of "input"`],
  ["an empty input", { input: [] }, `One of "input"`],
  ["no stream", { stream: undefined }, "stream"],
  ["what only Chat Completions takes", { stop: ["x"] }, "Unknown parameter: 'stop'."],
  ["an output limit below the least", { max_output_tokens: 15 }, "Expected a value >= 16, but got 15"],
  ["a role that is none", { input: [{ role: "tool", content: "x" }] }, "Invalid value: 'tool'."],
  ["an item that is none", { input: [{ type: "tool_call" }] }, "Invalid value: 'tool_call'."],
  ["a user who says nothing", { input: [{ role: "user" }] }, "input[0].content"],
  ["content of the other protocol", { input: [user({ type: "text", text: "x" })] }, "Invalid value: 'text'."],
  ["a user who speaks as the model", { input: [{ ...said, role: "user" }] }, "Invalid value: 'output_text'."],
  ["a model that speaks as a user", { input: [{ ...hello, role: "assistant" }] }, "'output_text' and 'refusal'"],
  ["a result without a call", { input: [hello, result("a")] }, "function call output with call_id a."],
  ["two results for a call", { input: [hello, call("a"), result("a"), result("a")] }, "with call_id a."],
  ["a call without a result", { input: [hello, call("a"), hello] }, "No tool output found for function call a."],
  ["one result for two calls", { input: [hello, call("a"), call("b"), result("a")] }, "function call b."],
  ["an id of 65 letters", { input: [hello, call("a".repeat(65))] }, "maximum length 64"],
  ["a call without its id", { input: [hello, { ...call("a"), call_id: undefined }] }, "input[1].call_id"],
  ["a call without arguments", { input: [hello, { ...call("a"), arguments: {} }] }, "input[1].arguments"],
  ["a result without output", { input: [call("a"), { ...result("a"), output: undefined }] }, "input[1].output"],
  [
    "a result of unknown content",
    { input: [call("a"), { ...result("a"), output: [{ type: "image", data: "AAAA" }] }] },
    "Invalid value: 'image'. Supported values are: 'input_text', 'input_image' and 'input_file'.",
  ],
  ["a thought without its summary", { input: [hello, { ...thought, summary: undefined }, said] }, "input[1].summary"],
  ["a thought that led to nothing", { input: [hello, thought, hello] }, "without its required following item"],
  ["a thought at the end", { input: [hello, thought] }, "Item 'rs_1' of type 'reasoning'"],
  ["a tool of the other protocol", { tools: [{ type: "function", function: tool("Read") }] }, "tools[0].name"],
  ["a tool name with a dot", { tools: [tool("fs.read")] }, "tools[0].name"],
  ["a tool name of 129 letters", { tools: [tool("a".repeat(129))] }, "maximum length 128"],
  ["a schema without a name", { text: { format: { type: "json_schema", schema: city } } }, "text.format.name"],
  [
    "a strict schema left open",
    { text: { format: { type: "json_schema", name: "answer", strict: true, schema: city } } },
    "'additionalProperties' is required",
  ],
]

test.each(refused)("the responses simulator rejects %s", async (_reason, change, message) => {
  const response = await send(change)
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({
    error: { type: "invalid_request_error", code: null, message: expect.stringContaining(message) },
  })
})

test("the responses simulator rejects a reference to unknown reasoning", async () => {
  const response = await send({ input: [hello, { ...thought, encrypted_content: undefined }, said] })
  expect(response.status).toBe(404)
  expect(await response.json()).toMatchObject({
    error: { code: null, message: expect.stringContaining("Items are not persisted when `store` is set to false") },
  })
})

const accepted: readonly [reason: string, change: object][] = [
  ["a string", { input: "hello" }],
  ["results in any order", { input: [hello, call("a"), call("b"), result("b"), result("a")] }],
  ["a thought before a call", { input: [hello, thought, call("a"), result("a")] }],
  ["two thoughts before a word", { input: [hello, thought, thought, said, hello] }],
  ["a system prompt among the messages", { input: [{ role: "developer", content: "Be brief" }, hello] }],
  ["a tool that the server runs", { tools: [{ type: "web_search" }] }],
]

test.each(accepted)("the responses simulator accepts %s", async (_reason, change) => {
  expect(await (await send(change)).text()).toContain("event: response.completed")
})

test("the responses simulator rejects a request with the wrong key", async () => {
  const response = await send({}, { authorization: "Bearer other" }, "known")
  expect(response.status).toBe(401)
  expect(await response.json()).toMatchObject({ error: { code: "invalid_api_key" } })
})

function send(change: object, headers: Record<string, string> = {}, apiKey?: string): Promise<Response> {
  const body = { model: "m", stream: true, store: false, input: [hello], ...change }
  const { fetch } = createSimulator({ script: () => "fine", ...(apiKey !== undefined && { apiKey }) })
  return fetch("http://model/v1/responses", { method: "POST", headers, body: JSON.stringify(body) })
}
