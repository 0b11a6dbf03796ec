import type { Usage } from "../../contract/result.ts"

/** The usage of answers, from their own messages, until a total of the program contains it. */
export class Unmeasured {
  readonly #answers = new Map<string, Usage>()

  /** Counts of an answer grow while it is written. */
  note(answer: string, now: Usage): void {
    const before = this.#answers.get(answer)
    const most = (name: Exclude<keyof Usage, "costUsd">) => Math.max(before?.[name] ?? 0, now[name] ?? 0)
    this.#answers.set(answer, {
      inputTokens: most("inputTokens"),
      outputTokens: most("outputTokens"),
      cacheReadTokens: most("cacheReadTokens"),
      cacheWriteTokens: most("cacheWriteTokens"),
      costUsd: null,
    })
  }

  /** Returns the usage noted since the last call. */
  take(): readonly Usage[] {
    const usages = [...this.#answers.values()]
    this.#answers.clear()
    return usages
  }
}
