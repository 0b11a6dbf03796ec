import { expect, test } from "vitest"
import { isMain } from "../../src/testing/backend-bench.ts"
import { random } from "../support/scene.ts"
import { countIn } from "../support/shell-scene.ts"
import { placedBackends } from "./benches.ts"
import { openHunt } from "./processes/start.ts"

const HUNTED = Number(process.env.LONGHAUL_ORPHANS ?? 12)

test(`of ${HUNTED} runs killed or ended at random moments no process is left after the next start`, async () => {
  let answers = 0
  const hunt = await openHunt(async (request) => {
    if (!isMain(request)) return "A title"
    await new Promise((resolve) => setTimeout(resolve, 100))
    const name = request.tools.find((tool) => /send$/.test(tool.name))?.name
    const isLast = answers++ % 7 === 6
    return isLast || name === undefined ? "Done." : { parts: [{ toolCall: { name, args: { to: "Ada" } } }] }
  })
  const pick = random(Number(process.env.LONGHAUL_SEED ?? 1))
  try {
    for (let index = 0; index < HUNTED; index++) {
      const { name } = placedBackends[pick(placedBackends.length)] ?? { name: "native" }
      const { exited, kill } = hunt.start({ backend: name, toolMs: 300 })
      const timer = setTimeout(() => kill(pick(3) === 0 ? "SIGTERM" : "SIGKILL"), 200 + pick(3000))
      await exited
      clearTimeout(timer)
    }
    // The next start of any program ends what is left.
    const last = hunt.start({ backend: "claude-cli" })
    expect(await last.first).toMatchObject({ status: "done" })
    await last.exited
    expect(countIn(hunt.base)).toBe(0)
  } finally {
    await hunt.close()
  }
}, 600_000)
