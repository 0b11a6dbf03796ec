// An owner on an object store that does one operation per command, and reports the result.
import { appendFileSync } from "node:fs"

const { LONGHAUL_DIST: dist, EFFECTS: effects, BUCKET: bucket } = process.env
const { takeRun } = await import(new URL("journal/journal.js", dist).href)
const { s3Store } = await import(new URL("stores/s3/index.js", dist).href)

const journal = await takeRun(s3Store(JSON.parse(bucket)).folder("run"), {
  first: () => [{ type: "warning", code: "note", message: "the owner begins" }],
})
let op = 0
process.on("message", async () => {
  const callId = `op-${op++}`
  try {
    journal.append({ type: "tool-intent", callId, digest: "d", effect: "once", key: callId })
    await journal.flush()
    appendFileSync(effects, `${callId}\n`)
    journal.append({ type: "tool-result", callId, outcome: { status: "ok", output: [] }, durationMs: 0 })
    await journal.flush()
    process.send("done")
  } catch (error) {
    process.send(error.code ?? String(error))
  }
})
process.on("disconnect", () => process.exit())
process.send("owner")
