import { writeSync } from "node:fs"
import { createOnlyStore, createRuntime, fsStore } from "../../src/hosts/node/index.ts"
import { continueRun, found, records, workload } from "../support/workload.ts"
import type { Order } from "./program.ts"

/** One process of a durable run. It reports events line by line, immediately: it may be killed at any time. */
const order = JSON.parse(process.argv[2] ?? "") as Order
const { root, workspace, form = "append", resultBytes = 0, most = 9, steer, webhook } = order
const tell = (line: object) => writeSync(1, `${JSON.stringify(line)}\n`)
const onEvent = records((record) => tell({ told: record }))

const background: Promise<unknown>[] = []
const runtime = createRuntime({
  store: form === "append" ? fsStore(root) : createOnlyStore(root),
  workspace,
  executor: { run: (work) => void background.push(work) },
  ...(webhook !== undefined && { webhook: { url: webhook }, webhookAllow: [new URL(webhook).host] }),
  ...workload((deed) => {
    tell({ deed })
    return deed.effect === "once" ? "x".repeat(resultBytes) : ""
  }),
})
if (steer !== undefined) tell({ steered: await runtime.steer("r", steer) })
else if (webhook !== undefined) {
  await runtime.start({ task: "Work.", runId: "r", onEvent })
  await Promise.all(background)
  tell({ state: await runtime.status("r") })
} else {
  let state = await found(runtime)
  for (let stretch = 0; stretch < most; stretch++) {
    state = await continueRun(runtime, state, onEvent)
    tell({ state })
    if (state.status !== "paused") break
  }
}
