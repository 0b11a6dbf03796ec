// The tools without Longhaul's loop: list them, call them, print the results.
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createAgentTools } from "longhaul/tools"

const tools = createAgentTools({ root: mkdtempSync(join(tmpdir(), "tools-")) })
for (const { name } of tools.listTools()) console.log(name)

await tools.callTool("Write", { path: "tide.txt", content: "high 04:17\nlow 10:31\n" })
await tools.callTool("Edit", { path: "tide.txt", oldText: "10:31", newText: "10:40" })
console.log((await tools.callTool("Grep", { pattern: "^low" })).text)
console.log((await tools.callTool("Bash", { command: "wc -l < tide.txt" })).text)
console.log((await tools.callTool("Read", { path: "/etc/passwd" })).text)
await tools.close()
