import type { Failure } from "../contract/error.ts"
import type { ForkOrigin, RecordedInput, RunRecord } from "../contract/event.ts"
import type { RecordedExtension } from "../contract/extension.ts"
import type { Message } from "../contract/message.ts"
import type { AlwaysScope, RecordedPolicy } from "../contract/policy.ts"
import type { Limits, PauseReason, RunStatus, RunWarning, StructuredOutput, Usage } from "../contract/result.ts"
import type { ResumeBy } from "../contract/session.ts"
import type { RecordedWebhook } from "../contract/webhook.ts"
import { AgentFold } from "./agent-fold.ts"
import { type CompactionRecord, ContextFold } from "./context-fold.ts"
import { callPart, hasOutcome, keepWarning, reasoningPart, resultPart } from "./parts.ts"
import type { Activity, LastStep, ProjectedAsk, ProjectedCall, StepRecord } from "./projected-call.ts"
import { RecentCalls } from "./recent-calls.ts"
import { RouteFold } from "./route-fold.ts"
import { Spending } from "./spending.ts"

/** A run as a fold over its records. Apply each once, in order; the cost per record does not grow with the run. */
export class RunProjection {
  runId = ""
  nodeId = ""
  status: RunStatus | "running" = "running"
  /** Present while the run is paused. */
  pause: { readonly reason: PauseReason; readonly at: number; readonly text?: string } | undefined
  /** True if it was released for any process to continue it: not at the end of a slice. */
  isHandedOn = false
  ask: ProjectedAsk | undefined
  /** The calls that people allowed in this run by the decision `always`. */
  readonly allowed: AlwaysScope[] = []
  readonly policies: RecordedPolicy[] = []
  lastStep: LastStep | undefined
  removed = false
  /** The status before the last resume. */
  resumedFrom: RunStatus | "running" | undefined
  forkOf: ForkOrigin | undefined
  continues: string | undefined
  webhook: RecordedWebhook | undefined
  /** True if a start or resume record names a webhook. */
  hasWebhooks = false
  readonly spent = new Spending()
  input: RecordedInput | undefined
  limits: Limits | undefined
  /** The beginning of its idempotency keys. */
  tenant: string | undefined
  /** The available tools when the run started. */
  tools: readonly { readonly name: string; readonly digest: string }[] = []
  /** The extensions that the run uses, by name. */
  readonly extensions = new Map<string, RecordedExtension>()
  readonly route = new RouteFold()
  /** How the suspended call continues in the last session. */
  resumeBy: ResumeBy | undefined
  /** Digests of the files that its calls named, when it last stopped. */
  checkpoint: Readonly<Record<string, string | null>> | undefined
  /** True if it was resumed after a pause that asked about its move to another backend. */
  handedOver = false
  /** Answered model calls. */
  turns = 0
  /** The text of the model's last answer; partial if it was interrupted. */
  text = ""
  /** True if the model returned any reasoning. */
  thinking = false
  output: StructuredOutput | undefined
  readonly calls = new RecentCalls()
  /** Not those of a run that was forked: the fork starts its own, also for those that still worked in the background. */
  readonly agents = new AgentFold()
  readonly warnings: RunWarning[] = []
  error: Failure | undefined
  startedAt = 0
  updatedAt = 0
  /** The time between the first and the last record, without steps back of the clock. */
  durationMs = 0
  /** The part of it in which a process worked on the run: without pauses, and without what a fork copied. */
  activeMs = 0
  nextSeq = 0
  /** The next inbox slot that was not consumed. */
  nextInbox = 0

  readonly context = new ContextFold()
  #stepCalls: ProjectedCall[] = []
  #stepText = ""
  #carried = ""
  /** True if the last answer continues one that was cut: `text` is then both. */
  isContinued = false
  #asking = false

  get usage(): Usage {
    return this.spent.usage
  }

  /** The conversation as the next model call receives it. */
  get messages(): readonly Message[] {
    return this.context.messages
  }

  /** True if the model's last answer called tools and the turn has not ended. */
  get stepIsOpen(): boolean {
    return this.#stepCalls.length > 0
  }

  /** The current activity, for the state file. */
  get activity(): Activity {
    const tool = this.openCalls[0]
    if (tool) return { now: "tool_dispatch", lastTool: tool.name }
    if (this.context.isOpen) return { now: "compacting" }
    return { now: this.#asking ? "streaming" : "idle" }
  }

  /** Calls of the model's last answer without a result, in order. */
  get openCalls(): readonly ProjectedCall[] {
    const calls = this.stepIsOpen ? this.#stepCalls : (this.lastStep?.calls ?? [])
    return calls.filter(({ outcome }) => outcome === undefined)
  }

  apply(record: RunRecord): void {
    if (this.nextSeq > 0) this.#pass(record)
    this.nextSeq = record.seq + 1
    this.updatedAt = record.at
    if ("inbox" in record && record.inbox !== undefined) this.nextInbox = record.inbox + 1
    switch (record.type) {
      case "run-start":
        this.#start(record)
        break
      case "run-resume":
        this.#resume(record)
        break
      case "choice":
        if (this.route.choose(record)) this.context.changeModel()
        break
      case "failover":
        this.route.fail(record)
        break
      case "session":
        this.route.open(record)
        break
      case "warning":
        keepWarning(this.warnings, record)
        this.context.warned(record)
        break
      case "interrupt":
      case "cancel":
      case "retry":
        break
      case "compaction-request":
      case "compaction-start":
      case "compaction":
        this.#compact(record)
        break
      case "extensions":
        for (const extension of record.extensions) this.extensions.set(extension.name, extension)
        break
      case "checkpoint":
        this.checkpoint = record.files
        break
      case "run-pause":
        this.#pause(record)
        break
      case "run-remove":
        this.runId = record.runId
        this.nodeId = record.nodeId
        this.removed = true
        break
      case "run-end":
        this.status = record.status
        this.error = record.error
        this.output = record.output
        break
      default:
        this.#applyToStep(record)
    }
  }

  #pass(record: RunRecord): void {
    const passedMs = Math.max(0, record.at - this.updatedAt)
    this.durationMs += passedMs
    if (record.type !== "run-resume" && !this.#isCopied(record)) this.activeMs += passedMs
  }

  #applyToStep(record: StepRecord): void {
    switch (record.type) {
      case "turn-start":
        this.#startTurn(record)
        break
      case "reasoning-end":
        this.thinking = true
        if (this.context.isKept) this.context.addPart(reasoningPart(record))
        break
      case "text-end":
        this.#endText(record)
        break
      case "tool-call":
        this.#openCall(record)
        break
      case "usage":
        this.#endStep(record)
        break
      case "metering":
        this.#meter(record)
        break
      case "sample-start":
        if (!this.#isCopied(record)) this.spent.reserveSample(record.sample, record.reserve)
        break
      case "tool-intent":
      case "tool-question":
        this.#announce(record)
        break
      case "tool-result":
        this.calls.finish(record)
        break
      case "approval-request":
        this.ask = (record.of || record.by) && this.#isCopied(record) ? undefined : { request: record }
        break
      case "agent-start":
      case "agent-end":
        this.agents.apply(record, this.#isCopied(record))
        break
      case "approval-result":
        this.#decide(record)
        break
      case "policy-decision":
        this.calls.rewrite(record)
        break
      case "steer":
        this.#steer(record)
        break
      case "turn-end":
        this.#closeStep()
        break
      default:
        // Does not compile if a record type is not handled. Records of older versions are upgraded before.
        record satisfies never
    }
  }

  #start(record: RunRecord & { readonly type: "run-start" }): void {
    this.runId = record.runId
    this.nodeId = record.nodeId
    this.startedAt = record.at
    this.input = record.input
    this.limits = record.limits
    this.tenant = record.tenant
    if (record.input.policy) this.policies.push(record.input.policy)
    this.tools = record.tools
    this.forkOf = record.forkOf
    this.continues = record.continues
    this.webhook = record.webhook
    this.hasWebhooks ||= record.webhook !== undefined
    for (const message of record.input.messages) this.context.add(0, message)
  }

  #resume(record: RunRecord & { readonly type: "run-resume" }): void {
    this.resumedFrom = this.status
    this.handedOver = this.pause?.reason === "handover"
    this.status = "running"
    this.error = undefined
    this.pause = undefined
    this.limits = record.limits ?? this.limits
    if (record.policy) this.policies.push(record.policy)
    this.webhook = record.webhook
    this.hasWebhooks ||= record.webhook !== undefined
    this.spent.lose()
    this.context.isOpen = false
  }

  #startTurn(record: RunRecord & { readonly type: "turn-start" }): void {
    this.#closeStep()
    this.context.isAsked = false
    this.spent.reserve(this.#isCopied(record) ? undefined : record.reserve)
    this.#asking = true
    this.context.dropParts()
    this.#stepText = ""
  }

  #endText(record: RunRecord & { readonly type: "text-end" }): void {
    if (record.partial) this.text = this.#carried + record.text
    else {
      this.#stepText += record.text
      this.context.addPart({ type: "text", text: record.text })
    }
  }

  #endStep(record: RunRecord & { readonly type: "usage" }): void {
    this.turns++
    this.context.measure(record.usage)
    if (this.#isCopied(record)) this.spent.reserve(undefined)
    else this.spent.settle(record.usage)
    this.route.model = record.model
    this.lastStep = { stopReason: record.stopReason, calls: this.#stepCalls }
    this.#asking = false
    this.context.addAnswer(this.turns)
    // A step that has calls but no text keeps the previous text.
    if (this.#stepText !== "" || this.#stepCalls.length === 0) this.text = this.#carried + this.#stepText
    this.isContinued = this.#carried !== ""
    this.#carried = ""
  }

  #meter(record: RunRecord & { readonly type: "metering" }): void {
    this.route.model = record.model ?? this.route.model
    if (this.#isCopied(record)) return
    if (record.failed) this.spent.fail(record.usage, record.reserve, record.sample)
    else this.spent.add(record.usage, record)
  }

  #compact(record: CompactionRecord): void {
    this.context.compact(record)
    if (record.type === "compaction-request") return
    const usage = record.type === "compaction" && !this.#isCopied(record) ? record.usage : undefined
    if (usage) this.spent.add(usage)
    // The request of a turn that it interrupts was refused; the turn reserves again.
    this.spent.refund()
    if (record.type === "compaction-start" && !this.#isCopied(record)) this.spent.reserve(record.reserve)
  }

  /** An approval is for one execution: the intent uses it up, also that of a repeated call. A question is answered once. */
  #announce(record: RunRecord & { readonly type: "tool-intent" | "tool-question" }): void {
    const isFor = record.type === "tool-intent" && this.ask?.decision?.digest === record.digest
    if (this.ask?.request.callId === record.callId || isFor) this.ask = undefined
    if (record.type === "tool-intent") this.calls.announce(record)
    else this.calls.ask(record, this.#isCopied(record))
  }

  /** A decision that a fork copied was about the call of the other run. */
  #decide(record: RunRecord & { readonly type: "approval-result" }): void {
    if (this.ask?.request.callId === record.callId && !this.#isCopied(record)) this.ask.decision = record
    // Only the agent's own journal applies the decision.
    if (record.of) this.ask = this.agents.decide(this.ask)
    if (record.of) return
    if (record.always) this.allowed.push(record.always)
    if (!this.#isCopied(record)) this.calls.decide(record)
    this.calls.rewrite(record)
  }

  #pause({ reason, at, resumeBy, text, slice }: RunRecord & { readonly type: "run-pause" }): void {
    this.status = "paused"
    this.pause = { reason, at, ...(text !== undefined && { text }) }
    this.resumeBy = resumeBy
    this.isHandedOn = reason === "released" && slice !== true
  }

  #steer(record: RunRecord & { readonly type: "steer" }): void {
    if (record.agentId !== undefined) this.agents.background.delete(record.agentId)
    // The answer after a cut continues the cut text.
    if (record.reason === "output-limit") this.#carried = this.text
    const message: Message = { role: "user", content: [{ type: "text", text: record.text }] }
    if (this.stepIsOpen) this.context.defer(message)
    else this.context.add(this.turns, message)
  }

  /** True for records that a fork copied from another run, which already paid for them. */
  #isCopied({ seq }: RunRecord): boolean {
    return this.forkOf !== undefined && seq <= this.forkOf.at
  }

  #openCall(record: RunRecord & { readonly type: "tool-call" }): void {
    this.#stepCalls.push(this.calls.add(record))
    if (this.context.isKept) this.context.addPart(callPart(record))
  }

  /** Adds the results of a step as one message, in call order. */
  #closeStep(): void {
    if (!this.stepIsOpen) return
    const calls = this.#stepCalls
    this.#stepCalls = []
    if (this.context.isKept) this.context.addResults(this.turns, calls.filter(hasOutcome).map(resultPart))
  }
}

export function project(records: Iterable<RunRecord>): RunProjection {
  const projection = new RunProjection()
  for (const record of records) projection.apply(record)
  return projection
}
