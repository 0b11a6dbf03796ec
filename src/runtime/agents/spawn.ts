import type { ToolCall } from "../../contract/backend.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { RecordBody } from "../../contract/event.ts"
import type { RunResult } from "../../contract/result.ts"
import type { ResumeInput } from "../../contract/run.ts"
import type { RunKey } from "../../contract/store.ts"
import { type AgentRequest, type Tool, ToolError, type ToolOutcome } from "../../contract/tool.ts"
import { agentKey } from "../../journal/paths.ts"
import type { ProjectedAsk } from "../../journal/projected-call.ts"
import { RunProjection } from "../../journal/projection.ts"
import { pendingOf } from "../../journal/result.ts"
import { onAbort } from "../../lib/abort.ts"
import { addUsage } from "../../lib/usage.ts"
import type { ResolvedConfig } from "../config.ts"
import { RunControls } from "../controls.ts"
import { newRun, type Opening, type OpenRun } from "../open-run.ts"
import { resumption } from "../resume-run.ts"
import { type FoundRow, readRunRow } from "../runs/read-runs.ts"
import type { Seat } from "../seat.ts"
import { agentIdOf, isOver, totalsBelow } from "./agents-below.ts"
import { answerOf } from "./answer.ts"
import { childInput, childTools, definitionDigest, inheritedInput } from "./child-input.ts"
import { type Family, Slot } from "./family.ts"
import type { AgentPowers, SpawnEnd, SpawnOptions } from "./place.ts"
import { sendMessage } from "./send-message.ts"
import { type CheckedAgents, GENERAL, type NamedType } from "./settings.ts"

/** Opens and executes a run: `executeRun`, which needs this file. */
type Execute = (config: ResolvedConfig, key: RunKey, open: () => Promise<Opening>, seat: Seat) => Promise<RunResult>

/** What a run with these settings can do with agents. */
export function agentPowers(
  config: ResolvedConfig,
  run: OpenRun,
  agents: CheckedAgents,
  family: Family,
  execute: Execute,
): AgentPowers {
  const spawner = new Spawner(config, run, agents, family, execute)
  return {
    spawn: (call, request, options) => spawner.spawn(call, request, options),
    send: (to, text) => sendMessage(config, run, family, to, text),
  }
}

/** One agent to start or to take up. */
interface Job {
  readonly call: ToolCall
  readonly agentId: string
  readonly key: RunKey
  readonly type: NamedType
  readonly request: AgentRequest
  readonly tools: readonly Tool[]
  /** Its journal, as far as it exists. */
  readonly row: FoundRow
}

class Spawner {
  readonly #config: ResolvedConfig
  readonly #run: OpenRun
  readonly #agents: CheckedAgents
  readonly #family: Family
  readonly #execute: Execute

  constructor(config: ResolvedConfig, run: OpenRun, agents: CheckedAgents, family: Family, execute: Execute) {
    this.#config = config
    this.#run = run
    this.#agents = agents
    this.#family = family
    this.#execute = execute
  }

  /** Runs the agent of a call until it stops. Rejects only with a `ToolError`, and then no agent was started. */
  async spawn(call: ToolCall, request: AgentRequest, options: SpawnOptions): Promise<SpawnEnd> {
    try {
      return await this.#spawn(call, request, options)
    } catch (error) {
      if (error instanceof ToolError) throw error
      // An agent that exists continues once it is configured again.
      if (!options.resumed && LonghaulError.is(error) && error.code === "config_invalid") {
        throw new ToolError("invalid_input", error.message)
      }
      this.#run.controls.lose(error)
      return { kind: "lost" }
    }
  }

  async #spawn(call: ToolCall, request: AgentRequest, { resumed, keep }: SpawnOptions): Promise<SpawnEnd> {
    const job = await this.#jobOf(call, request, resumed)
    const { found, isRemoved } = job.row
    if (isRemoved) throw new ToolError("not_found", "The agent was removed.")
    const conclude = async (agent: RunProjection): Promise<SpawnEnd> => {
      await this.#recordEnd(job, agent)
      return isOver(agent.status)
        ? {
            kind: "ended",
            outcome: this.#masked(await answerOf({ agentId: job.agentId, callId: job.call.callId }, agent, keep)),
          }
        : this.#waiting(job, agent)
    }
    if (found && (isOver(found.projection.status) || this.#isUndecided(job, found.projection))) {
      // A process that died may not have recorded the start, without which the run's history would not name the agent.
      if (!this.#run.projection.agents.byId.has(job.agentId)) this.#recordStart(job)
      return conclude(found.projection)
    }
    if (!resumed) this.#count()
    const { slot } = this.#family
    const agent = await (slot ? slot.during(() => this.#work(job)) : this.#work(job))
    if (agent === "lost") return { kind: "lost" }
    if (agent === "stopped") return { kind: "ended", outcome: notStarted(job) }
    if (agent === "released") return { kind: "released" }
    return agent instanceof LonghaulError ? this.#failed(job, agent) : conclude(agent)
  }

  async #jobOf(call: ToolCall, request: AgentRequest, resumed: boolean): Promise<Job> {
    const { place } = this.#family
    const type = this.#agents.types.get(request.agent ?? GENERAL)
    if (!type) throw undefinedType(request.agent)
    if (place.level >= this.#agents.depth) throw new ToolError("denied", "Agents cannot be nested any deeper here.")
    const agentId = agentIdOf(this.#config, call.callId)
    const key = agentKey(this.#run.key, agentId)
    const tools = childTools(this.#config, this.#run, type, this.#agents, place.level + 1)
    const row = resumed ? await readRunRow(this.#config, key) : nothing
    return { call, agentId, key, type, request, tools, row }
  }

  /** Counts a new agent. What an earlier process began was counted when the run was opened. */
  #count(): void {
    const { tree } = this.#family
    const { total } = this.#agents
    if (tree.started >= total) throw new ToolError("denied", `The run has started all of its ${total} agents.`)
    tree.started++
  }

  /** Runs the agent. Returns its journal's fold, or the error for which it could not begin. */
  async #work(job: Job): Promise<RunProjection | LonghaulError | "lost" | "stopped" | "released"> {
    const { controls: above, publisher, ledger } = this.#run
    const { tree, place } = this.#family
    const slot = new Slot(tree.permits, above.halting)
    await slot.take()
    // One that exists continues on the next resume.
    if (above.stopping) {
      slot.free()
      return job.row.found ? "lost" : "stopped"
    }
    if (above.releasing) {
      slot.free()
      return "released"
    }
    this.#recordStart(job)
    const controls = new RunControls()
    const unlink = link(above, controls)
    let agent: OpenRun | undefined
    const name = `${place.name}/${job.type.name}`
    const deniesQuestions = this.#agents.gates === "deny"
    const result = await this.#execute(this.#config, job.key, () => this.#opening(job), {
      publisher: publisher.forAgent(job.key.agent ?? ""),
      controls,
      ledger,
      family: { tree, place: { level: place.level + 1, name, deniesQuestions }, parent: this.#run, slot },
      opened: (opened) => {
        agent = opened
        const stopMonitoring = tree.monitor.add(opened)
        return async () => {
          await stopMonitoring()
          if (opened.controls.cause?.kind === "lost") tree.watch.abandon(job.key, opened.journal.shard)
        }
      },
    })
    unlink()
    slot.free()
    await tree.monitor.readInbox(this.#run)
    if (agent && agent.projection.status !== "running") return agent.projection
    const { code, message, ...rest } = result.error ?? unexplained
    const error = new LonghaulError(code, message, rest)
    if (agent === undefined && job.row.found === null && !lasting.has(code)) return error
    above.lose(error)
    return "lost"
  }

  /** A new agent, or the one that the journal has: it is taken from any other process, because this one owns its run. */
  async #opening(job: Job): Promise<Opening> {
    const { key, row, type, request, tools } = job
    const { watch } = this.#family.tree
    const abandoned = (shard: number) => watch.abandon(key, shard)
    if (row.found === null) {
      const input = await childInput(this.#config, this.#run, type, tools, request)
      return { ...newRun(this.#config, key, input, row.top === -1 ? undefined : row.top), abandoned }
    }
    const { found } = row
    const { runId, nodeId } = key
    const model = typeof type.model === "object" ? { model: type.model } : {}
    const resume = (given: Partial<ResumeInput>) =>
      resumption(
        this.#config,
        key,
        { runId, nodeId, takeover: true, ...model, ...given },
        () => watch.look(key, found),
        {
          found,
          tools,
          inherited: { ...inheritedInput(this.#run), agentType: type.name },
        },
      )
    const decided = handedDown(this.#decisionFor(job, found.projection))
    try {
      return { ...(await resume(decided)), abandoned }
    } catch (error) {
      if (decided.args === undefined || !LonghaulError.is(error) || error.code !== "config_invalid") throw error
      // The decision is already recorded above: it can no longer be refused.
      const { args: _, ...denied } = {
        ...decided,
        decision: "deny",
        answer: `invalid arguments: ${error.message}`,
      } as const
      return { ...(await resume(denied)), abandoned }
    }
  }

  /** The decision that the run has recorded about the question of this agent, if the agent has not recorded it itself. */
  #decisionFor({ call }: Job, agent: RunProjection): Required<ProjectedAsk> | undefined {
    const decided = this.#run.projection.agents.decisions.get(call.callId)
    if (agent.ask === undefined || agent.ask.decision !== undefined) return undefined
    return decided?.request.ticket === agent.ask.request.ticket ? decided : undefined
  }

  #isUndecided(job: Job, agent: RunProjection): boolean {
    if (agent.status !== "paused" || pendingOf(agent) === null || agent.ask?.decision) return false
    return this.#decisionFor(job, agent) === undefined
  }

  #waiting({ call, key }: Job, agent: RunProjection): SpawnEnd {
    const pending = pendingOf(agent)
    const { ask, pause } = agent
    if (pending && ask && pause && ask.decision === undefined && asks.has(pause.reason)) {
      const { digest, reason, question } = ask.request
      const { args, ticket, always, id, name } = pending
      const of = { agent: pending.agent ?? key.agent ?? "", callId: id, tool: name }
      const request = { digest, ticket, reason, question, args, ...(always && { always }), of }
      return { kind: "asked", request: { type: "approval-request", callId: call.callId, ...request } }
    }
    if (pause?.reason === "released") return { kind: "released" }
    return { kind: "handover", text: `Agent ${key.agent}: ${pause?.text ?? "it is paused"}` }
  }

  #recordStart({ call, agentId, type, request, tools }: Job): void {
    const { journal, projection, redactor } = this.#run
    const { callId } = call
    const digest = definitionDigest(this.#config, type, tools)
    const known = projection.agents.byId.get(agentId)
    if (known && known.digest !== digest) {
      const message = `The definition of the agent ${type.name} has changed since ${agentId} started.`
      journal.append({ type: "warning", code: "agent_changed", message })
    }
    const description = redactor.text(request.description)
    journal.append({ type: "agent-start", agentId, callId, name: type.name, description, digest })
    // The agent may work for long, and others look for it by this record. Nothing waits for it.
    journal.flushSoon()
  }

  /** Durable before the result of the call, so that what the agent spent is never forgotten. */
  async #recordEnd({ call, agentId }: Job, agent: RunProjection): Promise<void> {
    const { status, usage, turns, spent } = agent
    if (status === "running") return
    const below = totalsBelow(agent)
    this.#run.journal.append({
      type: "agent-end",
      agentId,
      callId: call.callId,
      status,
      usage: addUsage(usage, agent.agents.usage),
      turns: turns + below.turns,
      spent: { tokens: spent.tokens + below.tokens, usd: spent.usd + below.usd },
      agents: below.agents,
    } satisfies RecordBody)
    await this.#run.journal.flush()
  }

  /** The agent could not begin, and left no journal. */
  async #failed(job: Job, { code, message }: LonghaulError): Promise<SpawnEnd> {
    const { agentId } = job
    const never = new RunProjection()
    never.status = "failed"
    await this.#recordEnd(job, never)
    const text = `Agent ${agentId} could not start: ${code}: ${message}`
    return { kind: "ended", outcome: this.#masked({ status: "error", output: [{ type: "text", text }] }) }
  }

  #masked(outcome: ToolOutcome): ToolOutcome {
    return this.#run.redactor.json(outcome)
  }
}

/** Passes stops and releases of a run on to its agent. Where the run is lost, another process has the agent, too. */
function link(above: RunControls, below: RunControls): () => void {
  const pass = () => {
    const { cause, mode } = above
    if (cause?.kind === "lost") below.lose(cause.error)
    else if (mode) below.stop({ kind: "cancel" }, mode)
    else below.release()
  }
  if (above.stopping || above.releasing) pass()
  const unlinks = [onAbort(above.halting, pass), onAbort(above.signal, pass)]
  return () => {
    for (const unlink of unlinks) unlink()
  }
}

/** A recorded decision, as the person gave it. */
function handedDown(decided: Required<ProjectedAsk> | undefined): Partial<ResumeInput> {
  if (decided === undefined) return {}
  const { decision, text, args, always } = decided.decision
  return {
    ticket: decided.request.ticket,
    ...(decision !== "answer" && { decision: always ? "always" : decision }),
    ...(text !== undefined && { answer: text }),
    ...(args !== undefined && { args }),
  }
}

function undefinedType(name: string | undefined): LonghaulError {
  return new LonghaulError("config_invalid", `There is no agent ${JSON.stringify(name)}.`, {
    fix: "Define it in agents.types of the runtime, or pass agents to resume.",
  })
}

function notStarted({ agentId }: Job): ToolOutcome {
  const text = `Agent ${agentId} was not started: the run is being stopped.`
  return { status: "denied", output: [{ type: "text", text }] }
}

const nothing: FoundRow = { top: -1, isRemoved: false, found: null }
/** Failures to begin that may pass: the agent is not failed, and the run's next process starts it. */
const lasting: ReadonlySet<string> = new Set(["storage", "fenced", "run_active", "internal"])
const asks: ReadonlySet<string> = new Set(["approval", "input", "unknown_outcome"])
const unexplained = new LonghaulError("internal", "The agent stopped without a recorded reason.").toJSON()
