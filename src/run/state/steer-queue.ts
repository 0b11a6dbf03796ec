import type { RecordBody } from "../../contract/event.ts"
import type { SteerMessage } from "../../contract/session.ts"

/** Where a message comes from, if not from the run's handle. Its record says so: so it is delivered once. */
export type SteerSource = { readonly inbox: number } | { readonly reason: "agent"; readonly agentId: string }

type SteerRecord = RecordBody & { readonly type: "steer" }

interface Pending {
  readonly message: SteerMessage
  readonly source: SteerSource | undefined
  /** The session does not take it: it is recorded when the session ends. */
  isRefused?: true
}

/** The messages that the model of a run has not received yet, in order. Each is recorded once the model receives it. */
export class SteerQueue {
  readonly #pending = new Map<string, Pending>()
  /** Undefined: no session is open yet, and the messages wait for it. */
  #session: ((message: SteerMessage) => boolean) | undefined

  /** Returns false if the session takes no further messages. */
  add(text: string, source?: SteerSource): boolean {
    const message = { id: crypto.randomUUID(), text }
    // A session may report the message while it takes it.
    this.#pending.set(message.id, { message, source })
    if (this.#session === undefined || this.#session(message)) return true
    this.#pending.delete(message.id)
    return false
  }

  /** Passes the waiting messages to a session, and each further one. */
  connect(session: (message: SteerMessage) => boolean): void {
    this.#session = session
    for (const pending of [...this.#pending.values()]) if (!session(pending.message)) pending.isRefused = true
  }

  /** Takes no further messages. Returns the records of those that the model never received. */
  disconnect(): readonly SteerRecord[] {
    this.#session = () => false
    return [...this.#pending.values()].map(({ message }) => this.delivered(message))
  }

  /** True if a message is on its way to the model. */
  get hasUnread(): boolean {
    return [...this.#pending.values()].some(({ isRefused }) => !isRefused)
  }

  get hasAnswerOfAgent(): boolean {
    return [...this.#pending.values()].some(({ source }) => source !== undefined && "agentId" in source)
  }

  /** The record of a message that the model receives now. */
  delivered({ id, text }: SteerMessage): SteerRecord {
    const source = this.#pending.get(id)?.source
    this.#pending.delete(id)
    return { type: "steer", text, ...source }
  }

  /** The record of the message that has waited longest: a session begins with it. */
  takeFirst(): SteerRecord | undefined {
    for (const { message } of this.#pending.values()) return this.delivered(message)
    return undefined
  }
}
