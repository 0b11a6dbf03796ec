import type { ToolCallPart } from "../contract/message.ts"

export interface WireIdRules {
  /** What an id must not hold. */
  readonly refused?: RegExp
  /** The most characters of an id. */
  readonly longest?: number
}

/** Gives every call of a conversation an id of its own on the wire: servers and joined histories repeat theirs. */
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

  /** Results follow their calls directly, so the latest call of that name is theirs. */
  ofResult(callId: string): string {
    return this.#latest.get(callId)?.id ?? callId
  }

  /** The tool that a result is of, for protocols that name it again. */
  toolOf(callId: string): string {
    return this.#latest.get(callId)?.name ?? "unknown"
  }
}
