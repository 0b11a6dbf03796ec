import type { Failure } from "../contract/error.ts"
import type { RecordedInput, RunRecord } from "../contract/event.ts"
import type { Json } from "../contract/json.ts"
import type { AssistantMessage, Message, ToolResultPart } from "../contract/message.ts"
import type { Limits, RunStatus, StructuredOutput, Usage } from "../contract/result.ts"
import type { Effect, ToolOutcome } from "../contract/tool.ts"
import { addUsage, noUsage } from "../lib/usage.ts"

/** One call of a tool, as far as the journal knows. */
export interface ProjectedCall {
  readonly callId: string
  readonly wireId?: string
  readonly name: string
  readonly args: Json
  intent?: { readonly digest: string; readonly effect: Effect }
  outcome?: ToolOutcome
  durationMs: number
}

/** A run as a fold over its records: apply each once, in order; the cost of one does not grow with the run. */
export class RunProjection {
  runId = ""
  nodeId = ""
  status: RunStatus | "running" = "running"
  input: RecordedInput | undefined
  limits: Limits | undefined
  backend = ""
  model: string | undefined
  sessionId: string | undefined
  /** Answered model calls. */
  turns = 0
  usage: Usage = noUsage
  /** What was said, as the next model call would see it. */
  readonly messages: Message[] = []
  /** What the model said last; partial where it was interrupted. */
  text = ""
  /** Whether the model showed any reasoning. */
  thinking = false
  /** The provider held the model to a schema. */
  schemaEnforced = false
  output: StructuredOutput | undefined
  readonly calls = new Map<string, ProjectedCall>()
  readonly warnings: { code: string; message: string }[] = []
  error: Failure | undefined
  startedAt = 0
  updatedAt = 0
  nextSeq = 0
  /** The next inbox slot that nobody consumed. */
  nextInbox = 0

  /** The assistant's step under way: its parts so far, and after `usage` its calls that wait for results. */
  #parts: AssistantMessage["content"][number][] = []
  #stepCalls: ProjectedCall[] = []
  #stepText = ""
  #carried = ""

  apply(record: RunRecord): void {
    this.nextSeq = record.seq + 1
    this.updatedAt = record.at
    switch (record.type) {
      case "run-start":
        this.runId = record.runId
        this.nodeId = record.nodeId
        this.startedAt = record.at
        this.input = record.input
        this.limits = record.limits
        this.messages.push(...record.input.messages)
        break
      case "run-resume":
        this.status = "running"
        this.error = undefined
        break
      case "choice":
        this.backend = record.backend
        this.model = record.model
        this.schemaEnforced = record.schemaEnforced === true
        break
      case "session":
        this.sessionId = record.ref.id
        this.model = record.model ?? this.model
        break
      case "warning":
        this.warnings.push({ code: record.code, message: record.message })
        break
      case "turn-start":
        this.#closeStep()
        this.#parts = []
        this.#stepText = ""
        break
      case "reasoning-end":
        this.thinking = true
        this.#parts.push({
          type: "reasoning",
          text: record.text,
          ...(record.opaque !== undefined && { opaque: record.opaque }),
          origin: record.origin,
        })
        break
      case "text-end":
        if (record.partial) this.text = record.text
        else {
          this.#stepText += record.text
          this.#parts.push({ type: "text", text: record.text })
        }
        break
      case "tool-call":
        this.#openCall(record)
        break
      case "usage":
        this.turns++
        this.usage = addUsage(this.usage, record.usage)
        this.model = record.model
        if (this.#parts.length > 0) this.messages.push({ role: "assistant", content: this.#parts })
        // A step of calls alone leaves standing what the model said before it.
        if (this.#stepText !== "" || this.#stepCalls.length === 0) this.text = this.#carried + this.#stepText
        this.#carried = ""
        break
      case "tool-intent": {
        const call = this.calls.get(record.callId)
        if (call) call.intent = { digest: record.digest, effect: record.effect }
        break
      }
      case "tool-result": {
        const call = this.calls.get(record.callId)
        if (!call) break
        call.outcome = record.outcome
        call.durationMs = record.durationMs
        break
      }
      case "steer":
        // What follows a cut goes on with it: both are one text.
        this.#carried = record.reason === "output-limit" ? this.text : ""
        this.messages.push({ role: "user", content: [{ type: "text", text: record.text }] })
        if (record.inbox !== undefined) this.nextInbox = record.inbox + 1
        break
      case "interrupt":
      case "cancel":
        if (record.inbox !== undefined) this.nextInbox = record.inbox + 1
        break
      case "turn-end":
        this.#closeStep()
        break
      case "run-pause":
        this.status = "paused"
        break
      case "run-end":
        this.status = record.status
        this.error = record.error
        this.output = record.output
        break
      case "retry":
        break
    }
  }

  #openCall(record: RunRecord & { readonly type: "tool-call" }): void {
    const { callId, wireId, name, args, opaque, origin } = record
    const call: ProjectedCall = { callId, ...(wireId !== undefined && { wireId }), name, args, durationMs: 0 }
    this.calls.set(callId, call)
    this.#stepCalls.push(call)
    this.#parts.push({
      type: "tool-call",
      callId,
      ...(wireId !== undefined && { wireId }),
      name,
      args,
      ...(opaque !== undefined && { opaque }),
      ...(origin !== undefined && { origin }),
    })
  }

  /** The results of a step are one message, in call order. */
  #closeStep(): void {
    const results: ToolResultPart[] = []
    for (const { callId, wireId, outcome } of this.#stepCalls) {
      if (!outcome) continue
      results.push({ type: "tool-result", callId, ...(wireId !== undefined && { wireId }), ...outcome })
    }
    this.#stepCalls = []
    if (results.length > 0) this.messages.push({ role: "tool", content: results })
  }
}

export function project(records: Iterable<RunRecord>): RunProjection {
  const projection = new RunProjection()
  for (const record of records) projection.apply(record)
  return projection
}
