import type { TurnMessage } from "../../contract/compaction.ts"
import type { Message } from "../../contract/message.ts"
import { Dialogue } from "./dialogue.ts"

/** The conversation as it was recorded, each message with its turn, and as it is sent. */
export class History {
  #said: TurnMessage[]
  #dialogue: Dialogue

  readonly #onReplaced: () => void

  /** `onReplaced`: called when the messages differ from the earlier ones. */
  constructor(said: readonly TurnMessage[] = [], onReplaced = () => {}) {
    this.#onReplaced = onReplaced
    this.#said = [...said]
    this.#dialogue = dialogueOf(said)
  }

  get said(): readonly TurnMessage[] {
    return this.#said
  }

  /** The messages of the next request. The same array until the history is replaced. */
  get messages(): readonly Message[] {
    return this.#dialogue.messages
  }

  add(turn: number, message: Message): void {
    if (message.content.length === 0) return
    this.#said.push({ turn, message })
    this.#dialogue.add(message)
  }

  /** The provider takes the same array as the same conversation, so the messages are in a new one. */
  replace(said: readonly TurnMessage[]): void {
    this.#said = [...said]
    this.#dialogue = dialogueOf(said)
    this.#onReplaced()
  }
}

function dialogueOf(said: readonly TurnMessage[]): Dialogue {
  return new Dialogue(said.map(({ message }) => message))
}
