import type { BackendEvent, ToolCall } from "../../contract/backend.ts"
import type { Ephemeral } from "../../contract/event.ts"
import type { Json } from "../../contract/json.ts"
import { whyTooLarge } from "../../lib/schema/argument-size.ts"
import { callKey } from "../../lib/tenant/run-keys.ts"
import type { RedactedStream } from "../../policy/redact/stream.ts"
import { redactFailure } from "../../settings/config/secrets.ts"
import type { OpenRun } from "./open-run.ts"

/** Where the output of a backend enters: it is redacted here, once, before the journal, listeners and the next request. */
export class EventRedactor {
  readonly #run: OpenRun
  /** Unfinished texts by id. */
  readonly #streams = new Map<string, RedactedStream>()

  constructor(run: OpenRun) {
    this.#run = run
  }

  /** The event as it may be recorded. */
  event<Event extends BackendEvent>(event: Event): Event {
    // Safe: each case returns an event of the same type.
    return this.#redacted(event) as Event
  }

  #redacted(event: BackendEvent): BackendEvent {
    const { redactor } = this.#run
    switch (event.type) {
      case "text-end":
        this.#finish("text-delta", event.id)
        return { ...event, text: event.partial ? redactor.cut(event.text) : redactor.text(event.text) }
      case "reasoning-end": {
        this.#finish("reasoning-delta", event.id)
        const { opaque, ...plain } = event
        const text = redactor.text(event.text)
        // A signature is valid for the exact text only.
        const isIntact = opaque !== undefined && text === event.text && redactor.json(opaque) === opaque
        return { ...plain, text, ...(isIntact && { opaque }) }
      }
      case "tool-call": {
        const { opaque, origin, ...given } = event
        const plain = whyTooLarge(given.args) === undefined ? given : { ...given, args: null }
        const recorded = { ...plain, ...redactor.json(partsOf(plain)) }
        if (opaque === undefined || redactor.json(opaque) !== opaque) return recorded
        return { ...recorded, opaque, ...(origin !== undefined && { origin }) }
      }
      case "retry":
        this.#streams.clear()
        return { ...event, failure: redactFailure(redactor, event.failure) }
      case "steer":
      case "warning":
        // Redacted where they were given, or written by the runtime.
        return redactor.again(event)
      case "tool-result":
        return { ...event, outcome: redactor.json(event.outcome) }
      case "metering":
        return event.model === undefined ? event : { ...event, model: redactor.text(event.model) }
      case "usage": {
        const { model, requestId } = event
        const named = requestId === undefined ? {} : { requestId: redactor.text(requestId) }
        return { ...event, model: redactor.text(model), ...named }
      }
      case "session":
        return { ...event, ref: redactor.json(event.ref) }
    }
  }

  /** The call with references instead of secrets: this form is recorded, shown and approved. */
  call(call: ToolCall): ToolCall {
    const invalid = call.invalid ?? whyTooLarge(call.args)
    if (invalid !== undefined) return { ...call, args: null, invalid }
    const args = maskedArgs(this.#run, call, call.args)
    return args === call.args ? call : { ...call, args }
  }

  show(event: Ephemeral): void {
    const { redactor } = this.#run
    switch (event.type) {
      case "text-delta":
      case "reasoning-delta": {
        // A listener that came in the middle of a text gets the rest of it at its end: it could begin inside a secret.
        const delta = this.#streams.get(event.id)?.push(event.delta)
        if (delta) this.#run.show({ ...event, delta })
        return
      }
      case "text-start":
      case "reasoning-start":
        this.#streams.set(event.id, redactor.stream())
        this.#run.show(event)
        return
      case "tool-progress":
        this.#run.show({ ...event, message: redactor.text(event.message) })
    }
  }

  /** Shows what a stream held back, before the end of its text is published. */
  #finish(type: "text-delta" | "reasoning-delta", id: string): void {
    const delta = this.#streams.get(id)?.end()
    this.#streams.delete(id)
    if (delta) this.#run.show({ type, id, delta })
  }
}

/** The model's own words in a call. */
function partsOf({
  name,
  wireId,
  args,
}: Pick<BackendEvent & { readonly type: "tool-call" }, "name" | "wireId" | "args">) {
  return wireId === undefined ? { name, args } : { name, wireId, args }
}

/** Arguments of a call, with references instead of secrets. Undeclared secrets are kept for this process only. */
export function maskedArgs(
  { config: { undeclared }, redactor, key }: OpenRun,
  call: Pick<ToolCall, "callId">,
  args: Json,
): Json {
  const masked = redactor.json(args)
  if (masked !== args && redactor.expand(masked) === undefined) undeclared.keep(callKey(key, call.callId), masked, args)
  return masked
}

/** The arguments with the values of their secrets; undefined if this process does not have all of them. */
export function realArgs({ config: { undeclared }, redactor, key }: OpenRun, call: ToolCall): Json | undefined {
  const expanded = redactor.expand(call.args)
  return expanded === undefined ? undeclared.find(callKey(key, call.callId), call.args) : expanded
}
