import type { AgentSettings } from "../../contract/agents.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { RecordBody, ResumeCause } from "../../contract/event.ts"
import type { Json } from "../../contract/json.ts"
import type { RunPolicy } from "../../contract/policy.ts"
import type { PendingToolCall } from "../../contract/result.ts"
import type { ResumeInput, Slice } from "../../contract/run.ts"
import type { RunKey } from "../../contract/store.ts"
import type { Tool } from "../../contract/tool.ts"
import type { ProjectedCall } from "../../journal/projected-call.ts"
import { project, type RunProjection } from "../../journal/projection.ts"
import { flagUnknown } from "../../journal/recover.ts"
import { pendingOf } from "../../journal/result.ts"
import { checkedId } from "../../lib/id.ts"
import { isJsonObject } from "../../lib/json.ts"
import { oneOf } from "../../lib/known-keys.ts"
import { checkedServers } from "../../lib/mcp-servers.ts"
import { modelSettings } from "../../lib/model-settings.ts"
import { agentsShape, sliceShape } from "../../lib/schema/contract-shapes.ts"
import { checkShape, required, type Shape, shapeOf, words } from "../../lib/schema/shape.ts"
import { callKey } from "../../lib/tenant/run-keys.ts"
import { checkRunPolicy, recordedPolicy, runPolicyShape } from "../../policy/policies.ts"
import { type OwnerState, stillActive } from "../../runs/owner-watch.ts"
import { type FoundRun, inspectRun, noSuchRun } from "../../runs/read-runs.ts"
import { type RunTarget, recalledChain } from "../../settings/backends/targets.ts"
import { type ResolvedConfig, sharedShape } from "../../settings/config/config.ts"
import { type CheckedInput, checkedSlice, fetchingDispatcher, toolsWith } from "../../settings/input/input.ts"
import { recalledAgents } from "../../settings/options/agents.ts"
import { checkedCompaction, recalledCompaction } from "../../settings/options/compaction.ts"
import { workingDirectory } from "../../settings/options/cwd.ts"
import { checkedExtensions, drawnOn } from "../../settings/options/extensions.ts"
import { resolveLimits } from "../../settings/options/limits.ts"
import { checkWarnings, recalledForm, redactedForm } from "../../settings/options/output.ts"
import { AGENT } from "../../settings/tools/agent-tools.ts"
import { fetchData } from "../../settings/tools/fetch-data.ts"
import { asksToOffload } from "../../settings/tools/offload.ts"
import type { Dispatcher } from "../../tools/kernel/dispatch.ts"
import { resumeOf, unknownOutcomeOf } from "../../tools/kernel/inner-of.ts"
import { callDigest } from "../calls/decide.ts"
import { missingExtensions, missingFix } from "../extensions/missing.ts"
import type { Opening } from "../state/opening.ts"
import { toolDigest } from "../state/tool-digest.ts"
import { earlierExchanges } from "./conversation.ts"
import type { ReleasedRuns } from "./released-runs.ts"

/**
 * Determines from the journal how a run is resumed. Rejects invalid input without having changed anything.
 */
export async function resumption(
  config: ResolvedConfig,
  key: RunKey,
  given: ResumeInput,
  look: (found: FoundRun) => Promise<OwnerState>,
  from: ResumeFrom,
): Promise<Opening> {
  checkShape<ResumeInput>("resume", given, resumeShape)
  checkedId("runId", key.runId)
  checkedId("nodeId", key.nodeId)
  const found = from.found ?? (await inspectRun(config, key, from.released?.take(key)))
  if (found === null) throw noSuchRun(key)
  if (found.projection.status === "done") throw isDone(key)
  const owner = await look(found)
  if (owner === "alive" && !given.takeover) throw stillActive(key)
  // A vendor's program that its owner left may still be working on the run, whatever backend continues it.
  const { enforcement, chosen } = found.projection.route
  if (enforcement !== undefined || chosen?.backend !== config.backends.native.name) await config.backendEnv.sweep?.()
  return planned(config, key, given, from, found, owner)
}

async function planned(
  config: ResolvedConfig,
  key: RunKey,
  given: ResumeInput,
  from: ResumeFrom,
  found: FoundRun,
  owner: OwnerState,
): Promise<Opening> {
  const { inherited } = from
  const { projection } = found
  const { continues } = projection
  const before = continues === undefined ? undefined : await earlierExchanges(config, { ...key, nodeId: continues })
  const recalled = await recalledInput(config, projection, given, from)
  const checked = { ...recalled, ...inherited, ...(before && { before }) }
  requireTypes(projection, checked)
  // The input that an agent is handed down has been redacted above it.
  const input = redactedAnswer(config, key, projection, checked, given, inherited !== undefined)
  const decided = decisionOf(config, projection, input)
  requireExtensions(projection, checked, decided)
  if (decided?.args !== undefined) await refuseUnfit(checked, projection, given.args ?? null)
  return {
    input: checked,
    isNew: false,
    found,
    after: found.top,
    ...(found.head && { known: { head: found.head, records: found.records } }),
    ownerStopped: owner === "dead" || owner === "released",
    ...(input.answer !== undefined && isForModel(projection, input) && { message: input.answer }),
    again(records, isExtended) {
      const history = project(records)
      if (history.status === "done") throw isDone(key)
      // Calls of a process that took the run in between may still be running.
      const last = isExtended ? owner : "alive"
      return planned(config, key, given, from, { ...found, records, projection: history }, last)
    },
    first(history) {
      const decision = decisionOf(config, history, input)
      const cause = decision ? "decision" : causeOf(owner)
      return [
        {
          type: "run-resume",
          cause,
          ...(input.limits && { limits: checked.limits }),
          ...recordedPolicy(input.policy),
        },
        ...toolWarnings(config, history, checked),
        ...checkWarnings(history.input, checked.form),
        ...flagUnknown(history, (call) => staysOpen(call, history, checked, owner)),
        ...(decision ? [decision] : []),
      ]
    },
  }
}

export interface ResumeFrom {
  /** The run as recovery found it when it checked the owner. */
  readonly found?: FoundRun | undefined
  readonly released?: ReleasedRuns
  /** For an agent: what the agent that started it would start one with now. */
  readonly targets?: readonly RunTarget[]
  /** For an agent: the tools that it may have, and what it has in common with the agent that started it. */
  readonly tools?: readonly Tool[]
  readonly inherited?: Partial<CheckedInput>
}

/** The answer of a person enters here: it is recorded with references instead of secrets. */
function redactedAnswer(
  config: ResolvedConfig,
  key: RunKey,
  { ask, tenant }: RunProjection,
  { chain, ...drawn }: CheckedInput,
  given: ResumeInput,
  isRedacted: boolean,
): ResumeInput {
  const redactor = config.redactorOf(chain, drawn, key)
  const { answer, args } = given
  const clean = isRedacted ? redactor.again(args) : redactor.json(args)
  const text = isRedacted ? redactor.again(answer) : redactor.json(answer)
  const keep = (masked: Json | undefined, real: Json | undefined) => {
    if (masked === undefined || real === undefined || !ask || redactor.expand(masked) !== undefined) return
    const { of, callId } = ask.request
    const asker = { ...key, tenant, ...(of && { agent: of.agent }) }
    config.undeclared.keep(callKey(asker, of?.callId ?? callId), masked, real)
  }
  keep(clean, args)
  // Only a tool gets more of an answer than the journal has.
  if (ask?.request.by === "tool") keep(text, answer)
  return {
    ...given,
    ...(text !== undefined && { answer: text }),
    ...(clean !== undefined && { args: clean }),
  }
}

function causeOf(owner: OwnerState): ResumeCause {
  return owner === "alive" ? "takeover" : "recovery"
}

/** The recorded input of the run, completed with values that only the caller has. */
async function recalledInput(
  config: ResolvedConfig,
  run: RunProjection,
  given: ResumeInput,
  { tools: available, targets }: ResumeFrom,
): Promise<CheckedInput> {
  const { input } = run
  if (input === undefined || run.limits === undefined) {
    throw new LonghaulError("storage", `The journal of ${run.runId} has no run-start record.`, { retryable: false })
  }
  const { messages, system, cwd, metadata, unknownOutcome = "tell" } = input
  const agents = recalledAgents(config.agents, input.agents, given.agents)
  const form = recalledForm(input, given, config.schemas)
  const target = await recalledChain(config.targets, run, given, targets)
  const servers = { ...config.mcpServers, ...checkedServers(given.mcpServers) }
  const own = checkedExtensions(given.extensions)
  const drawn = drawnOn(config, target.chain, servers, own, input.extensionTools ?? {})
  const redactor = config.redactorOf(target.chain, drawn, run)
  return {
    messages,
    system,
    ...target,
    ...drawn,
    settings: modelSettings(input),
    // A recorded one has references already.
    form: form && (given.outputSchema ? redactedForm(redactor, form) : form),
    agents,
    dispatcher: recalledTools(config, run, available ?? [...toolsWith(config, agents), ...(given.tools ?? [])], given),
    limits: resolveLimits(given.limits, run.limits),
    compaction: checkedCompaction(
      given.compaction ?? recalledCompaction(input.compaction, config.resolveModel, config.compaction),
      config.resolveModel,
      config.compaction,
    ),
    slice: given.slice && checkedSlice(given.slice),
    unknownOutcome,
    policies: given.policy ? [...run.policies, checkRunPolicy(given.policy)] : run.policies,
    cwd: workingDirectory(config.workspace, cwd),
    recordedCwd: cwd,
    metadata,
  }
}

/**
 * The tools that the run started with. Every tool that an open call needs must be registered. FetchData needs no setting if the
 * conversation may contain references.
 */
function recalledTools(
  config: ResolvedConfig,
  run: RunProjection,
  available: readonly Tool[],
  { compaction }: ResumeInput,
): Dispatcher {
  const own = available.filter((tool) => tool !== fetchData)
  const there = new Set(own.map(({ name }) => name))
  const hadFetch = !there.has(fetchData.name) && (wasOffered(run, fetchData.name) || run.calls.hasOffloaded)
  const missing = run.openCalls.find(
    ({ name, executor }) =>
      executor === undefined && wasOffered(run, name) && !there.has(name) && !(hadFetch && name === fetchData.name),
  )
  if (missing) {
    throw new LonghaulError(
      "config_invalid",
      `The run waits for a call of ${missing.name}, which is not an available tool.`,
      {
        fix: `Pass the tool ${missing.name} to resume, or to createRuntime.`,
      },
    )
  }
  const fetches = hadFetch || asksToOffload(compaction)
  const names = run.tools.flatMap(({ name }) => (there.has(name) ? [name] : []))
  return fetchingDispatcher(config, own, { allowed: fetches ? [...names, fetchData.name] : names }, fetches)
}

/** An agent that waits for its run keeps its type: without it, the agent could only be lost. */
function requireTypes({ openCalls, agents: started }: RunProjection, { agents }: CheckedInput): void {
  const called = openCalls.map(({ name, args, intent }) =>
    name === AGENT && intent !== undefined && isJsonObject(args) ? args.agent : undefined,
  )
  const background = Array.from(started.background.values(), ({ request }) => request.agent)
  for (const type of [...called, ...background]) {
    if (typeof type !== "string" || !agents || agents.types.has(type)) continue
    throw new LonghaulError("config_invalid", `The run waits for an agent of the type ${type}, which is not defined.`, {
      fix: `Define ${type} in agents.types, of createRuntime or of resume.`,
    })
  }
}

/** A call that continues with its answer, or was approved, needs its tool: otherwise the decision would be lost. */
function requireExtensions(run: RunProjection, checked: CheckedInput, decided: Decision | undefined): void {
  const { ask, openCalls } = run
  for (const { name, tools } of missingExtensions(run.extensions.values(), checked)) {
    const call = openCalls.find(({ callId, name: called, executor, question }) => {
      if (executor !== undefined || !tools.some((tool) => tool.name === called)) return false
      const own = ask?.request.callId === callId ? (decided ?? ask.decision) : undefined
      const decision = question?.answer ?? own
      return question ? decision?.decision !== "deny" : decision?.decision === "approve"
    })
    if (call === undefined) continue
    const message = `The run waits for a call of ${call.name}, of the extension ${name}, which is not configured here.`
    throw new LonghaulError("config_invalid", message, { fix: missingFix(name) })
  }
}

function wasOffered(run: RunProjection, name: string): boolean {
  return run.tools.some((tool) => tool.name === name)
}

function toolWarnings(config: ResolvedConfig, run: RunProjection, { dispatcher }: CheckedInput): RecordBody[] {
  const now = new Map(dispatcher.listTools().map((spec) => [spec.name, toolDigest(config, spec)]))
  return run.tools.flatMap(({ name, digest }): RecordBody[] => {
    if (!now.has(name))
      return [{ type: "warning", code: "tool_missing", message: `The tool ${name} is no longer registered.` }]
    if (now.get(name) === digest) return []
    return [{ type: "warning", code: "tool_changed", message: `The tool ${name} has changed since the run started.` }]
  })
}

/** True for a started call without a result that is not flagged: it may run again, or a person is asked about it. */
function staysOpen(call: ProjectedCall, run: RunProjection, input: CheckedInput, owner: OwnerState): boolean {
  if (!run.openCalls.includes(call) || call.executor === "backend") return false
  const ownerStopped = owner === "dead" || owner === "released"
  if (call.intent === "repeatable" && ownerStopped) return true
  const tool = input.dispatcher.tool(call.name)
  if (tool && resumeOf(tool, call.finalArgs ?? call.args)) return true
  return asksIfUnknown(call, input)
}

/** True if a person decides about a call with an unknown outcome. */
function asksIfUnknown({ name, args, finalArgs = args }: ProjectedCall, input: CheckedInput): boolean {
  return (unknownOutcomeOf(input.dispatcher.tool(name), finalArgs) ?? input.unknownOutcome) === "pause"
}

/** True if the answer is a message for the model: not the result of a call, and not the reason for a denial. */
function isForModel(run: RunProjection, { decision }: ResumeInput): boolean {
  if (pendingOf(run) === null) return true
  // Handed down with the decision.
  if (run.ask?.request.of) return false
  return (decision === "approve" || decision === "always") && run.ask?.request.reason !== "input"
}

type Decision = RecordBody & { readonly type: "approval-result" }

/** The decision about the pending call; undefined if no call is pending and no decision was given. */
function decisionOf(config: ResolvedConfig, run: RunProjection, input: ResumeInput): Decision | undefined {
  const { decision: given, answer, args, ticket } = input
  if (given !== undefined) oneOf("decision", given, ["approve", "deny", "always"])
  const decision = given === "always" ? "approve" : given
  // A question is answered once: afterwards its ticket is stale.
  const pending = run.ask?.decision ? null : pendingOf(run)
  if (ticket !== undefined && ticket !== pending?.ticket) throw stale()
  if (pending === null || run.ask === undefined) {
    if (decision === undefined && args === undefined) return undefined
    throw new LonghaulError("invalid_state", `Run ${run.runId} is not waiting for a decision.`, {
      fix: NOTHING_TO_DECIDE,
    })
  }
  const { callId, digest, reason, always: scope, of, by } = run.ask.request
  const always = { ...(given === "always" && scope && { always: scope }), ...(of && { of }) }
  const isAnswer = answer !== undefined && (decision === undefined || (decision === "approve" && reason === "input"))
  if (decision === undefined && !isAnswer) {
    if (run.status === "paused") throw undecided(run, pending)
    return undefined
  }
  const isYes = by === "tool" && args === undefined
  if (decision === "approve" && reason === "input" && !isAnswer && !isYes) throw undecided(run, pending)
  const text = answer === undefined ? {} : { text: answer }
  if (isAnswer) return { type: "approval-result", callId, digest, decision: "answer", ...text, ...(of && { of }) }
  if (decision === "deny" || args === undefined) {
    return { type: "approval-result", callId, digest, decision: decision ?? "deny", ...always, ...text }
  }
  const edited = callDigest(config, { name: pending.name, args }, run.input?.cwd ?? "")
  return { type: "approval-result", callId, digest: edited, decision: "approve", args, ...always, ...text }
}

/** Rejects invalid arguments of a person here, instead of reporting them to the model as its mistake. */
async function refuseUnfit({ dispatcher }: CheckedInput, run: RunProjection, args: Json): Promise<void> {
  const { name = "", agent } = pendingOf(run) ?? {}
  // Only a backend knows what its own tools take.
  const isOwn = agent === undefined && run.calls.get(run.ask?.request.callId ?? "")?.executor === "backend"
  const issues = isOwn ? [] : await dispatcher.check(name, args)
  if (issues.length === 0) return
  throw new LonghaulError("config_invalid", `${name} does not take these arguments:\n${issues.join("\n")}`, {
    fix: "Correct the arguments; the run still waits.",
  })
}

const NOTHING_TO_DECIDE = "Omit the decision: resume with the run's id alone, or send a message with `answer`."

function stale(): LonghaulError {
  return new LonghaulError("approval_stale", "The decision is about a question that is no longer open.", {
    fix: "Read the run's current question, and decide about that one.",
  })
}

function undecided({ runId }: RunProjection, { name }: PendingToolCall): LonghaulError {
  return new LonghaulError("invalid_state", `Run ${runId} is waiting for a decision about ${name}.`, {
    fix: 'Resume with decision: "approve", "deny" or "always", or with an answer.',
  })
}

function isDone({ runId }: RunKey): LonghaulError {
  return new LonghaulError("invalid_state", `Run ${runId} is done.`, { fix: "Fork it to continue from its end." })
}

const resumeShape: Shape<ResumeInput> = {
  model: sharedShape.model,
  backend: sharedShape.backend,
  mcpServers: sharedShape.mcpServers,
  extensions: sharedShape.extensions,
  tools: sharedShape.tools,
  limits: sharedShape.limits,
  compaction: sharedShape.compaction,
  runId: required("text"),
  nodeId: "text",
  decision: words("approve", "deny", "always"),
  ticket: "text",
  answer: "text",
  args: "json",
  takeover: "boolean",
  outputSchema: ["text", "function", "object"],
  agents: shapeOf<AgentSettings>(agentsShape),
  slice: shapeOf<Slice>(sliceShape),
  policy: shapeOf<RunPolicy>(runPolicyShape),
  signal: "signal",
  onEvent: "function",
  onProgress: "function",
}
