import { join } from "node:path"
import { pathToFileURL } from "node:url"

const dist = process.env.BENCH_DIST ?? join(import.meta.dirname, "../dist")
const { anthropic, createMetricsObserver, createRuntime, defineTool, fsStore } = await import(
  pathToFileURL(join(dist, "hosts/node/index.js")).href
)

/**
 * Longhaul through the public API of the built package.
 *
 * @param {import("./floor.mjs").Setup} setup
 * @param {object} [more] further runtime settings
 * @returns {import("./floor.mjs").Subject}
 */
export function open(setup, more) {
  const step = defineTool({
    name: "step",
    description: "Does one step of the work.",
    inputSchema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
    effect: "once",
    run: ({ n }, { runId }) => setup.step(runId, n),
  })
  const runtime = createRuntime({
    store: fsStore(setup.dir),
    model: anthropic({ model: setup.model, apiKey: "x", baseUrl: setup.baseUrl }),
    tools: [step],
    ...(process.env.BENCH_OBSERVED
      ? { observers: [createMetricsObserver()], limits: { turns: 1000, tokens: 1_000_000_000 } }
      : { limits: { turns: 1000 } }),
    ...more,
  })
  return {
    async run({ id, task, onDelta }) {
      const input = { runId: id, task }
      if (!onDelta) return finalText(await runtime.run(input))
      const handle = runtime.stream(input)
      for await (const event of handle) if (event.type === "text-delta") onDelta(event.delta)
      return finalText(await handle.result)
    },
    close: () => runtime.close(),
  }
}

function finalText(result) {
  if (result.status === "done") return result.text
  throw new Error(`the run ended ${result.status}: ${JSON.stringify(result.error)}`)
}
