import { LonghaulError } from "../contract/error.ts"
import type { Json } from "../contract/json.ts"
import type { Message } from "../contract/message.ts"
import type { Answer, AnswerCall, AnswerPart, AnswerSink, ConversationSetup, Model } from "../contract/provider.ts"
import { checkArgument, having, listOf, required } from "../lib/schema/shape.ts"
import type { CompleteAnswer, CompletePart, SimulatedAnswer } from "./simulated.ts"
import { completeAnswer, cutIntoDeltas } from "./simulated.ts"
import { answerField } from "./simulated-shapes.ts"

/** The response to one call: fixed, or computed from the request. */
export type ScriptedStep =
  | ScriptedOutcome
  | ((messages: readonly Message[], setup: ConversationSetup) => ScriptedOutcome | Promise<ScriptedOutcome>)

export type ScriptedOutcome = SimulatedAnswer | { readonly fail: LonghaulError }

/** An in-process model that returns its steps in order, and fails if they do not match the calls. */
export interface ScriptedModel extends Model {
  /** The messages of every call, as they were at that time. */
  readonly calls: readonly (readonly Message[])[]
  /** Throws if steps are left over. */
  done(): void
}

export function scriptedModel(steps: readonly ScriptedStep[]): ScriptedModel {
  checkArgument(
    "steps",
    steps,
    listOf(["function", ...answerField("any"), having({ fail: required(having({ code: required("text") })) })]),
  )
  const calls: (readonly Message[])[] = []
  return {
    provider: "scripted",
    id: "scripted",
    calls,
    converse: (setup) => ({
      async call(messages, sink, signal) {
        stopWhereAborted(signal)
        const asked = [...messages]
        const step = steps[calls.length]
        calls.push(asked)
        if (step === undefined) throw unexpectedCall(calls.length, steps.length, asked)
        const outcome = typeof step === "function" ? await step(asked, setup) : step
        stopWhereAborted(signal)
        if (typeof outcome === "object" && "fail" in outcome) throw outcome.fail
        return stream(completeAnswer(outcome, contextOf(asked)), sink, signal)
      },
    }),
    done() {
      if (calls.length >= steps.length) return
      throw new LonghaulError("internal", `scriptedModel: ${calls.length} of ${steps.length} steps were used`)
    },
  }
}

function unexpectedCall(number: number, stepCount: number, messages: readonly Message[]): LonghaulError {
  const last = messages.at(-1)
  const asked = last === undefined ? "no message" : `a ${last.role} message: ${JSON.stringify(last.content)}`
  return new LonghaulError(
    "internal",
    `scriptedModel: unexpected call ${number} (${stepCount} steps); the request ended with ${asked}`,
    { fix: "Add a step, or find out why the run did not stop." },
  )
}

function contextOf(messages: readonly Message[]): Parameters<typeof completeAnswer>[1] {
  const parts = messages.flatMap((message) => (message.role === "assistant" ? message.content : []))
  const ids = parts.flatMap((part) => (part.type === "tool-call" && part.wireId !== undefined ? [part.wireId] : []))
  return { inputCharacters: JSON.stringify(messages).length, usedIds: new Set(ids), idPrefix: "scripted_" }
}

function stream(answer: CompleteAnswer, sink: AnswerSink, signal: AbortSignal): Answer {
  const parts = answer.parts.map((part, index) => streamPart(part, index, answer.deltaSize, sink, signal))
  return {
    parts,
    stopReason: answer.stopReason,
    usage: { costUsd: null, ...answer.usage },
    model: "scripted",
  }
}

function streamPart(
  part: CompletePart,
  index: number,
  deltaSize: number,
  sink: AnswerSink,
  signal: AbortSignal,
): AnswerPart {
  if (part.kind === "call") {
    const call: AnswerCall = { type: "tool-call", wireId: part.id, name: part.name, ...parseArguments(part.argsText) }
    sink.call?.(call, index)
    stopWhereAborted(signal)
    return call
  }
  sink.partStart?.(part.kind, index)
  for (const delta of cutIntoDeltas(part.text, deltaSize)) {
    sink.delta?.(part.kind, index, delta)
    stopWhereAborted(signal)
  }
  if (part.kind === "text") return { type: "text", text: part.text }
  return { type: "reasoning", text: part.text, ...(part.signature !== undefined && { opaque: part.signature }) }
}

function parseArguments(text: string): { readonly args: Json; readonly invalid?: string } {
  try {
    return { args: JSON.parse(text) }
  } catch (error) {
    return { args: null, invalid: `The arguments are not JSON: ${error instanceof Error ? error.message : error}` }
  }
}

function stopWhereAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new LonghaulError("cancelled", "The call was aborted", { cause: signal.reason })
}
