/**
 * The floor: the loop an experienced engineer writes by hand, and all of it. No durability, no limits, no retries.
 *
 * Every subject exports `open(setup)`: one client for all runs of a process. `run` resolves with the final text.
 *
 * @typedef {{ id: string, task: string, onDelta?: (text: string) => void }} BenchRun
 * @typedef {{ run(run: BenchRun): Promise<string>, close(): Promise<void> }} Subject
 * @typedef {{ baseUrl: string, model: string, dir: string, step: (id: string, n: number) => string }} Setup
 */

/** @param {Setup} setup @returns {Subject} */
export function open(setup) {
  return { run: (run) => loop(setup, run), close: async () => {} }
}

export const stepTool = {
  name: "step",
  description: "Does one step of the work.",
  input_schema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
}

/**
 * @param {Setup} setup
 * @param {BenchRun} run
 * @param {(message: object) => Promise<void>} [record] called with each message before the loop continues
 */
export async function loop(setup, run, record) {
  const messages = []
  const add = async (message) => {
    messages.push(message)
    if (record) await record(message)
  }
  await add({ role: "user", content: run.task })
  for (;;) {
    const content = await callModel(setup, messages, run.onDelta)
    await add({ role: "assistant", content })
    const calls = content.filter((block) => block.type === "tool_use")
    if (calls.length === 0) return content.map((block) => block.text).join("")
    const results = []
    for (const call of calls) {
      const output = await setup.step(run.id, call.input.n)
      results.push({ type: "tool_result", tool_use_id: call.id, content: output })
    }
    await add({ role: "user", content: results })
  }
}

async function callModel(setup, messages, onDelta) {
  const response = await fetch(`${setup.baseUrl}/v1/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": "x", "anthropic-version": "2023-06-01" },
    body: JSON.stringify({ model: setup.model, max_tokens: 4096, stream: true, tools: [stepTool], messages }),
  })
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)

  const content = []
  let complete = false
  const decoder = new TextDecoder()
  let rest = ""
  for await (const chunk of response.body) {
    const blocks = (rest + decoder.decode(chunk, { stream: true })).split("\n\n")
    rest = blocks.pop()
    for (const block of blocks) {
      const event = JSON.parse(block.slice(block.indexOf("data: ") + 6))
      if (event.type === "message_stop") complete = true
      else applyEvent(content, event, onDelta)
    }
  }
  if (!complete) throw new Error("the stream ended early")
  return content
}

function applyEvent(content, event, onDelta) {
  if (event.type === "content_block_start") {
    const block = event.content_block
    content[event.index] = block.type === "tool_use" ? { ...block, input: "" } : block
  } else if (event.type === "content_block_delta") {
    const block = content[event.index]
    if (event.delta.type === "text_delta") {
      block.text += event.delta.text
      onDelta?.(event.delta.text)
    } else block.input += event.delta.partial_json
  } else if (event.type === "content_block_stop") {
    const block = content[event.index]
    if (block.type === "tool_use") block.input = JSON.parse(block.input)
  }
}
