import type { ContentPart } from "../../contract/content.ts"
import type { SteerMessage } from "../../contract/session.ts"
import type { ClaudeProgram } from "./wire.ts"

/** Messages for the model, and which of those from people it has not received. */
export class Outbox {
  readonly #program: Pick<ClaudeProgram, "send">
  /** By id. Null: no further messages are accepted. */
  #steers: Map<string, SteerMessage> | null
  /** Undefined: nothing has to wait. */
  #held: { readonly content: readonly ContentPart[]; readonly id: string }[] | undefined = []

  /** `early`: messages of people before the run began. Everything waits until `release`. */
  constructor(program: Pick<ClaudeProgram, "send">, early: readonly SteerMessage[]) {
    this.#program = program
    this.#steers = new Map()
    for (const message of early) this.steer(message)
  }

  get hasUndelivered(): boolean {
    return this.#steers !== null && this.#steers.size > 0
  }

  async send(content: readonly ContentPart[], id: string = crypto.randomUUID()): Promise<void> {
    if (this.#held) this.#held.push({ content, id })
    else await this.#program.send(content, id)
  }

  /** A message of a person. False: it is too late. */
  steer(message: SteerMessage): boolean {
    if (this.#steers === null) return false
    const { id, text } = message
    this.#steers.set(id, message)
    // A program that has ended ends the run, which records the message.
    this.send([{ type: "text", text }], id).catch(() => {})
    return true
  }

  /** From now on messages wait: the program would continue with them. */
  hold(): void {
    this.#held ??= []
  }

  /** Sends what waited, with `first` in front of it. */
  async release(first: readonly ContentPart[] = []): Promise<void> {
    const held = this.#held ?? []
    this.#held = undefined
    if (first.length > 0) await this.send(first)
    for (const { content, id } of held) await this.send(content, id)
  }

  /** The person's message that the model has received now. */
  delivered(id: string): SteerMessage | undefined {
    const message = this.#steers?.get(id)
    this.#steers?.delete(id)
    return message
  }

  /** Accepts no further messages. */
  close(): void {
    this.#steers = null
  }
}
