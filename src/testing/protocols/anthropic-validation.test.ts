import { expect, test } from "vitest"
import { createSimulator } from "../simulator.ts"

const call = (id: string) => ({ type: "tool_use", id, name: "Read", input: {} })
const result = (id: string) => ({ type: "tool_result", tool_use_id: id, content: "ok" })
const text = (words: string) => ({ type: "text", text: words })
const image = (media_type: string, data = "AAAA") => ({ type: "image", source: { type: "base64", media_type, data } })
const user = (...content: readonly object[]) => ({ role: "user", content })
const assistant = (...content: readonly object[]) => ({ role: "assistant", content })
const system = (content: string) => ({ role: "system", content })
const hello = user(text("hello"))
const tool = { name: "Read", description: "", input_schema: { type: "object" } }
const mark = { cache_control: { type: "ephemeral" } }

const refused: readonly [reason: string, change: object, message: string][] = [
  ["no model", { model: undefined }, "model: Field required"],
  ["no max_tokens", { max_tokens: undefined }, "max_tokens: Field required"],
  ["no messages", { messages: undefined }, "messages: Field required"],
  ["an empty list of messages", { messages: [] }, "at least one message"],
  ["no stream", { stream: undefined }, "stream"],
  ["an assistant first", { messages: [assistant(text("hi")), hello] }, 'first message must use the "user" role'],
  ["a system message first", { messages: [system("hi"), hello] }, "messages.0: a message with the role 'system'"],
  ["a system message behind the assistant", { messages: [hello, assistant(text("hi")), system("hi")] }, "messages.2: "],
  [
    "a system message of an older model",
    { model: "claude-opus-4-7-20260101", messages: [hello, system("hi")] },
    "role 'system' is not supported on this model",
  ],
  [
    "a system message with an image",
    { messages: [hello, { role: "system", content: [image("image/png")] }] },
    "must have text alone",
  ],
  ["an unknown role", { messages: [hello, { role: "tool", content: "hi" }] }, "messages.1.role"],
  ["a message without content", { messages: [user(), hello] }, "must have non-empty content"],
  ["an empty text block", { messages: [user(text(""))] }, "text content blocks must be non-empty"],
  ["an empty string", { messages: [{ role: "user", content: "" }] }, "text content blocks must be non-empty"],
  ["a blank text block", { messages: [user(text(" \n"))] }, "must contain non-whitespace text"],
  [
    "an empty text block in a result",
    { messages: [hello, assistant(call("a")), user({ ...result("a"), content: [text("")] })] },
    "text content blocks must be non-empty",
  ],
  [
    "an image in a result that failed",
    {
      messages: [hello, assistant(call("a")), user({ ...result("a"), is_error: true, content: [image("image/png")] })],
    },
    'all content must be type "text" if `is_error` is true',
  ],
  [
    "an image of a kind that it does not know in a result",
    { messages: [hello, assistant(call("a")), user({ ...result("a"), content: [image("image/svg+xml")] })] },
    "media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
  ],
  [
    "an image that is too large",
    { messages: [user(image("image/png", "A".repeat(5 * 1024 * 1024 + 4)))] },
    "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 5242884 bytes > 5242880 bytes",
  ],
  [
    "a document that is no PDF",
    { messages: [user({ ...image("text/html"), type: "document" })] },
    "document.source.base64.media_type: Input should be 'application/pdf'",
  ],
  ["an unknown block", { messages: [user({ type: "tool-call" })] }, "does not match any of the expected tags"],
  [
    "reasoning without its signature",
    { messages: [hello, assistant({ type: "thinking", thinking: "x" })] },
    "signature",
  ],
  [
    "a result without a call",
    { messages: [hello, assistant(text("hi")), user(result("a"))] },
    "unexpected `tool_use_id`",
  ],
  [
    "a result two messages after its call",
    { messages: [hello, assistant(call("a")), user(result("a")), assistant(text("hi")), user(result("a"))] },
    "unexpected `tool_use_id`",
  ],
  ["a call without a result", { messages: [hello, assistant(call("a")), hello] }, "without `tool_result` blocks"],
  ["a call at the end", { messages: [hello, assistant(call("a"))] }, "without `tool_result` blocks"],
  [
    "one result for two calls",
    { messages: [hello, assistant(call("a"), call("b")), user(result("a"))] },
    "immediately after: b.",
  ],
  [
    "a text before the result",
    { messages: [hello, assistant(call("a")), user(text("first"), result("a"))] },
    "without `tool_result` blocks",
  ],
  [
    "two results for a call",
    { messages: [hello, assistant(call("a")), user(result("a"), result("a"))] },
    "each tool_use must have a single result",
  ],
  [
    "an id that comes twice",
    { messages: [hello, assistant(call("a")), user(result("a")), assistant(call("a")), user(result("a"))] },
    "ids must be unique",
  ],
  ["an id of other letters", { messages: [hello, assistant(call("a:1")), user(result("a:1"))] }, "tool_use.id"],
  [
    "arguments that are no object",
    { messages: [hello, assistant({ ...call("a"), input: null }), user(result("a"))] },
    "valid dictionary",
  ],
  ["a tool name with a dot", { tools: [{ ...tool, name: "fs.read" }] }, "tools.0.custom.name"],
  ["a tool name of 129 letters", { tools: [{ ...tool, name: "a".repeat(129) }] }, "tools.0.custom.name"],
  ["two tools of one name", { tools: [tool, tool] }, "Tool names must be unique"],
  ["a tool without a schema", { tools: [{ name: "Read" }] }, "input_schema"],
  [
    "five cache marks",
    {
      system: [{ ...text("s"), ...mark }],
      tools: [{ ...tool, ...mark }],
      messages: [user(...["a", "b", "c"].map((words) => ({ ...text(words), ...mark })))],
    },
    "Found 5.",
  ],
]

test.each(refused)("the Anthropic simulator rejects %s", async (_reason, change, message) => {
  const response = await send(change)
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({
    type: "error",
    error: { type: "invalid_request_error", message: expect.stringContaining(message) },
  })
})

const accepted: readonly [reason: string, change: object][] = [
  [
    "two messages of one role in a row",
    { messages: [hello, hello, assistant(text("hi")), assistant(text("ho")), hello] },
  ],
  [
    "results spread over messages of one role",
    { messages: [hello, assistant(call("a")), assistant(call("b")), user(result("b")), user(result("a"), text("go"))] },
  ],
  ["a system message behind the user", { messages: [hello, system("hi"), assistant(text("hi")), hello] }],
  [
    "a system message behind results",
    { model: "claude-opus-4-8", messages: [hello, assistant(call("a")), user(result("a")), system("hi")] },
  ],
  ["an empty result", { messages: [hello, assistant(call("a")), user({ ...result("a"), content: "" })] }],
  ["four cache marks", { messages: [user(...["a", "b", "c", "d"].map((words) => ({ ...text(words), ...mark })))] }],
  ["a tool name of 128 letters", { tools: [{ ...tool, name: "a".repeat(128) }] }],
]

test.each(accepted)("the Anthropic simulator accepts %s", async (_reason, change) => {
  expect(await (await send(change)).text()).toContain("message_stop")
})

test("a system message in the conversation is part of the system prompt, and no message of the user", async () => {
  const seen: (readonly [string | undefined, string, number])[] = []
  const { fetch } = createSimulator({
    script({ system: prompt, lastUserText, messages }) {
      seen.push([prompt, lastUserText, messages.length])
      return "fine"
    },
  })
  const messages = [hello, system("Be brief.")]
  const body = { model: "m", max_tokens: 9, stream: true, system: "Be kind.", messages }
  await fetch("http://model/v1/messages", { method: "POST", headers: allHeaders, body: JSON.stringify(body) })
  expect(seen).toEqual([["Be kind.\nBe brief.", "hello", 1]])
})

test("the Anthropic simulator rejects a request without a version", async () => {
  const response = await send({}, { "x-api-key": "key" })
  expect(await response.json()).toMatchObject({ error: { message: "anthropic-version: header is required" } })
})

const allHeaders = { "x-api-key": "key", "anthropic-version": "2023-06-01" }

function send(change: object, headers: Record<string, string> = allHeaders): Promise<Response> {
  const body = { model: "m", max_tokens: 9, stream: true, messages: [hello], ...change }
  const { fetch } = createSimulator({ script: () => "fine" })
  return fetch("http://model/v1/messages", { method: "POST", headers, body: JSON.stringify(body) })
}
