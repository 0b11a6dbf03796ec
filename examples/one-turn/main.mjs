// A minimal consumer: one task, one call of Bash, the result printed.
import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createRuntime } from "longhaul/node"
import { memoryStore } from "longhaul/stores/memory"
import { scriptedModel } from "longhaul/testing"
import { bashTool } from "longhaul/tools"

const workspace = mkdtempSync(join(tmpdir(), "one-turn-"))
writeFileSync(join(workspace, "tides.txt"), "04:17\n10:31\n16:40\n")

// Stands in for an LLM: omit `model` and set a provider's key for a real one.
const model = scriptedModel([
  { parts: [{ toolCall: { name: "Bash", args: { command: "wc -l < tides.txt" } } }] },
  (messages) => `There are ${/\d+/.exec(messages.at(-1).content[0].output[0].text)[0]} tides.`,
])
const runtime = createRuntime({
  workspace,
  model,
  tools: [bashTool()],
  policy: { preApproved: ["Bash"] },
  store: memoryStore(),
})
const result = await runtime.run({ task: "How many tides are in tides.txt?" })
console.log(result.status, result.toolCalls[0].name, result.text)
await runtime.close()
