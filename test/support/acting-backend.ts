import type { Backend, Stop, TurnHost } from "../../src/contract/backend.ts"
import type { Capabilities } from "../../src/contract/capabilities.ts"
import { fakeBackend } from "../../src/testing/fake-backend.ts"

/** A backend whose session does with its host what a test says, whatever it has promised. It is done unless it returns a stop. */
export function actingBackend(
  act: (host: TurnHost) => Promise<unknown>,
  capabilities: Partial<Capabilities> = {},
): Backend {
  const base = fakeBackend({ script: () => "", capabilities })
  return {
    ...base,
    async open(request, env) {
      const session = await base.open(request, env)
      return {
        ref: session.ref,
        steer: () => false,
        interrupt: () => {},
        close: async () => {},
        async run(_, host) {
          await host.beginTurn(1, () => ({ inputTokens: 0, outputTokens: 0 }))
          const stop = await act(host)
          return isStop(stop) ? stop : { reason: "done", text: "" }
        },
      }
    },
  }
}

function isStop(value: unknown): value is Stop {
  return typeof value === "object" && value !== null && "reason" in value
}
