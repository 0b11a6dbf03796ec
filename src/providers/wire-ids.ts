import type { ToolCallPart } from "../contract/message.ts"

export interface WireIdRules {
  /** Characters that an id must not contain. */
  readonly refused?: RegExp
  /** Maximum length of an id. */
  readonly longest?: number
}

/** Gives every call of a conversation a unique id on the wire: servers and joined histories repeat theirs. */
export class WireIds {
  readonly #rules: WireIdRules
  readonly #used = new Set<string>()
  readonly #latest = new Map<string, { readonly id: string; readonly name: string }>()

  constructor(rules: WireIdRules = {}) {
    this.#rules = rules
  }

  ofCall({ callId, wireId, name }: ToolCallPart): string {
    const { refused, longest } = this.#rules
    const given = wireId ?? callId
    const wanted = refused === undefined ? given : given.replace(refused, "_")
    let id = wanted.slice(0, longest)
    for (let copy = 2; this.#used.has(id); copy++) {
      id = `${wanted.slice(0, longest && longest - 1 - String(copy).length)}_${copy}`
    }
    this.#used.add(id)
    this.#latest.set(callId, { id, name })
    return id
  }

  /** Results follow their calls directly, so the latest call with that id is theirs. */
  ofResult(callId: string): string {
    return this.#latest.get(callId)?.id ?? callId
  }

  /** The tool of a result, for protocols that name it again. */
  toolOf(callId: string): string {
    return this.#latest.get(callId)?.name ?? "unknown"
  }
}
