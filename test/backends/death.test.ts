import { expect, test } from "vitest"
import { isMain } from "../../src/testing/backend-bench.ts"
import { countIn, countLiving, uniqueSleep } from "../support/shell-scene.ts"
import { until } from "../support/watchdog.ts"
import { allBackends } from "./benches.ts"
import { openHunt } from "./processes/start.ts"

const DEATHS = Number(process.env.LONGHAUL_DEATHS ?? 1)
const SIGNALS = ["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"] as const

const vendors = allBackends.filter(({ own }) => own !== undefined)

test.each(vendors.map((placed) => [placed.name, placed] as const))(
  "%s and its commands end with the process that started it, however that dies",
  async (name, placed) => {
    let sleep = ""
    let requests = 0
    const hunt = await openHunt((request) => {
      if (!isMain(request)) return "A title"
      requests++
      const isFirst = request.messages.every(({ toolResults }) => toolResults.length === 0)
      return isFirst ? { parts: [{ toolCall: placed.speaks.command(sleep) }] } : "Done."
    })
    let slowestMs = 0
    try {
      // All deaths by SIGKILL, then one of each other kind: the process has no handler for them.
      const signals = [...Array.from({ length: DEATHS }, () => SIGNALS[0]), ...(DEATHS > 1 ? SIGNALS.slice(1) : [])]
      for (const signal of signals) {
        sleep = uniqueSleep()
        const host = hunt.start({ backend: name, hasNoHandlers: true })
        await until(() => countLiving(sleep) > 0)
        const before = requests
        host.kill(signal)
        await host.exited
        const since = performance.now()
        await until(() => countIn(hunt.base) === 0)
        slowestMs = Math.max(slowestMs, performance.now() - since)
        expect(requests).toBe(before)
      }
      console.log(
        `${name}: 0 processes left of ${signals.length} killed hosts, the slowest after ${Math.round(slowestMs)} ms`,
      )
    } finally {
      await hunt.close()
    }
  },
  600_000,
)
