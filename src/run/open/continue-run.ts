import type { RecordedCompaction } from "../../contract/compaction.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { RecordedInput } from "../../contract/event.ts"
import type { Json } from "../../contract/json.ts"
import type { ContinueInput, RunInput } from "../../contract/run.ts"
import type { RunKey } from "../../contract/store.ts"
import type { RunProjection } from "../../journal/projection.ts"
import { checkedId } from "../../lib/id.ts"
import { type OwnerWatch, stillActive } from "../../runs/owner-watch.ts"
import { type FoundRun, inspectRun, noSuchRun } from "../../runs/read-runs.ts"
import { type RunTarget, recalledChain } from "../../settings/backends/targets.ts"
import type { ResolvedConfig } from "../../settings/config/config.ts"
import { type CheckedInput, checkInput, toolsWith } from "../../settings/input/input.ts"
import { recalledAgents } from "../../settings/options/agents.ts"
import { recalledCompaction } from "../../settings/options/compaction.ts"
import { toolFilter } from "../../settings/options/extensions.ts"
import { fetchData } from "../../settings/tools/fetch-data.ts"
import { asksToOffload } from "../../settings/tools/offload.ts"
import { earlierExchanges, exchangesFrom, nodeAfter } from "./conversation.ts"

/** The key and the input of the next exchange of a conversation. */
export interface NextExchange {
  readonly key: RunKey
  readonly input: () => Promise<CheckedInput>
}

/**
 * Prepares the next exchange of a conversation, whose last exchange must not be active or paused. Each exchange is a node of
 * the same run, so its journal contains only the new messages. `from` is any exchange of the conversation.
 */
export async function nextExchange(
  config: ResolvedConfig,
  from: RunKey,
  text: string,
  options: ContinueInput,
  watch: OwnerWatch,
): Promise<NextExchange> {
  const { last, found } = await lastExchange(config, from)
  await refuseOpen(last, found, watch)
  const key = { ...from, nodeId: checkedId("nodeId", nodeAfter(last.nodeId)) }
  return {
    key,
    async input() {
      const before = await earlierExchanges(config, last)
      const { projection } = found
      const { extensionTools = {} } = projection.input ?? noInput
      const filter = options.allowedTools || options.disabledTools ? toolFilter(options) : extensionTools
      const checked = await checkInput(config, key, await recalled(config, projection, text, options), filter)
      return { ...checked, before }
    },
  }
}

/** Finds the last exchange that has a record. A process that died while starting another one left only its folder. */
async function lastExchange(
  config: ResolvedConfig,
  from: RunKey,
): Promise<{ readonly last: RunKey; readonly found: FoundRun }> {
  for (const nodeId of (await exchangesFrom(config, from)).toReversed()) {
    const last = { ...from, nodeId }
    const found = await inspectRun(config, last)
    if (found !== null) return { last, found }
  }
  throw noSuchRun(from)
}

async function refuseOpen(key: RunKey, found: FoundRun, watch: OwnerWatch): Promise<void> {
  const { status } = found.projection
  if (status === "paused") {
    throw new LonghaulError("invalid_state", `Run ${key.runId} (node ${key.nodeId}) is paused.`, {
      fix: "Resume it with a decision, or cancel it, before you continue the conversation.",
    })
  }
  if (status !== "running") return
  if ((await watch.look(key, found)) === "alive") throw stillActive(key)
  throw new LonghaulError("invalid_state", `The process of run ${key.runId} (node ${key.nodeId}) is dead.`, {
    fix: "Resume it, or cancel it, before you continue the conversation.",
  })
}

const noInput: Partial<RecordedInput> = {}

/** The input of the next exchange: the given options, otherwise the settings of the exchange before. */
async function recalled(
  config: ResolvedConfig,
  run: RunProjection,
  task: string,
  options: ContinueInput,
): Promise<RunInput> {
  const { input, limits } = run
  const { nodeId: _, ...given } = options
  const { messages: __, model: ___, backend: ____, chain: _____, workspace: ______, ...others } = input ?? noInput
  const { chain } = await recalledChain(config.targets, run, given)
  const agents = recalledAgents(config.agents, input?.agents, given.agents || undefined)
  const there = new Set([...toolsWith(config, agents), fetchData, ...(given.tools ?? [])].map(({ name }) => name))
  const allowedTools = run.tools.flatMap(({ name }) => (there.has(name) ? [name] : []))
  // Recorded with references, and redacted again with the rest of the input.
  const { metadata, system, outputSchema, outputCheck, compaction, agents: figures, ...recorded } = others
  const { agentType: _______, extensionTools: ________, endpoint: _________, given: __________, ...settings } = recorded
  const { expand } = config.redactorOf(chain)
  const restored = <Value extends Json>(value: Value) => expand(value) ?? value
  return {
    ...settings,
    ...(system !== undefined && { system: restored(system) }),
    ...(metadata && { metadata: restored(metadata) }),
    ...(outputSchema && { outputSchema: outputCheck?.name ?? restored(outputSchema) }),
    ...(compaction !== undefined && recalledCompactionOf(config, withInstructions(compaction, restored))),
    ...(limits && { limits }),
    ...agentInput(figures),
    allowedTools: [
      ...allowedTools,
      ...(given.tools ?? []).map(({ name }) => name),
      ...(asksToOffload(given.compaction) ? [fetchData.name] : []),
    ],
    ...given,
    chain: given.chain ?? chain.map(chainEntry),
    task,
  }
}

function recalledCompactionOf(
  { resolveModel, compaction: base }: ResolvedConfig,
  recorded: RecordedCompaction | false,
): Pick<RunInput, "compaction"> {
  const compaction = recalledCompaction(recorded, resolveModel, base)
  return compaction === undefined ? {} : { compaction }
}

function withInstructions(
  compaction: RecordedCompaction | false,
  restored: (text: string) => string,
): RecordedCompaction | false {
  if (compaction === false || compaction.instructions === undefined) return compaction
  return { ...compaction, instructions: restored(compaction.instructions) }
}

function agentInput(recorded: RecordedInput["agents"]): Pick<RunInput, "agents" | "disabledTools"> {
  if (recorded === undefined) return {}
  const { disabled, ...agents } = recorded
  return { agents, ...(disabled && { disabledTools: disabled }) }
}

function chainEntry({ backend, model, modelName, requires }: RunTarget) {
  const used = model ?? modelName
  return { backend, requires, ...(used !== undefined && { model: used }) }
}
