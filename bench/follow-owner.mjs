import { join } from "node:path"
import { pathToFileURL } from "node:url"

const dist = process.env.BENCH_DIST ?? join(import.meta.dirname, "../dist")
const load = (path) => import(pathToFileURL(join(dist, path)).href)
const { createRuntime, defineTool, fsStore } = await load("hosts/node/index.js")
const { scriptedModel } = await load("testing/index.js")

/** Starts runs that take some turns and then wait for ever. Resolves when all of them wait. */
export function waitingRuns({ store, runs = 1, turns = 1 }) {
  return new Promise((resolve) => {
    let waiting = 0
    const step = (messages) => {
      if (messages.filter(({ role }) => role === "assistant").length < turns) {
        return { parts: [{ toolCall: { name: "step", args: {} } }] }
      }
      // Not before the records of the last turn are durable.
      if (++waiting === runs) setTimeout(resolve, 1_000)
      return new Promise(() => {})
    }
    const runtime = createRuntime({
      store,
      model: scriptedModel(Array(runs * (turns + 1)).fill(step)),
      limits: { turns: turns + 10 },
      tools: [
        defineTool({ name: "step", description: "Does one step.", inputSchema: { type: "object" }, run: () => "done" }),
      ],
    })
    for (let index = 0; index < runs; index++) void runtime.run({ runId: `run-${index}`, task: "Work." })
  })
}

if (process.send) {
  const { dir, runs } = JSON.parse(process.argv[2])
  await waitingRuns({ store: fsStore(dir), runs })
  process.send("ready")
}
