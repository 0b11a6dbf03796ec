import { afterEach, beforeEach, vi } from "vitest"
import type { Runtime } from "../../src/index.ts"
import { type Answer, type Receiver, startReceiver } from "./receiver.ts"

/** The secret of all receivers of these tests. */
export const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

/** The timers of deliveries are the test's, and everything that is opened is closed after each test. */
export function webhookScene() {
  const open: (Receiver | Runtime)[] = []
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] })
  })
  afterEach(async () => {
    vi.useRealTimers()
    for (const each of open.splice(0).reverse()) await each.close()
  })
  return {
    opened<Each extends Receiver | Runtime>(each: Each): Each {
      open.push(each)
      return each
    },
    async receiver(answer: Answer = () => 204): Promise<Receiver> {
      return this.opened(await startReceiver(answer))
    },
  }
}
