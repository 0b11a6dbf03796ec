import type { Json, JsonObject } from "../contract/json.ts"
import type { SimulatedAnswer, SimulatedRequest, SimulatedTool } from "../testing/index.ts"

/**
 * The simulated provider's answer: it calls the tools that the task names, else List and then Read, and quotes their
 * results. If it cannot call a tool, it describes the request.
 */
export function simulatedAssistant(request: SimulatedRequest): SimulatedAnswer {
  const next = nextTool(request)
  if (next !== undefined) {
    return {
      parts: [
        { text: `${label} Calling ${next.name}.` },
        { toolCall: { name: next.name, args: argumentsFor(next, request) } },
      ],
    }
  }
  const results = resultsOf(request)
  return results.length > 0 ? `${label} ${results.join("\n\n")}` : `${label} ${summaryOf(request)}`
}

const label = "[simulated provider: a script, not an LLM]"
const quotedLines = 8

function nextTool(request: SimulatedRequest): SimulatedTool | undefined {
  const task = request.lastUserText.toLowerCase()
  const placeOf = ({ name }: SimulatedTool) => task.search(new RegExp(`\\b${name.toLowerCase()}\\b`))
  const named = request.tools.filter((tool) => placeOf(tool) >= 0).sort((left, right) => placeOf(left) - placeOf(right))
  const usual = ["List", "Read"].flatMap((name) => request.tools.find((tool) => tool.name === name) ?? [])
  const called = new Set(callsSinceTask(request).map(({ name }) => name))
  const wanted = named.length > 0 ? named : usual
  return wanted.find((tool) => !called.has(tool.name) && (tool.name !== "Read" || fileFor(request) !== undefined))
}

function messagesSinceTask({ messages }: SimulatedRequest): SimulatedRequest["messages"] {
  return messages.slice(messages.findLastIndex(({ role, text }) => role === "user" && text !== "") + 1)
}

function callsSinceTask(request: SimulatedRequest) {
  return messagesSinceTask(request).flatMap(({ toolCalls }) => toolCalls)
}

function resultsOf(request: SimulatedRequest): readonly string[] {
  const calls = callsSinceTask(request)
  return messagesSinceTask(request).flatMap(({ toolResults }) =>
    toolResults.map(({ id, text, isError }) => {
      const name = calls.find((call) => call.id === id)?.name ?? "A tool"
      const lines = text.trimEnd().split("\n")
      const rest = lines.length > quotedLines ? [`… ${lines.length - quotedLines} more`] : []
      return [`${name} ${isError ? "failed" : "returned"}:`, ...lines.slice(0, quotedLines), ...rest].join("\n")
    }),
  )
}

function summaryOf({ model, messages, tools, system, lastUserText }: SimulatedRequest): string {
  const names = tools.map(({ name }) => name).join(", ") || "none"
  const said = lastUserText.length > 200 ? `${lastUserText.slice(0, 200)}…` : lastUserText
  return `Received ${messages.length} messages for ${model}. System: ${system ? "yes" : "no"}. Tools: ${names}. You said: ${said}`
}

function argumentsFor(tool: SimulatedTool, request: SimulatedRequest): JsonObject {
  const { properties, required } = tool.inputSchema
  const known = isObject(properties) ? properties : {}
  const needed = Array.isArray(required) ? required.map(String) : []
  return Object.fromEntries(needed.map((name) => [name, valueFor(name, known[name] ?? null, request)]))
}

function valueFor(name: string, schema: Json, request: SimulatedRequest): Json {
  if (!isObject(schema)) return request.lastUserText
  if (Array.isArray(schema.enum) && schema.enum[0] !== undefined) return schema.enum[0]
  switch (schema.type) {
    case "integer":
    case "number":
      return typeof schema.minimum === "number" ? schema.minimum : 1
    case "boolean":
      return false
    case "array":
      return []
    case "object":
      return {}
  }
  if (name === "path") return fileFor(request) ?? "simulated.txt"
  if (name === "pattern") return quotedWord(request.lastUserText) ?? "the"
  return request.lastUserText
}

/** A file that the task names, else the first one in a listing. */
function fileFor(request: SimulatedRequest): string | undefined {
  const named = /[\w./-]*\w\.[A-Za-z]\w{0,7}\b/.exec(request.lastUserText)?.[0]
  if (named !== undefined) return named
  const listed = messagesSinceTask(request).flatMap(({ toolResults }) =>
    toolResults.filter(({ isError }) => !isError).flatMap(({ text }) => text.split("\n")),
  )
  return listed.find((line) => /^\w[\w .-]*\.\w+$/.test(line))
}

function quotedWord(text: string): string | undefined {
  return /["'`“]([^"'`”\n]{2,60})["'`”]/.exec(text)?.[1]
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
