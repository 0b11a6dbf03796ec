// The same task on five models of four protocols, each over real sockets.
import { createRuntime, defineTool } from "longhaul"
import { serve } from "longhaul/node"
import { anthropic } from "longhaul/providers/anthropic"
import { google } from "longhaul/providers/google"
import { openai } from "longhaul/providers/openai"
import { createSimulator } from "longhaul/testing"

const tides = { Skerrow: "04:17", Holm: "05:02" }
const tide = defineTool({
  name: "tide",
  description: "Tells when high water is at a place.",
  inputSchema: { type: "object", properties: { place: { type: "string" } }, required: ["place"] },
  effect: "none",
  run: ({ place }) => tides[place] ?? "not known",
})

// Stands in for every vendor: it implements the protocol of the requested path.
const simulator = createSimulator({
  script: ({ lastToolResults }) =>
    lastToolResults.length > 0
      ? `High water is at ${lastToolResults.map(({ text }) => text).join(" and ")}.`
      : { parts: Object.keys(tides).map((place) => ({ toolCall: { name: "tide", args: { place } } })) },
})
const server = await serve(simulator.fetch)
const shared = { apiKey: "any" }

const models = {
  "anthropic messages": anthropic({ ...shared, model: "claude-sonnet-4-6", baseUrl: server.url }),
  "openai responses": openai({ ...shared, model: "gpt-5.5", api: "responses", baseUrl: `${server.url}/v1` }),
  "openai chat": openai({ ...shared, model: "gpt-5.5", api: "chat", baseUrl: `${server.url}/v1` }),
  google: google({ ...shared, model: "gemini-2.5-pro", baseUrl: server.url }),
  "a server of my own": openai({ model: "qwen3", provider: "mine", baseUrl: `${server.url}/v1` }),
}

const runtime = createRuntime({ tools: [tide], limits: { turns: 5 } })
const rows = await Promise.all(
  Object.entries(models).map(async ([name, model]) => {
    const { status, turns, usage, text } = await runtime.run({ model, task: "When is high water at Skerrow and Holm?" })
    const { inputTokens, outputTokens, costUsd } = usage
    const cost = costUsd === null ? "not known" : `$${costUsd.toFixed(6)}`
    return { name, status, turns, input: inputTokens, output: outputTokens, cost, text }
  }),
)
console.log(table(rows))

await runtime.close()
await server.close()
process.exitCode = rows.every(({ status, text }) => status === "done" && text === rows[0].text) ? 0 : 1

function table(rows) {
  const names = Object.keys(rows[0])
  const lines = [names, ...rows.map((row) => names.map((name) => String(row[name])))]
  const widths = names.map((_, column) => Math.max(...lines.map((line) => line[column].length)))
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column]))
        .join("  ")
        .trimEnd(),
    )
    .join("\n")
}
