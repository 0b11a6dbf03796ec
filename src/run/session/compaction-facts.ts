import type { ProjectedCall } from "../../journal/projected-call.ts"
import type { RunProjection } from "../../journal/projection.ts"
import { plainText } from "../../lib/content.ts"
import { isJsonObject } from "../../lib/json.ts"
import { usesOf } from "../../policy/rules/known-tools.ts"
import type { OpenRun } from "../state/open-run.ts"

/** The facts that a summary must not lose, from the journal: files, background commands, agents, tasks, tools that were found and stored results. */
export async function compactionFacts({ projection, input }: OpenRun): Promise<string> {
  const calls = [...projection.calls.values()].filter(({ outcome }) => outcome?.status === "ok")
  const changed = await filesOf(calls, "write")
  const read = (await filesOf(calls, "read")).filter((path) => !changed.includes(path))
  return [
    section("Files that were changed", changed),
    section("Files that were only read", read),
    section("Commands that were started in the background and not stopped", runningShells(calls)),
    section("Agents that work in the background: their answers come as messages", workingAgents(projection)),
    section("Agents that have ended", endedAgents(projection)),
    section("Tasks that are not completed", openTasks(calls)),
    section("Tools that ToolSearch has found", foundTools(calls)),
    section("Results that FetchData still returns, by ref", input.dispatcher.tool("FetchData") ? refsOf(calls) : []),
  ]
    .filter((text) => text !== "")
    .join("\n\n")
}

/** The newest entries. */
function section(title: string, entries: readonly string[]): string {
  if (entries.length === 0) return ""
  const left = Math.max(0, entries.length - MAX_ENTRIES)
  const lines = entries.slice(left).map((entry) => `- ${entry.slice(0, MAX_ENTRY_LENGTH)}`)
  return [`${title}:`, ...(left > 0 ? [`- (${left} earlier ones)`] : []), ...lines].join("\n")
}

async function filesOf(calls: readonly ProjectedCall[], use: "read" | "write"): Promise<readonly string[]> {
  const paths = new Set<string>()
  for (const { name, args, finalArgs = args } of calls) {
    const uses = await usesOf({ tool: name, args: finalArgs })
    for (const path of uses[use] ?? []) {
      if (path === undefined) continue
      // The order of last use.
      paths.delete(path)
      paths.add(path)
    }
  }
  return [...paths]
}

function runningShells(calls: readonly ProjectedCall[]): readonly string[] {
  const shells = new Map<string, string>()
  for (const call of calls) {
    if (call.name !== "Bash" || !isJsonObject(call.args)) continue
    const { command, shellId, stop } = call.args
    const started = /^Started as shellId (\S+)\.$/m.exec(resultText(call))?.[1]
    if (started !== undefined) shells.set(started, `${started}: ${String(command)}`)
    if (typeof shellId === "string" && stop === true) shells.delete(shellId)
  }
  return [...shells.values()]
}

/** The agents whose answer the model has not received. */
function workingAgents({ agents }: RunProjection): readonly string[] {
  return Array.from(agents.background.values(), ({ agentId, request }) => {
    const { name = request.agent ?? "" } = agents.byId.get(agentId) ?? {}
    return `${agentId} (${name}): ${request.description}`
  })
}

function endedAgents({ agents }: RunProjection): readonly string[] {
  const ended = Array.from(agents.byId.values()).filter(({ agentId }) => !agents.background.has(agentId))
  return ended.map(({ agentId, name, status, description }) => `${agentId} (${name}), ${status}: ${description}`)
}

/** The names of tools that ToolSearch found. The results that name them are removed. */
function foundTools(calls: readonly ProjectedCall[]): readonly string[] {
  const names = calls.flatMap((call) =>
    call.name === "ToolSearch" ? paragraphs(call).flatMap((text) => /^([\w.-]{1,64}): /.exec(text)?.[1] ?? []) : [],
  )
  return [...new Set(names)]
}

/** As the task tools report them. */
function openTasks(calls: readonly ProjectedCall[]): readonly string[] {
  const tasks = new Map<string, string>()
  for (const call of calls) {
    if (!/^Task(Create|Update|Get|List)$/.test(call.name)) continue
    for (const [, id = "", subject = ""] of resultText(call).matchAll(/^Created task (\d+): (.*)$/gm))
      tasks.set(id, `${id} [pending] ${subject}`)
    for (const [line, id = "", status] of resultText(call).matchAll(/^(\d+) \[(\w+)\] .*$/gm)) {
      if (status === "completed" || status === "cancelled") tasks.delete(id)
      else tasks.set(id, line)
    }
  }
  return [...tasks.values()]
}

function refsOf(calls: readonly ProjectedCall[]): readonly string[] {
  return calls
    .filter((call) => resultText(call).length > SHORT_RESULT)
    .map(({ callId, name, args }) => `${callId}: ${name} ${JSON.stringify(args).slice(0, 80)}`)
}

function paragraphs(call: ProjectedCall): readonly string[] {
  return resultText(call).split("\n\n")
}

function resultText({ outcome }: ProjectedCall): string {
  return outcome ? plainText(outcome.output, "\n") : ""
}

const MAX_ENTRIES = 40
const MAX_ENTRY_LENGTH = 200
const SHORT_RESULT = 800
