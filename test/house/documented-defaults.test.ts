import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"

/** The place in the code of each default that a comment documents by its number: the end of the text is that number. */
const places: Readonly<Record<string, readonly [file: string, text: string]>> = {
  "contract/agents.ts#atOnce": ["runtime/agents/settings.ts", "atOnce: 4"],
  "contract/agents.ts#depth": ["runtime/agents/settings.ts", "depth: 1"],
  "contract/agents.ts#limits": ["runtime/agents/child-input.ts", "DEFAULT_TURNS = 50"],
  "contract/agents.ts#total": ["runtime/agents/settings.ts", "total: 50"],
  "contract/compaction.ts#at": ["runtime/compaction/context-setup.ts", "{ at = 0.8"],
  "contract/compaction.ts#keep": ["backends/native/compaction/meter.ts", "Math.min(40_000, Math.max(4_000"],
  "contract/compaction.ts#kept": ["lib/compaction/compacted.ts", "{ through, kept = 0"],
  "contract/compaction.ts#maxPreviewChars": ["runtime/offload/offload.ts", "settings.maxPreviewChars ?? 500"],
  "contract/compaction.ts#thresholdBytes": ["runtime/offload/offload.ts", "settings.thresholdBytes ?? 2048"],
  "contract/compaction.ts#window": ["runtime/compaction/context-setup.ts", "ASSUMED_WINDOW = 128_000"],
  "contract/env.ts#maxOutputBytes": ["hosts/node/shell/command-starter.ts", "defaultOutputBytes = 64 * 1024"],
  "contract/mcp.ts#timeoutMs": ["extensions/mcp/connection.ts", "CALL_MS = 60_000"],
  "contract/policy.ts#askTimeoutMs": ["policy/policies.ts", "askTimeoutMs = 60_000"],
  "contract/runtime.ts#recoverOrphanedRuns": ["journal/journal.ts", "LEASE_MS = 60_000"],
  "policy/service/options.ts#maxToolOutputBytes": ["policy/service/client.ts", "maxToolOutputBytes = 65_536"],
  "policy/service/options.ts#timeoutMs": ["policy/service/client.ts", "timeoutMs = 10_000"],
  "tools/tasks.ts#maxRuns": ["tools/tasks.ts", "options.maxRuns ?? 1000"],
  "tools/kernel/dispatch.ts#maxOutputBytes": ["tools/kernel/dispatch.ts", "maxOutputBytes = 256 * 1024"],
  "tools/kernel/dispatch.ts#maxCharacters": ["tools/kernel/dispatch.ts", "maxCharacters = 100_000"],
  "tools/bash.ts#maxOutputBytes": ["tools/bash.ts", "defaultOutputBytes = 32 * 1024"],
  "extensions/api/service.ts#maxBodyBytes": ["extensions/api/service.ts", "DEFAULT_BYTES = 256 * 1024"],
  "extensions/api/service.ts#maxResponseBytes": ["extensions/api/service.ts", "DEFAULT_BYTES = 256 * 1024"],
  "extensions/api/service.ts#timeoutMs": ["extensions/api/service.ts", "service.timeoutMs ?? 30_000"],
  "extensions/agents-md/index.ts#maxBytes": ["extensions/agents-md/index.ts", "MOST_BYTES = 32 * 1024"],
  "extensions/knowledge/options.ts#maxSearchResults": ["extensions/knowledge/tools.ts", "DEFAULT_RESULTS = 5"],
  "extensions/knowledge/options.ts#maxReadBytes": ["extensions/knowledge/tools.ts", "DEFAULT_BYTES = 10_000"],
  "extensions/knowledge/tools.ts#maxSearchResults": ["extensions/knowledge/tools.ts", "DEFAULT_RESULTS = 5"],
  "extensions/knowledge/tools.ts#maxReadBytes": ["extensions/knowledge/tools.ts", "DEFAULT_BYTES = 10_000"],
  "extensions/memory/index.ts#maxItems": ["extensions/memory/index.ts", "maxItems = 500"],
  "extensions/memory/remembered.ts#profile": ["extensions/memory/remembered.ts", "profile = 2_000"],
  "extensions/memory/remembered.ts#lessons": ["extensions/memory/remembered.ts", "lessons = 1_500"],
  "hosts/node/agent-tools.ts#maxCharacters": ["tools/kernel/dispatch.ts", "maxCharacters = 100_000"],
  "hosts/node/agent-tools.ts#maxOutputBytes": ["tools/kernel/dispatch.ts", "maxOutputBytes = 256 * 1024"],
  "hosts/node/http/connect-limit.ts#connectTimeoutMs": [
    "hosts/node/http/connect-limit.ts",
    "defaultConnectTimeoutMs = 10_000",
  ],
  "hosts/node/http/guarded-fetch.ts#maxRedirects": ["hosts/node/http/guarded-fetch.ts", "maxRedirects = 5"],
  "hosts/node/http/serve.ts#port": ["hosts/node/http/serve.ts", "{ port = 0"],
  "hosts/node/mcp/http.ts#idleMs": ["hosts/node/mcp/http.ts", "idleMs = 600_000"],
  "hosts/node/mcp/http.ts#maxBodyBytes": ["hosts/node/mcp/http.ts", "maxBodyBytes = 10 * 1024 ** 2"],
  "hosts/node/mcp/http.ts#maxSessions": ["hosts/node/mcp/http.ts", "maxSessions = 64"],
  "hosts/node/mcp/http.ts#port": ["hosts/node/http/serve.ts", "{ port = 0"],
  "hosts/node/shell/shell-options.ts#maxSpillBytes": [
    "hosts/node/shell/shell-settings.ts",
    "maxSpillBytes = 1024 ** 3",
  ],
  "stores/s3/options.ts#timeoutMs": ["stores/s3/options.ts", "timeoutMs = 20_000"],
  "testing/simulated.ts#deltaSize": ["testing/simulated.ts", "given.deltaSize ?? 12"],
  "webhooks/verify.ts#toleranceSeconds": ["webhooks/verify.ts", "toleranceSeconds = 300"],
  "backends/native/compaction/index.ts#answerTokens": [
    "backends/native/compaction/index.ts",
    "USUAL_OUTPUT_TOKENS = 8_192",
  ],
}

const units: Readonly<Record<string, number>> = { s: 1000, minutes: 60_000, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3 }

const source = new URL("../../src/", import.meta.url).pathname
const text = (file: string) => readFileSync(join(source, file), "utf8")

/** Each documented default: its place, and the number in the unit of the code. */
function documented(): ReadonlyMap<string, number> {
  const found = new Map<string, number>()
  for (const file of readdirSync(source, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".ts") || file.endsWith(".test.ts")) continue
    for (const [, comment = "", member = ""] of text(file).matchAll(
      /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*(?:readonly )?(\w+)(?:\?:|:|\()/g,
    )) {
      const [, number, unit = ""] =
        /\b[Dd]efault:?[^.;)]*?\s(\d[\d,]*(?:\.\d+)?)(?: (s|minutes|KB|MB|GB))?\b/.exec(comment) ?? []
      if (number === undefined) continue
      const factor = units[unit] ?? 1
      found.set(`${file.replaceAll("\\", "/")}#${member}`, Number(number.replaceAll(",", "")) * factor)
    }
  }
  return found
}

test("every default that is documented by its number has a place in the code, with the same number", () => {
  const defaults = documented()
  expect([...defaults.keys()].sort()).toEqual(Object.keys(places).sort())
  for (const [name, number] of defaults) {
    const [file, code] = places[name] ?? ["", ""]
    expect([name, valueAtEnd(code)]).toEqual([name, number])
    expect(occurrences(text(file), code), `${name}: ${code} in ${file}`).toBe(1)
  }
})

/** The number, product or power at the end of a piece of code. */
function valueAtEnd(code: string): number {
  const [given = ""] = /[\d_.]+(?: \*\*? [\d_.]+)*$/.exec(code) ?? []
  return given
    .replaceAll("_", "")
    .split(" * ")
    .map((factor) => factor.split(" ** ").map(Number))
    .reduce((product, [base = 1, power = 1]) => product * base ** power, 1)
}

/** Not as the beginning of a longer number. */
function occurrences(whole: string, code: string): number {
  return whole.split(code).filter((rest, index) => index > 0 && !/^[\d_]|^ \*/.test(rest)).length
}
