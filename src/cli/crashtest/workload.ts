import { existsSync } from "node:fs"
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import type { Json, JsonObject } from "../../contract/json.ts"
import type { Policy } from "../../contract/policy.ts"
import type { Model } from "../../contract/provider.ts"
import type { Tool } from "../../contract/tool.ts"
import { plainText } from "../../lib/content.ts"
import { isJsonObject } from "../../lib/json.ts"
import { type ScriptedStep, scriptedModel } from "../../testing/index.ts"
import { askUserTool } from "../../tools/ask-user.ts"
import { defineTool } from "../../tools/kernel/define-tool.ts"
import { UsageError } from "../arguments.ts"
import { clip, reasonOf } from "../format.ts"

export interface Workload {
  readonly tools: readonly Tool[]
  /** The model's calls, response by response; after the last it ends. */
  readonly steps: readonly (readonly Call[])[]
  /** Tools that pause the run before they run. */
  readonly gated: readonly string[]
  /** The calls of agents, by the prompt of the call of `Agent` that starts them. */
  readonly agents?: Readonly<Record<string, Workload["steps"]>> | undefined
  /** Answers questions and approvals in the process of the run. */
  readonly onAsk?: Policy["onAsk"] | undefined
}

interface Call {
  readonly name: string
  readonly args: Json
}

export const LAST_WORDS = "Done."

/**
 * Covers every effect alone and in parallel, two of `once` in one step, one pause for approval and one for an answer.
 */
function ownWorkload(): Workload {
  const tool = (name: string, effect: Tool["effect"], concurrent = effect === "none") =>
    defineTool({
      name,
      description: `Simulates a call whose effect is ${effect}.`,
      inputSchema: input,
      effect,
      concurrent,
      run,
    })
  const call = (name: string, n: number): Call => ({ name, args: { n } })
  return {
    tools: [
      tool("look", "none"),
      tool("pay", "once"),
      tool("send", "once", true),
      tool("put", "repeatable"),
      tool("ship", "once"),
      askUserTool(),
    ],
    steps: [
      [call("look", 1), call("look", 2)],
      [call("pay", 1), call("pay", 2), call("put", 1)],
      [call("send", 1), call("send", 2), call("look", 3)],
      [call("ship", 1)],
      [{ name: "AskUser", args: { question: "Which way?" } }],
      [call("look", 4), call("pay", 3), call("put", 2)],
    ],
    gated: ["ship"],
  }
}

const input = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const
const run = ({ n }: JsonObject) => `done: ${n}`

/** The model's script depends only on the conversation, so that a process that resumes a run gets the next step. */
export function modelOf(workload: Workload): Model {
  const next: ScriptedStep = (messages) => {
    const [first] = messages
    const calls = stepsOf(workload, first?.role === "user" ? plainText(first.content, "") : "")[
      messages.filter(({ role }) => role === "assistant").length
    ]
    return calls === undefined ? LAST_WORDS : { parts: calls.map((toolCall) => ({ toolCall })) }
  }
  const scripts = [workload.steps, ...Object.values(workload.agents ?? {})]
  // An agent may be started several times with one prompt.
  const most = scripts.reduce((sum, steps) => sum + steps.length + 1, 0) * MAX_STARTS
  return scriptedModel(Array<ScriptedStep>(most).fill(next))
}

const MAX_STARTS = 100

/** The steps of the run, or of the agent with this prompt. */
export function stepsOf({ steps, agents = {} }: Workload, prompt: string): Workload["steps"] {
  return agents[prompt] ?? steps
}

/** The built-in workload, or a module's exports: `tools`, `steps` and optionally `gated`, `agents` and `onAsk`. */
export async function loadWorkload(file: string | undefined): Promise<Workload> {
  if (file === undefined) return ownWorkload()
  const path = resolve(file)
  if (!existsSync(path)) throw new UsageError(`File not found: ${path}.`, "Check --tools.")
  const loaded: unknown = await import(pathToFileURL(path).href).catch((error: unknown) => {
    const message = reasonOf(error)
    throw new UsageError(`Could not load ${path}: ${clip(message, 300)}`, `Run it alone to see the error: node ${path}`)
  })
  // Safe: every field is optional, and `checked` checks each.
  return checked(path, loaded as Partial<Workload>)
}

function checked(path: string, { tools, steps, gated = [], agents, onAsk }: Partial<Workload>): Workload {
  if (!Array.isArray(tools) || tools.length === 0 || !tools.every((tool) => typeof tool?.run === "function")) {
    throw new UsageError(`${path} does not export tools.`, "Add: export const tools = [defineTool({ … })].")
  }
  const isStep = (step: unknown) => Array.isArray(step) && step.length > 0 && step.every(isCall)
  const names = [...tools.map(({ name }) => name), ...(agents ? ["Agent"] : [])]
  const isCall = (call: unknown) =>
    isJsonObject(call) && typeof call.name === "string" && names.includes(call.name) && "args" in call
  const areSteps = (given: unknown) => Array.isArray(given) && given.length > 0 && given.every(isStep)
  if (!areSteps(steps) || !Object.values(agents ?? {}).every(areSteps)) {
    throw new UsageError(
      `${path} does not export steps, or a step calls a tool that the module does not export.`,
      'Export the calls of each model response: export const steps = [[{ name: "pay", args: { n: 1 } }]].',
    )
  }
  if (!Array.isArray(gated) || !gated.every((name) => tools.some((tool) => tool.name === name))) {
    throw new UsageError(
      `${path} exports gated with the name of a tool that it does not export.`,
      "Use names of exported tools only.",
    )
  }
  // Safe: it was just checked.
  return { tools, steps: steps as Workload["steps"], gated, agents, onAsk }
}
