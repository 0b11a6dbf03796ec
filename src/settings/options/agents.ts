import type { AgentSettings, AgentType, RecordedAgents } from "../../contract/agents.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Tool } from "../../contract/tool.ts"
import { isId } from "../../lib/id.ts"
import { wholeNumber } from "../../lib/known-keys.ts"
import { checkLimits } from "./limits.ts"

/** The checked settings of the agents of a run. */
export interface CheckedAgents extends RecordedAgents {
  /** Has at least the general one. */
  readonly types: ReadonlyMap<string, NamedType>
  readonly disabled: readonly string[]
}

export interface NamedType extends AgentType {
  readonly name: string
}

/** Checks settings. `base`: those that they do not give. */
export function checkedAgents(given: AgentSettings, base: CheckedAgents = defaults): CheckedAgents {
  const { types = {}, depth = base.depth, atOnce = base.atOnce, total = base.total, gates = base.gates } = given
  const named = Object.entries(types).map(([name, type]) => [name, checkedType(name, type)] as const)
  return {
    types: new Map([...base.types, ...named]),
    depth: wholeNumber("agents.depth", depth, MAX_DEPTH),
    atOnce: wholeNumber("agents.atOnce", atOnce),
    total: wholeNumber("agents.total", total),
    gates,
    disabled: base.disabled,
  }
}

/** The settings of a run: those of its runtime, with its own. Undefined: it starts no agents. */
export function agentsOfRun(
  own: CheckedAgents | undefined,
  given: AgentSettings | false | undefined,
  disabled: readonly string[] = [],
): CheckedAgents | undefined {
  if (given === false) return undefined
  const agents = given === undefined ? own : checkedAgents(given, own)
  return agents && disabled.length > 0 ? { ...agents, disabled } : agents
}

/** The settings of a resumed run: its journal has the figures, the runtime and the caller have the types. */
export function recalledAgents(
  own: CheckedAgents | undefined,
  recorded: RecordedAgents | undefined,
  given: AgentSettings | undefined,
): CheckedAgents | undefined {
  if (recorded === undefined && given === undefined) return undefined
  const base = { ...(own ?? defaults), ...recorded, disabled: recorded?.disabled ?? [] }
  return given === undefined ? base : checkedAgents(given, base)
}

export function recordedAgents({ depth, atOnce, total, gates, disabled }: CheckedAgents): RecordedAgents {
  return { depth, atOnce, total, gates, ...(disabled.length > 0 && { disabled }) }
}

/** Throws `config_invalid` for a type that names a tool which does not exist. */
export function checkTypeTools({ types }: CheckedAgents, available: readonly Pick<Tool, "name">[]): void {
  for (const { name, tools = [] } of types.values()) {
    const unknown = tools.find((tool) => typeof tool === "string" && !available.some((each) => each.name === tool))
    if (unknown === undefined) continue
    throw invalidAgent(
      name,
      `names the tool ${JSON.stringify(unknown)}, which is not available`,
      "Pass the tool itself.",
    )
  }
}

/** The tools that types bring along. */
export function ownTools(agents: CheckedAgents | undefined): readonly Tool[] {
  const types = Array.from(agents?.types.values() ?? [])
  return types.flatMap(({ tools = [] }) => tools.filter((tool) => typeof tool === "object"))
}

function checkedType(name: string, type: AgentType): NamedType {
  if (!isId(name))
    throw invalidAgent(name, "has an invalid name", "Use 1 to 64 letters, digits, underscores or hyphens.")
  const { description, system, limits = {} } = type
  for (const [key, text] of Object.entries({ description, system })) {
    if (text.trim() === "") throw invalidAgent(name, `has no ${key}`, `Give it a ${key}.`)
  }
  checkLimits(limits, `agents.types.${name}.limits`)
  return { ...type, name }
}

function invalidAgent(name: string, what: string, fix: string): LonghaulError {
  return new LonghaulError("config_invalid", `The agent ${JSON.stringify(name)} ${what}.`, { fix })
}

/** The agent that is started if none is named. */
export const GENERAL = "general"

const general: NamedType = {
  name: GENERAL,
  description: "Any task that needs several steps.",
  system:
    "You are an agent that does one task for another agent. You know only what the task says. " +
    "Your last message is all that the other agent gets: give the result in full, with paths, figures and what is left to do.",
}

const MAX_DEPTH = 16

const defaults: CheckedAgents = {
  types: new Map([[GENERAL, general]]),
  depth: 1,
  atOnce: 4,
  total: 50,
  gates: "pause",
  disabled: [],
}
