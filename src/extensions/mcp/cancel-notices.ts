import type { Transport } from "@modelcontextprotocol/client"
import { delay } from "../../lib/abort.ts"

/**
 * The notices of cancelled requests. A server that gets none continues, since a closed connection cancels nothing: a transport is
 * closed after they were sent.
 */
export class CancelNotices {
  readonly #underWay = new Set<Promise<void>>()

  /** The same transport, watched. */
  of(transport: Transport): Transport {
    const send = transport.send.bind(transport)
    transport.send = (message, options) => {
      const sent = send(message, options)
      if ("method" in message && message.method === "notifications/cancelled") {
        this.#underWay.add(sent)
        const settled = () => void this.#underWay.delete(sent)
        sent.then(settled, settled)
      }
      return sent
    }
    return transport
  }

  /** Resolves once all were sent, or were not taken in time. */
  async sent(): Promise<void> {
    if (this.#underWay.size > 0) await Promise.race([Promise.allSettled(this.#underWay), delay(MAX_MS)])
  }
}

const MAX_MS = 1_000
