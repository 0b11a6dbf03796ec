import { closing, deltaText } from "./script.mjs"

/**
 * The server-sent events of one answer as an Anthropic Messages stream has them. Whatever does not depend on the turn is
 * built once.
 */
export function textFrames(model, deltas) {
  const frames = [
    frame("message_start", {
      message: {
        id: "msg_bench",
        type: "message",
        role: "assistant",
        model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 100, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 1 },
      },
    }),
    frame("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
    frame("ping", {}),
  ]
  for (let index = 0; index < deltas; index++) frames.push(textDelta(deltaText(index)))
  return frames
}

export function toolFrames(n) {
  const input = JSON.stringify({ n })
  return [
    blockStop(0),
    frame("content_block_start", {
      index: 1,
      content_block: { type: "tool_use", id: toolUseId(n), name: "step", input: {} },
    }),
    jsonDelta(""),
    jsonDelta(input.slice(0, 3)),
    jsonDelta(input.slice(3)),
    blockStop(1),
    ...ending("tool_use"),
  ]
}

export const finalFrames = (lastResult) => [textDelta(closing(lastResult)), blockStop(0), ...ending("end_turn")]

export const toolUseId = (n) => `toolu_${n}`

const textDelta = (text) => frame("content_block_delta", { index: 0, delta: { type: "text_delta", text } })
const jsonDelta = (partial_json) =>
  frame("content_block_delta", { index: 1, delta: { type: "input_json_delta", partial_json } })
const blockStop = (index) => frame("content_block_stop", { index })
const ending = (stop_reason) => [
  frame("message_delta", { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 120 } }),
  frame("message_stop", {}),
]

const frame = (type, fields) => Buffer.from(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`)
