import type { RunRecord } from "../contract/event.ts"
import type { Json } from "../contract/json.ts"
import { isJsonObject } from "../lib/json.ts"
import { newCall } from "./parts.ts"
import type { ProjectedCall } from "./projected-call.ts"

/** How many of its newest calls a run keeps in memory. Its journal has all of them. */
export const MAX_CALLS = 1000

/** Forgets the oldest call if there are more than a run keeps. */
export function dropOldest(calls: Set<string> | Map<string, unknown>): void {
  if (calls.size <= MAX_CALLS) return
  const [oldest] = calls.keys()
  if (oldest !== undefined) calls.delete(oldest)
}

/** The newest calls of a run, and all that have no result yet. */
export class RecentCalls {
  /** The number of all calls. */
  count = 0
  /** The MCP servers that any call used. */
  readonly servers = new Set<string>()
  /** True if any result is stored next to the run, so that the conversation contains a reference to it. */
  hasOffloaded = false
  /** True if a backend has run a tool itself. */
  hasForeign = false
  /** The types of the subagents that a backend has started itself. */
  readonly subagents = new Set<string>()
  readonly #calls = new Map<string, ProjectedCall>()

  get(callId: string): ProjectedCall | undefined {
    return this.#calls.get(callId)
  }

  /** In the order in which they were made. */
  values(): IterableIterator<ProjectedCall> {
    return this.#calls.values()
  }

  add(record: RunRecord & { readonly type: "tool-call" }): ProjectedCall {
    const { callId } = record
    const call = newCall(record)
    const [, server] = /^mcp(?::|__)(.+?)(?:\/|__)/.exec(innerName(record)) ?? []
    if (server !== undefined) this.servers.add(server)
    if (!this.#calls.has(callId)) this.count++
    this.#calls.set(callId, call)
    if (this.#calls.size > MAX_CALLS) this.#forgetOldest()
    return call
  }

  /** The call is about to run: nothing is known of its outcome from here on. */
  announce({ callId, effect, digest }: RunRecord & { readonly type: "tool-intent" }): void {
    const call = this.#calls.get(callId)
    if (!call) return
    call.intent = effect
    call.intentDigest = digest
    call.question = undefined
  }

  /** `isCopied`: the question of the run that was forked, which alone continues the call. */
  ask(record: RunRecord & { readonly type: "tool-question" }, isCopied: boolean): void {
    const call = this.#calls.get(record.callId)
    if (!call) return
    call.questions++
    call.question = isCopied ? undefined : { record, answer: undefined }
  }

  decide(record: RunRecord & { readonly type: "approval-result" }): void {
    const call = this.#calls.get(record.callId)
    if (!call) return
    if (call.question) call.question = { ...call.question, answer: record }
    else call.approvedDigest = record.decision === "approve" ? record.digest : undefined
  }

  /** The policy or a person changed the arguments. */
  rewrite({ callId, args }: RunRecord & { readonly type: "policy-decision" | "approval-result" }): void {
    const call = this.#calls.get(callId)
    if (call && args !== undefined) call.finalArgs = args
  }

  finish({ callId, outcome, durationMs, stored, ungated }: RunRecord & { readonly type: "tool-result" }): void {
    const call = this.#calls.get(callId)
    if (!call) return
    call.outcome = outcome
    call.durationMs = durationMs
    call.stored = stored
    call.ungated = ungated
    if (call.executor === "backend" && outcome.status !== "denied") this.#noteForeign(call)
    this.hasOffloaded ||= stored !== undefined && "bytes" in stored
  }

  #noteForeign({ name, args }: ProjectedCall): void {
    this.hasForeign = true
    if (name === "Task") this.subagents.add(subagentIn(args))
  }

  #forgetOldest(): void {
    for (const [callId, { outcome }] of this.#calls) {
      if (outcome === undefined) continue
      this.#calls.delete(callId)
      return
    }
  }
}

/** A call that was made through CallTool has the name of the tool in its arguments. */
function innerName({ name, args }: Pick<ProjectedCall, "name" | "args">): string {
  return name === "CallTool" && isJsonObject(args) && typeof args.name === "string" ? args.name : name
}

/** Vendors name the type of a subagent differently. */
function subagentIn(args: Json): string {
  const { subagent_type, agent_name, agent_type } = isJsonObject(args) ? args : {}
  const named = [subagent_type, agent_name, agent_type].find((each) => typeof each === "string" && each !== "")
  return typeof named === "string" ? named : "unnamed"
}
