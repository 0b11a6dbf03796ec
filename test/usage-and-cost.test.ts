import { describe, expect, test } from "vitest"
import { createRuntime, defineTool, type Model, type Usage } from "../src/index.ts"
import { anthropic } from "../src/providers/anthropic/index.ts"
import { google } from "../src/providers/google/index.ts"
import { openai } from "../src/providers/openai/index.ts"

/**
 * Two answers of each provider in its real format: one that thinks, reads and writes its cache and calls a tool, and
 * one with an image. The buckets and the cost were computed manually from the providers' rules.
 */
interface Recorded {
  readonly name: string
  model(fetch: typeof globalThis.fetch): Model
  readonly streams: readonly string[]
  readonly buckets: readonly Omit<Usage, "costUsd">[]
  /** Dollars, with the sum written out. */
  readonly costs: readonly number[]
}

const events = (...data: readonly object[]) => data.map((each) => `data: ${JSON.stringify(each)}\n\n`).join("")
const M = 1_000_000

const recorded: readonly Recorded[] = [
  {
    name: "anthropic",
    model: (fetch) => anthropic({ model: "claude-sonnet-4-6", apiKey: "k", fetch }),
    streams: [
      events(
        {
          type: "message_start",
          message: {
            id: "msg_01",
            type: "message",
            role: "assistant",
            model: "claude-sonnet-4-6",
            content: [],
            stop_reason: null,
            usage: {
              input_tokens: 12,
              cache_creation_input_tokens: 1842,
              cache_read_input_tokens: 10_240,
              cache_creation: { ephemeral_5m_input_tokens: 1842, ephemeral_1h_input_tokens: 0 },
              output_tokens: 3,
              service_tier: "standard",
            },
          },
        },
        { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
        { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "I should look." } },
        { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "EqQBCg==" } },
        { type: "content_block_stop", index: 0 },
        {
          type: "content_block_start",
          index: 1,
          content_block: { type: "tool_use", id: "toolu_01", name: "look", input: {} },
        },
        { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '{"at":"sky"}' } },
        { type: "content_block_stop", index: 1 },
        {
          type: "message_delta",
          delta: { stop_reason: "tool_use", stop_sequence: null },
          usage: {
            input_tokens: 12,
            cache_creation_input_tokens: 1842,
            cache_read_input_tokens: 10_240,
            output_tokens: 167,
          },
        },
        { type: "message_stop" },
      ),
      events(
        {
          type: "message_start",
          message: {
            id: "msg_02",
            type: "message",
            role: "assistant",
            model: "claude-sonnet-4-6",
            content: [],
            stop_reason: null,
            // An image of 1,092 by 1,092 pixels is 1,590 tokens of plain input.
            usage: {
              input_tokens: 1602,
              cache_creation_input_tokens: 0,
              cache_read_input_tokens: 12_082,
              output_tokens: 1,
            },
          },
        },
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Blue." } },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 5 } },
        { type: "message_stop" },
      ),
    ],
    buckets: [
      { inputTokens: 12, outputTokens: 167, cacheReadTokens: 10_240, cacheWriteTokens: 1842 },
      { inputTokens: 1602, outputTokens: 5, cacheReadTokens: 12_082, cacheWriteTokens: 0 },
    ],
    costs: [
      (12 * 3 + 167 * 15 + 10_240 * 0.3 + 1842 * 3.75) / M, // 36 + 2505 + 3072 + 6907.5 millionths
      (1602 * 3 + 5 * 15 + 12_082 * 0.3) / M,
    ],
  },
  {
    name: "openai responses",
    model: (fetch) => openai({ model: "gpt-5", apiKey: "k", fetch }),
    streams: [
      events(
        { type: "response.created", response: { id: "resp_1", model: "gpt-5-2025-08-07", status: "in_progress" } },
        {
          type: "response.output_item.added",
          output_index: 0,
          item: { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "" },
        },
        {
          type: "response.output_item.done",
          output_index: 0,
          item: { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAAA" },
        },
        {
          type: "response.output_item.added",
          output_index: 1,
          item: { type: "function_call", id: "fc_1", call_id: "call_1", name: "look", arguments: "" },
        },
        { type: "response.function_call_arguments.delta", item_id: "fc_1", output_index: 1, delta: '{"at":"sky"}' },
        {
          type: "response.output_item.done",
          output_index: 1,
          item: { type: "function_call", id: "fc_1", call_id: "call_1", name: "look", arguments: '{"at":"sky"}' },
        },
        {
          type: "response.completed",
          response: {
            id: "resp_1",
            model: "gpt-5-2025-08-07",
            status: "completed",
            usage: {
              input_tokens: 1500,
              input_tokens_details: { cached_tokens: 1024 },
              output_tokens: 420,
              output_tokens_details: { reasoning_tokens: 384 },
              total_tokens: 1920,
            },
          },
        },
      ),
      events(
        { type: "response.created", response: { id: "resp_2", model: "gpt-5-2025-08-07", status: "in_progress" } },
        {
          type: "response.output_item.added",
          output_index: 0,
          item: { type: "message", id: "msg_1", role: "assistant", content: [] },
        },
        {
          type: "response.content_part.added",
          item_id: "msg_1",
          output_index: 0,
          content_index: 0,
          part: { type: "output_text", text: "" },
        },
        { type: "response.output_text.delta", item_id: "msg_1", output_index: 0, content_index: 0, delta: "Blue." },
        {
          type: "response.output_item.done",
          output_index: 0,
          item: {
            type: "message",
            id: "msg_1",
            role: "assistant",
            content: [{ type: "output_text", text: "Blue.", annotations: [] }],
          },
        },
        {
          type: "response.completed",
          response: {
            id: "resp_2",
            model: "gpt-5-2025-08-07",
            status: "completed",
            // Images count as input.
            usage: {
              input_tokens: 2305,
              input_tokens_details: { cached_tokens: 1408 },
              output_tokens: 7,
              output_tokens_details: { reasoning_tokens: 0 },
              total_tokens: 2312,
            },
          },
        },
      ),
    ],
    buckets: [
      { inputTokens: 476, outputTokens: 420, cacheReadTokens: 1024, cacheWriteTokens: 0 },
      { inputTokens: 897, outputTokens: 7, cacheReadTokens: 1408, cacheWriteTokens: 0 },
    ],
    costs: [(476 * 1.25 + 420 * 10 + 1024 * 0.125) / M, (897 * 1.25 + 7 * 10 + 1408 * 0.125) / M],
  },
  {
    name: "openai chat",
    model: (fetch) => openai({ model: "gpt-5", apiKey: "k", api: "chat", fetch }),
    streams: [
      `${events(
        {
          id: "c1",
          object: "chat.completion.chunk",
          model: "gpt-5-2025-08-07",
          choices: [{ index: 0, delta: { role: "assistant", content: null }, finish_reason: null }],
        },
        {
          id: "c1",
          choices: [
            {
              index: 0,
              delta: {
                tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "look", arguments: "" } }],
              },
              finish_reason: null,
            },
          ],
        },
        {
          id: "c1",
          choices: [
            {
              index: 0,
              delta: { tool_calls: [{ index: 0, function: { arguments: '{"at":"sky"}' } }] },
              finish_reason: null,
            },
          ],
        },
        { id: "c1", choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
        {
          id: "c1",
          choices: [],
          usage: {
            prompt_tokens: 1500,
            completion_tokens: 420,
            total_tokens: 1920,
            prompt_tokens_details: { cached_tokens: 1024, audio_tokens: 0 },
            completion_tokens_details: { reasoning_tokens: 384, audio_tokens: 0 },
          },
        },
      )}data: [DONE]\n\n`,
      `${events(
        {
          id: "c2",
          object: "chat.completion.chunk",
          model: "gpt-5-2025-08-07",
          choices: [{ index: 0, delta: { role: "assistant", content: "Blue." }, finish_reason: null }],
        },
        { id: "c2", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
        {
          id: "c2",
          choices: [],
          usage: {
            prompt_tokens: 2305,
            completion_tokens: 7,
            total_tokens: 2312,
            prompt_tokens_details: { cached_tokens: 1408 },
          },
        },
      )}data: [DONE]\n\n`,
    ],
    buckets: [
      { inputTokens: 476, outputTokens: 420, cacheReadTokens: 1024, cacheWriteTokens: 0 },
      { inputTokens: 897, outputTokens: 7, cacheReadTokens: 1408, cacheWriteTokens: 0 },
    ],
    costs: [(476 * 1.25 + 420 * 10 + 1024 * 0.125) / M, (897 * 1.25 + 7 * 10 + 1408 * 0.125) / M],
  },
  {
    name: "google",
    model: (fetch) => google({ model: "gemini-2.5-pro", apiKey: "k", fetch }),
    streams: [
      events(
        {
          candidates: [{ content: { role: "model", parts: [{ text: "I should look.", thought: true }] }, index: 0 }],
          usageMetadata: {
            promptTokenCount: 2100,
            cachedContentTokenCount: 1024,
            thoughtsTokenCount: 80,
            totalTokenCount: 2180,
          },
          modelVersion: "gemini-2.5-pro",
          responseId: "r1",
        },
        {
          candidates: [
            {
              content: {
                role: "model",
                parts: [{ functionCall: { name: "look", args: { at: "sky" } }, thoughtSignature: "Cg==" }],
              },
              finishReason: "STOP",
              index: 0,
            },
          ],
          usageMetadata: {
            promptTokenCount: 2100,
            cachedContentTokenCount: 1024,
            candidatesTokenCount: 16,
            thoughtsTokenCount: 96,
            totalTokenCount: 2212,
          },
          modelVersion: "gemini-2.5-pro",
          responseId: "r1",
        },
      ),
      events({
        candidates: [{ content: { role: "model", parts: [{ text: "Blue." }] }, finishReason: "STOP", index: 0 }],
        // An image is 258 tokens of the prompt.
        usageMetadata: {
          promptTokenCount: 2420,
          candidatesTokenCount: 2,
          totalTokenCount: 2422,
          promptTokensDetails: [
            { modality: "TEXT", tokenCount: 2162 },
            { modality: "IMAGE", tokenCount: 258 },
          ],
        },
        modelVersion: "gemini-2.5-pro",
        responseId: "r2",
      }),
    ],
    buckets: [
      { inputTokens: 1076, outputTokens: 112, cacheReadTokens: 1024, cacheWriteTokens: 0 },
      { inputTokens: 2420, outputTokens: 2, cacheReadTokens: 0, cacheWriteTokens: 0 },
    ],
    costs: [(1076 * 1.25 + 112 * 10 + 1024 * 0.125) / M, (2420 * 1.25 + 2 * 10) / M],
  },
]

const look = defineTool({
  name: "look",
  description: "Looks.",
  inputSchema: { type: "object" },
  effect: "none",
  run: () => "blue",
})

/** Responds with the streams, one after the other. */
function replay(streams: readonly string[]): typeof fetch {
  let next = 0
  return async () => new Response(streams[next++] ?? "", { headers: { "content-type": "text/event-stream" } })
}

describe.each(recorded)("$name", ({ model, streams, buckets, costs }) => {
  test("recorded answers give the manually computed token counts, cost and sum", { tags: ["RES-02"] }, async () => {
    const runtime = createRuntime({ model: model(replay(streams)), tools: [look] })
    const result = await runtime.run({ task: "What colour is the sky?", runId: "r" })
    expect(result).toMatchObject({ status: "done", text: "Blue.", turns: 2, toolCalls: [{ args: { at: "sky" } }] })
    const told: Usage[] = []
    for await (const record of runtime.events("r")) if (record.type === "usage") told.push(record.usage)
    expect(told.map(({ costUsd: _, ...rest }) => rest)).toEqual(buckets)
    for (const [index, usage] of told.entries()) expect(usage.costUsd).toBeCloseTo(costs[index] ?? Number.NaN, 12)
    const sum = (pick: (usage: Usage) => number | null) =>
      told.reduce((total, usage) => total + (pick(usage) ?? Number.NaN), 0)
    expect(result.usage.costUsd).toBeCloseTo(
      costs.reduce((total, cost) => total + cost, 0),
      12,
    )
    expect(result.usage.inputTokens).toBe(sum(({ inputTokens }) => inputTokens))
    expect(result.usage.cacheReadTokens).toBe(sum(({ cacheReadTokens }) => cacheReadTokens))
  })

  test("a model without a known price has no cost, and neither has its run", async () => {
    const other = { ...model(replay(streams)), id: "nobody-knows-this-model" }
    const result = await createRuntime({ model: other, tools: [look] }).run({ task: "What colour is the sky?" })
    expect(result.status).toBe("done")
    expect(result.usage.costUsd).toBeNull()
  })
})
