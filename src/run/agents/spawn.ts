import type { ToolCall } from "../../contract/backend.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { RecordBody } from "../../contract/event.ts"
import type { JsonObject } from "../../contract/json.ts"
import type { ResumeInput } from "../../contract/run.ts"
import type { RunKey } from "../../contract/store.ts"
import { type AgentRequest, type Tool, ToolError, type ToolOutcome } from "../../contract/tool.ts"
import { agentKey } from "../../journal/paths.ts"
import { RunProjection } from "../../journal/projection.ts"
import { addUsage } from "../../lib/usage.ts"
import { type FoundRow, readRunRow } from "../../runs/read-runs.ts"
import { type CheckedAgents, GENERAL, type NamedType } from "../../settings/options/agents.ts"
import { AGENT } from "../../settings/tools/agent-tools.ts"
import type { KeepWhole } from "../../tools/kernel/dispatch.ts"
import { Overflow } from "../calls/overflow.ts"
import { agentIdOf, isOver, totalsBelow } from "../open/agents-below.ts"
import { newRun } from "../open/open-run.ts"
import { resumption } from "../open/resume-run.ts"
import type { Agents, SpawnEnd, SpawnOptions } from "../state/agents.ts"
import { RunControls } from "../state/controls.ts"
import type { OpenRun, RunTree } from "../state/open-run.ts"
import type { Opening } from "../state/opening.ts"
import { Slot } from "../state/slot.ts"
import { answerOf } from "./answer.ts"
import { BackgroundAgents } from "./background.ts"
import { childInput, childTools, definitionDigest, inheritedInput, targetOf } from "./child-input.ts"
import { linkControls } from "./link-controls.ts"
import { decisionFor, handedDown, isUndecided, waitingEnd } from "./questions.ts"
import { sendMessage } from "./send-message.ts"

/** The agents of a run with these settings. */
export function agentsOf(run: OpenRun, settings: CheckedAgents): Agents {
  const background = new BackgroundAgents(run)
  const spawner = new Spawner(run, settings, background)
  return {
    spawn: (call, request, options) =>
      request.background ? spawner.begin(call, request, options) : spawner.spawn(call, request, options),
    send: (to, text) => sendMessage(run, to, text),
    background: {
      get isPending() {
        return background.isPending
      },
      resume: () => spawner.resume(),
      wait: () => background.wait(),
      waitWithoutSession: () => background.waitWithoutSession(),
      finish: (stop) => background.finish(stop),
    },
  }
}

/** One agent to start or to resume. */
interface Job {
  readonly callId: string
  readonly agentId: string
  readonly key: RunKey
  readonly type: NamedType
  readonly request: AgentRequest
  readonly tools: readonly Tool[]
  /** Its journal, as far as it exists. */
  readonly row: FoundRow
  /** The controls that stop it. */
  readonly above: RunControls
  /** Saves an answer that is too long. */
  readonly keep: KeepWhole | undefined
  /** True once its start is recorded by this process. */
  isRecorded: boolean
}

class Spawner {
  readonly #run: OpenRun
  readonly #settings: CheckedAgents
  readonly #background: BackgroundAgents

  constructor(run: OpenRun, settings: CheckedAgents, background: BackgroundAgents) {
    this.#run = run
    this.#settings = settings
    this.#background = background
  }

  /** Runs the agent of a call until it stops. Rejects only with a `ToolError`, and then no agent was started. */
  async spawn(call: ToolCall, request: AgentRequest, options: SpawnOptions): Promise<SpawnEnd> {
    const { resumed, keep } = options
    return this.#orRefused(resumed, async () => {
      const job = await this.#jobOf(call.callId, request, resumed, { above: this.#run.controls, keep })
      if (!resumed) this.#count()
      const { slot } = this.#run.tree
      return slot ? slot.during(() => this.#complete(job)) : this.#complete(job)
    })
  }

  /** Starts the agent of a call and does not wait for it. */
  async begin(call: ToolCall, request: AgentRequest, { resumed }: SpawnOptions): Promise<SpawnEnd> {
    const { callId } = call
    const agentId = agentIdOf(this.#run.config, callId)
    return this.#orRefused(resumed, async () => {
      // An earlier process may have recorded its start and not the result of the call: it was resumed with the run.
      if (!this.#background.has(agentId)) {
        await this.#inBackground(callId, request, resumed, () => {
          if (!resumed) this.#count()
        })
      }
      return { kind: "ended", outcome: begun(agentId) }
    })
  }

  /** Resumes the agents in the background whose end the model has not received. */
  async resume(): Promise<void> {
    const { projection, redactor } = this.#run
    const { background, byId } = projection.agents
    for (const { agentId, callId, request } of background.values()) {
      // Safe: a request has been in the journal, so it is JSON, and only its texts change.
      const known = (redactor.expand(request as unknown as JsonObject) ?? request) as unknown as AgentRequest
      try {
        await this.#inBackground(callId, known, true, () => {
          // The agent of a run that was forked: this run starts its own.
          if (!byId.has(agentId)) this.#run.tree.shared.started++
        })
      } catch (error) {
        if (!(error instanceof ToolError)) return this.#run.controls.lose(error)
        const text = `Agent ${agentId} cannot continue: ${error.message}`
        const outcome: ToolOutcome = { status: "error", output: [{ type: "text", text }] }
        this.#background.start(agentId, async () => ({ kind: "ended", outcome }))
      }
    }
  }

  async #inBackground(callId: string, request: AgentRequest, resumed: boolean, count: () => void): Promise<void> {
    const keep = new Overflow(this.#run.config, this.#run.key, this.#run.redactor).keeperOf(
      { callId, name: AGENT, args: null },
      false,
    )
    const job = await this.#jobOf(callId, request, resumed, { above: this.#background.controls, keep })
    count()
    this.#recordStart(job)
    this.#background.start(job.agentId, () => this.#complete(job))
  }

  async #orRefused(resumed: boolean, work: () => Promise<SpawnEnd>): Promise<SpawnEnd> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof ToolError) throw error
      // An agent that exists continues once it is configured again.
      if (!resumed && LonghaulError.is(error) && error.code === "config_invalid") {
        throw new ToolError("invalid_input", error.message)
      }
      this.#run.controls.lose(error)
      return { kind: "lost" }
    }
  }

  /** Runs an agent until it stops, from wherever it is. */
  async #complete(job: Job): Promise<SpawnEnd> {
    const { found } = job.row
    if (found && (isOver(found.projection.status) || isUndecided(this.#run, job.callId, found.projection))) {
      // A process that died may not have recorded the start, without which the run's history would not name the agent.
      if (!this.#run.projection.agents.byId.has(job.agentId)) this.#recordStart(job)
      return this.#conclude(job, found.projection)
    }
    const agent = await this.#work(job)
    if (agent === "lost") return { kind: "lost" }
    if (agent === "stopped") return { kind: "ended", outcome: notStarted(job) }
    if (agent === "released") return { kind: "released" }
    return agent instanceof LonghaulError ? this.#failed(job, agent) : this.#conclude(job, agent)
  }

  async #conclude(job: Job, agent: RunProjection): Promise<SpawnEnd> {
    await this.#recordEnd(job, agent)
    if (!isOver(agent.status)) return waitingEnd(job.callId, job.key, agent)
    return { kind: "ended", outcome: this.#masked(await answerOf(job, agent, job.keep)) }
  }

  async #jobOf(
    callId: string,
    request: AgentRequest,
    resumed: boolean,
    { above, keep }: Pick<Job, "above" | "keep">,
  ): Promise<Job> {
    const { level } = this.#run.tree
    const type = this.#settings.types.get(request.agent ?? GENERAL)
    if (!type) throw undefinedType(request.agent)
    if (level >= this.#settings.depth) throw new ToolError("denied", "Agents cannot be nested any deeper here.")
    const agentId = agentIdOf(this.#run.config, callId)
    const key = agentKey(this.#run.key, agentId)
    const tools = childTools(this.#run, type, this.#settings, level + 1)
    const row = resumed ? await readRunRow(this.#run.config, key) : nothing
    if (row.isRemoved) throw new ToolError("not_found", "The agent was removed.")
    return { callId, agentId, key, type, request, tools, row, above, keep, isRecorded: false }
  }

  /** Counts a new agent. What an earlier process began was counted when the run was opened. */
  #count(): void {
    const { shared } = this.#run.tree
    const { total } = this.#settings
    if (shared.started >= total) throw new ToolError("denied", `The run has started all of its ${total} agents.`)
    shared.started++
  }

  /** Runs the agent. Returns its journal's fold, or the error for which it could not begin. */
  async #work(job: Job): Promise<RunProjection | LonghaulError | "lost" | "stopped" | "released"> {
    const { config, publisher, tree } = this.#run
    const { watch, monitor, slots, execute } = tree.shared
    const { above } = job
    const slot = new Slot(slots, above.halting)
    await slot.take()
    // An existing agent continues on the next resume.
    if (above.stopping) {
      slot.free()
      return job.row.found ? "lost" : "stopped"
    }
    if (above.releasing) {
      slot.free()
      return "released"
    }
    if (!job.isRecorded) this.#recordStart(job)
    const controls = new RunControls()
    const unlink = linkControls(above, controls)
    let agent: OpenRun | undefined
    const position: RunTree = {
      level: tree.level + 1,
      name: `${tree.name}/${job.type.name}`,
      deniesQuestions: this.#settings.gates === "deny",
      parent: this.#run,
      slot,
      shared: tree.shared,
    }
    const result = await execute(config, job.key, () => this.#opening(job), {
      publisher: publisher.forAgent(job.key.agent ?? ""),
      controls,
      position: { agent: position },
      opened: (opened) => {
        agent = opened
        const stopMonitoring = monitor.add(opened)
        return async () => {
          await stopMonitoring()
          if (opened.controls.cause?.kind === "lost") watch.abandon(job.key, opened.journal.shard)
        }
      },
    })
    unlink()
    slot.free()
    await monitor.readInbox(this.#run)
    if (agent && agent.projection.status !== "running") return agent.projection
    const { code, message, ...rest } = result.error ?? unexplained
    const error = new LonghaulError(code, message, rest)
    if (agent === undefined && job.row.found === null && !lasting.has(code)) return error
    this.#run.controls.lose(error)
    return "lost"
  }

  /** A new agent, or the one that the journal has: it is taken from any other process, because this one owns its run. */
  async #opening(job: Job): Promise<Opening> {
    const { key, row, type, request, tools } = job
    const { watch } = this.#run.tree.shared
    const abandoned = (shard: number) => watch.abandon(key, shard)
    if (row.found === null) {
      const input = await childInput(this.#run, type, tools, request)
      return { ...(await newRun(this.#run.config, key, input, row.top === -1 ? undefined : row.top)), abandoned }
    }
    const { found } = row
    const { runId, nodeId } = key
    const { chain: targets } = await targetOf(this.#run, type)
    const resume = (given: Partial<ResumeInput>) =>
      resumption(this.#run.config, key, { runId, nodeId, takeover: true, ...given }, () => watch.look(key, found), {
        found,
        targets,
        tools,
        inherited: { ...inheritedInput(this.#run, type), agentType: type.name },
      })
    const decided = handedDown(decisionFor(this.#run, job.callId, found.projection))
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

  #recordStart(job: Job): void {
    const { callId, agentId, type, request, tools } = job
    const { journal, projection, redactor } = this.#run
    job.isRecorded = true
    const digest = definitionDigest(this.#run.config, type, tools)
    const known = projection.agents.byId.get(agentId)
    if (known && known.digest !== digest) {
      const message = `The definition of the agent ${type.name} has changed since ${agentId} started.`
      journal.append({ type: "warning", code: "agent_changed", message })
    }
    const description = redactor.text(request.description)
    const background = request.background ? { background: redactor.json(request) } : {}
    journal.append({ type: "agent-start", agentId, callId, name: type.name, description, digest, ...background })
    // The agent may work for long, and others look for it by this record. Nothing waits for it.
    journal.flushSoon()
  }

  /** Durable before the result of the call, so that what the agent spent is never forgotten. */
  async #recordEnd({ callId, agentId }: Job, agent: RunProjection): Promise<void> {
    const { status, usage, turns, spent } = agent
    const { byId } = this.#run.projection.agents
    // An earlier process may have recorded the end, and not what depends on it.
    if (status === "running" || (isOver(status) && byId.get(agentId)?.status === status)) return
    const below = totalsBelow(agent)
    this.#run.journal.append({
      type: "agent-end",
      agentId,
      callId,
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

function undefinedType(name: string | undefined): LonghaulError {
  return new LonghaulError("config_invalid", `There is no agent ${JSON.stringify(name)}.`, {
    fix: "Define it in agents.types of the runtime, or pass agents to resume.",
  })
}

function notStarted({ agentId }: Job): ToolOutcome {
  const text = `Agent ${agentId} was not started: the run is being stopped.`
  return { status: "denied", output: [{ type: "text", text }] }
}

function begun(agentId: string): ToolOutcome {
  const text =
    `Agent ${agentId} works in the background. Its answer comes as a message once it has ended: ` +
    "continue with other work. If there is none, end your turn, and do not invent its answer."
  return { status: "ok", output: [{ type: "text", text }] }
}

const nothing: FoundRow = { top: -1, isRemoved: false, found: null }
/** Failures to begin that may pass: the agent is not failed, and the run's next process starts it. */
const lasting: ReadonlySet<string> = new Set(["storage", "fenced", "run_active", "internal"])
const unexplained = new LonghaulError("internal", "The agent stopped without a recorded reason.").toJSON()
