import type { OpenRun } from "../state/open-run.ts"

/** A running tool's report, as it may be published. */
export interface CallProgress {
  tell(message: string): void
  /** Publishes what was held back. */
  end(): void
}

/**
 * Tools report their output in pieces, so a secret may be split over messages: from its eighth character on it is held back until
 * it is decided. A shorter start is published with its message, since almost every message ends like some secret begins.
 */
export function callProgress(run: Pick<OpenRun, "redactor" | "show">, callId: string): CallProgress {
  const stream = run.redactor.stream()
  /** The start of what the stream holds back, as far as it was published. */
  let published = ""
  const publish = (message: string) => {
    if (message !== "") run.show({ type: "tool-progress", callId, message })
  }
  const fresh = (decided: string) => (decided.startsWith(published) ? decided.slice(published.length) : decided)
  return {
    tell(message) {
      const decided = stream.push(message)
      const { held } = stream
      const isShort = held.length < MIN_HELD_LENGTH
      const kept = decided === "" ? published : ""
      publish((decided === "" ? "" : fresh(decided)) + (isShort ? held.slice(kept.length) : ""))
      published = isShort ? held : kept
    },
    end: () => publish(fresh(stream.end())),
  }
}

const MIN_HELD_LENGTH = 8
