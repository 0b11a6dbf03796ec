import { createRuntime, fsStore } from "../../src/hosts/node/index.ts"
import { scriptedModel } from "../../src/testing/index.ts"

const [what = "", root = "", workspace = "", url = "", secret = ""] = process.argv.slice(2)

// Scheduled delays pass a hundred times as fast, request timeouts do not. The first process only reaches the delay
// before the third attempt: that one is for the next process.
const longest = what === "start" ? 20_000 : Number.POSITIVE_INFINITY
const wait = globalThis.setTimeout
globalThis.setTimeout = ((then: () => void, ms = 0) =>
  wait(then, ms > 5_000 && ms !== 30_000 && ms < longest ? ms / 100 : ms)) as typeof setTimeout

const runtime = createRuntime({
  store: fsStore(root),
  workspace,
  model: scriptedModel(["Done."]),
  secrets: { HOOK: secret },
  webhookAllow: [new URL(url).host],
})
if (what === "start") await runtime.start({ task: "x", runId: "r", webhook: { url, secretRef: "HOOK" } })
else await runtime.deliverWebhooks()
// Until it is killed.
setInterval(() => {}, 1_000)
