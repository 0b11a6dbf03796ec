import { LonghaulError } from "../../contract/error.ts"
import type { JsonSchema } from "../../contract/json.ts"
import type { Message } from "../../contract/message.ts"
import type { AgentRequest, Tool } from "../../contract/tool.ts"
import { canonicalJson } from "../../lib/json.ts"
import { PatternError } from "../../lib/linear-pattern.ts"
import { linearSchema } from "../../lib/schema/linear-schema.ts"
import { chainOf } from "../../settings/backends/targets.ts"
import type { ResolvedConfig } from "../../settings/config/config.ts"
import type { CheckedInput } from "../../settings/input/input.ts"
import type { CheckedAgents, NamedType } from "../../settings/options/agents.ts"
import { narrowed, noExtensions } from "../../settings/options/extensions.ts"
import { resolveLimits } from "../../settings/options/limits.ts"
import { outputForm, redactedForm } from "../../settings/options/output.ts"
import { agentTools, isAgentTool } from "../../settings/tools/agent-tools.ts"
import { fetchData } from "../../settings/tools/fetch-data.ts"
import { createDispatcher } from "../../tools/kernel/dispatch.ts"
import type { OpenRun } from "../state/open-run.ts"

/** The settings that an agent always shares with the one that started it, also when it is resumed. */
export function inheritedInput({ input }: OpenRun, { tools }: NamedType): Pick<CheckedInput, Inherited> {
  const { policies, mcpServers, slice, agents, metadata } = input
  const names = tools?.map((tool) => (typeof tool === "string" ? tool : tool.name))
  const filter = narrowed(input.extensions.filter, names ? { allowed: names } : {})
  return {
    policies,
    mcpServers,
    extensions: { ...noExtensions, filter },
    slice,
    agents,
    metadata,
  }
}

type Inherited = "policies" | "mcpServers" | "extensions" | "slice" | "agents" | "metadata"

/** The input of a new agent: its own system and the prompt, no messages of the one that starts it. */
export async function childInput(
  run: OpenRun,
  type: NamedType,
  tools: readonly Tool[],
  { prompt, schema }: AgentRequest,
): Promise<CheckedInput> {
  const { config } = run
  const { settings, compaction, ownCompaction, unknownOutcome, cwd, recordedCwd } = run.input
  const messages: readonly Message[] = [{ role: "user", content: [{ type: "text", text: prompt }] }]
  const form = schema && outputForm({ outputSchema: await modelsSchema(schema) }, config.schemas)
  const target = await targetOf(run, type)
  const { instructions } = run.input
  const redactor = config.redactorOf(target.chain, run.input, run.key)
  return {
    ...inheritedInput(run, type),
    ...target,
    messages: redactor.json(messages),
    // It has the tools of the extensions, so it needs their instructions.
    system: [redactor.text(type.system), ...(instructions === undefined ? [] : [instructions])].join("\n\n"),
    settings: { ...settings, ...(type.effort && { effort: type.effort }) },
    form: form && redactedForm(redactor, form),
    dispatcher: createDispatcher(tools, config.reporting),
    limits: resolveLimits(type.limits, { turns: DEFAULT_TURNS }),
    compaction,
    ownCompaction,
    unknownOutcome,
    cwd,
    recordedCwd,
    agentType: type.name,
  }
}

/** A schema that a model wrote must not block the process that checks answers with it. */
async function modelsSchema(schema: JsonSchema): Promise<JsonSchema> {
  const fix = "Ask for a simpler form."
  try {
    const { dropped } = await linearSchema(schema)
    if (dropped.length === 0) return schema
    const patterns = dropped.map((pattern) => JSON.stringify(pattern)).join(", ")
    throw new LonghaulError("config_invalid", `These patterns cannot be checked in linear time: ${patterns}.`, { fix })
  } catch (error) {
    if (!(error instanceof PatternError)) throw error
    throw new LonghaulError("config_invalid", `The schema ${error.message}.`, { fix, cause: error })
  }
}

/** The tools of an agent: those of its type, else those of the agent that starts it; never those that the run disables. */
export function childTools(
  { config, input }: OpenRun,
  { tools }: NamedType,
  agents: CheckedAgents,
  level: number,
): readonly Tool[] {
  const { dispatcher } = input
  const own = dispatcher.listTools().flatMap(({ name }) => dispatcher.tool(name) ?? [])
  const named = (name: string) => config.tools.find((tool) => tool.name === name) ?? dispatcher.tool(name)
  const given = tools?.map((tool) => (typeof tool === "string" ? (named(tool) ?? missing(tool)) : tool)) ?? own
  // Its long results are offloaded like those of the agent that starts it.
  const fetching = own.includes(fetchData) && !given.includes(fetchData) ? [fetchData] : []
  const all = [...given.filter((tool) => !isAgentTool(tool)), ...fetching, ...agentTools(agents, level)]
  return all.filter(({ name }) => !agents.disabled.includes(name))
}

/** Identifies the version of a type, to detect changes between start and resume. */
export function definitionDigest(
  config: ResolvedConfig,
  { name, description, system, model, effort, limits }: NamedType,
  tools: readonly Tool[],
): string {
  const modelName = typeof model === "object" ? `${model.provider}:${model.id}` : model
  const names = tools.map((tool) => tool.name)
  const defined = [name, description, system, modelName ?? null, effort ?? null, { ...limits }, names]
  return config.digest(canonicalJson(defined))
}

/** Its own model, or the backend and the model that the agent which starts it uses now, with what is left of its chain. */
export async function targetOf(
  { config: { targets }, input, target }: OpenRun,
  { model }: NamedType,
): Promise<Pick<CheckedInput, "chain" | "entry">> {
  if (model !== undefined) return { chain: await chainOf(targets, { backend: target.backend, model }), entry: 0 }
  return { chain: input.chain, entry: Math.max(0, input.chain.indexOf(target)) }
}

function missing(name: string): never {
  throw new LonghaulError("config_invalid", `The agent needs the tool ${name}, which is not available.`, {
    fix: `Register the tool ${name}, or pass it in agents.types.`,
  })
}

const DEFAULT_TURNS = 50
