import { expect, test } from "vitest"
import { documentedNumbers, figureOf, textOf } from "./documented/numbers.ts"

/** Of each number, the file in `src` and the code that ends with it (a product, if there are several), and where it is documented. */
const places: readonly (readonly [code: readonly [file: string, ...texts: string[]], ...documented: string[]])[] = [
  [["settings/options/agents.ts", "atOnce: 4"], "contract/agents.ts#atOnce", "docs/guides/agents.md: `atOnce` 4"],
  [["settings/options/agents.ts", "depth: 1"], "contract/agents.ts#depth", "docs/guides/agents.md: `depth` 1"],
  [["run/agents/child-input.ts", "DEFAULT_TURNS = 50"], "contract/agents.ts#limits"],
  [["settings/options/agents.ts", "total: 50"], "contract/agents.ts#total", "docs/guides/agents.md: `total` 50"],
  [
    ["run/session/context-setup.ts", "{ at = 0.8"],
    "contract/compaction.ts#at",
    "docs/guides/long-conversations.md: `at` 0.8",
  ],
  [
    ["backends/shared/compaction/meter.ts", "Math.min(40_000, Math.max(4_000"],
    "contract/compaction.ts#keep",
    "docs/guides/long-conversations.md: `keep` 4,000",
  ],
  [["lib/compaction/compacted.ts", "{ through, kept = 0"], "contract/compaction.ts#kept"],
  [
    ["run/offload/offload.ts", "settings.maxPreviewChars ?? 500"],
    "contract/compaction.ts#maxPreviewChars",
    "docs/guides/long-results.md: `maxPreviewChars` 500",
  ],
  [
    ["run/offload/offload.ts", "settings.thresholdBytes ?? 2048"],
    "contract/compaction.ts#thresholdBytes",
    "docs/guides/long-results.md: `thresholdBytes` 2048",
  ],
  [
    ["run/session/context-setup.ts", "ASSUMED_WINDOW = 128_000"],
    "contract/compaction.ts#window",
    "docs/guides/long-conversations.md: `contextTokens` 128,000",
  ],
  [["hosts/node/shell/command-starter.ts", "defaultOutputBytes = 64 * 1024"], "contract/env.ts#maxOutputBytes"],
  [["extensions/mcp/connection.ts", "CALL_MS = 60_000"], "contract/mcp.ts#timeoutMs"],
  [["policy/policies.ts", "askTimeoutMs = 60_000"], "contract/policy.ts#askTimeoutMs"],
  [
    ["journal/journal.ts", "LEASE_MS = 60_000"],
    "contract/runtime.ts#recoverOrphanedRuns",
    "docs/guides/deploy.md: 60 seconds",
  ],
  [
    ["policy/service/client.ts", "maxToolOutputBytes = 65_536"],
    "policy/service/options.ts#maxToolOutputBytes",
    "docs/policy-service.md: `maxToolOutputBytes` 65,536",
  ],
  [
    ["policy/service/client.ts", "timeoutMs = 10_000"],
    "policy/service/options.ts#timeoutMs",
    "docs/policy-service.md: `timeoutMs` 10 s",
  ],
  [["tools/tasks.ts", "options.maxRuns ?? 1000"], "tools/tasks.ts#maxRuns"],
  [
    ["tools/kernel/dispatch.ts", "maxOutputBytes = 256 * 1024"],
    "tools/kernel/dispatch.ts#maxOutputBytes",
    "hosts/node/agent-tools.ts#maxOutputBytes",
    "docs/guides/when-a-limit-is-reached.md: 256 KB",
    "docs/guides/write-a-tool.md: 256 KB",
  ],
  [
    ["tools/kernel/dispatch.ts", "maxCharacters = 100_000"],
    "tools/kernel/dispatch.ts#maxCharacters",
    "hosts/node/agent-tools.ts#maxCharacters",
    "docs/guides/when-a-limit-is-reached.md: 100,000 characters",
    "docs/guides/write-a-tool.md: 100,000 characters",
  ],
  [["tools/bash.ts", "defaultOutputBytes = 32 * 1024"], "tools/bash.ts#maxOutputBytes"],
  [
    ["extensions/api/service.ts", "DEFAULT_BYTES = 256 * 1024"],
    "extensions/api/service.ts#maxBodyBytes",
    "extensions/api/service.ts#maxResponseBytes",
    "docs/guides/apis.md: `maxResponseBytes` 256 KB",
  ],
  [
    ["extensions/api/service.ts", "service.timeoutMs ?? 30_000"],
    "extensions/api/service.ts#timeoutMs",
    "docs/guides/apis.md: `timeoutMs` 30 s",
  ],
  [["extensions/agents-md/index.ts", "MAX_BYTES = 32 * 1024"], "extensions/agents-md/index.ts#maxBytes"],
  [
    ["extensions/knowledge/tools.ts", "DEFAULT_RESULTS = 5"],
    "extensions/knowledge/options.ts#maxSearchResults",
    "extensions/knowledge/tools.ts#maxSearchResults",
  ],
  [
    ["extensions/knowledge/tools.ts", "DEFAULT_BYTES = 10_000"],
    "extensions/knowledge/options.ts#maxReadBytes",
    "extensions/knowledge/tools.ts#maxReadBytes",
  ],
  [
    ["extensions/memory/index.ts", "maxItems = 500"],
    "extensions/memory/index.ts#maxItems",
    "docs/guides/memory.md: `maxItems` 500",
  ],
  [
    ["extensions/memory/remembered.ts", "profile = 2_000"],
    "extensions/memory/remembered.ts#profile",
    "docs/guides/memory.md: `allowRules` 2,000 tokens",
  ],
  [["extensions/memory/remembered.ts", "lessons = 1_500"], "extensions/memory/remembered.ts#lessons"],
  [
    ["hosts/node/http/connect-limit.ts", "defaultConnectTimeoutMs = 10_000"],
    "hosts/node/http/connect-limit.ts#connectTimeoutMs",
  ],
  [["hosts/node/http/guarded-fetch.ts", "maxRedirects = 5"], "hosts/node/http/guarded-fetch.ts#maxRedirects"],
  [["hosts/node/http/serve.ts", "{ port = 0"], "hosts/node/http/serve.ts#port", "hosts/node/mcp/http.ts#port"],
  [["hosts/node/mcp/http.ts", "idleMs = 600_000"], "hosts/node/mcp/http.ts#idleMs", "docs/guides/mcp.md: ten minutes"],
  [
    ["hosts/node/mcp/http.ts", "maxBodyBytes = 10 * 1024 ** 2"],
    "hosts/node/mcp/http.ts#maxBodyBytes",
    "docs/guides/mcp.md: 10 MB",
  ],
  [["hosts/node/mcp/http.ts", "maxSessions = 64"], "hosts/node/mcp/http.ts#maxSessions"],
  [
    ["hosts/node/shell/shell-settings.ts", "maxSpillBytes = 1024 ** 3"],
    "hosts/node/shell/shell-options.ts#maxSpillBytes",
  ],
  [
    ["stores/s3/options.ts", "timeoutMs = 20_000"],
    "stores/s3/options.ts#timeoutMs",
    "docs/guides/object-storage.md: `timeoutMs` 20,000",
  ],
  [["testing/simulated.ts", "given.deltaSize ?? 12"], "testing/simulated.ts#deltaSize"],
  [["webhooks/verify.ts", "toleranceSeconds = 300"], "webhooks/verify.ts#toleranceSeconds"],
  [
    ["backends/shared/compaction/index.ts", "USUAL_OUTPUT_TOKENS = 8_192"],
    "backends/shared/compaction/index.ts#answerTokens",
  ],
  [
    ["settings/config/config.ts", "defaultLimits: Limits = { turns: 100"],
    "docs/guides/limits.md: `turns` 100",
    "docs/guides/when-a-limit-is-reached.md: `limits.turns` 100",
    "cli/run-options.ts#--max-turns",
  ],
  [["cli/config/settings.ts", "defaultTurns = 100"], "docs/guides/use-the-command-line.md: 100 turns"],
  [
    ["cli/commands/crashtest.ts", 'numberOption("kills", values.kills, whole) ?? 100'],
    "cli/commands/crashtest.ts#--kills",
  ],
  [["cli/knowledge/search.ts", "whole: true }) ?? 5"], "cli/commands/knowledge.ts#--limit"],
  [["cli/commands/recover.ts", "whole: false }) ?? 60"], "cli/commands/recover.ts#--stale"],
  [["cli/commands/runs.ts", "whole: true }) ?? 20"], "cli/commands/runs.ts#--limit"],
  [["lib/html/html-to-text.ts", "maxCharacters = 1_000_000"], "lib/html/html-to-text.ts#maxCharacters"],
  [["settings/tools/fetch-data.ts", "MAX_BYTES = 256 * 1024"], "docs/guides/long-results.md: `ref` 256 KB"],
  [
    ["settings/tools/fetch-data.ts", "MAX_CHARACTERS = 100_000"],
    "docs/guides/long-results.md: `ref` 100,000 characters",
  ],
  [
    ["lib/retry.ts", "defaultRetry: RetryPolicy = { attempts: 6"],
    "docs/errors.md: six attempts",
    "docs/errors.md: `overloaded` six times",
    "docs/guides/models.md: six attempts",
    "docs/guides/when-a-limit-is-reached.md: `native({ retry })` six",
    "docs/guides/when-a-limit-is-reached.md: `native({ retry })` six attempts",
  ],
  [
    ["lib/retry.ts", "MAX_ASKED_MS = 120_000"],
    "docs/errors.md: `Retry-After` two minutes",
    "docs/guides/models.md: `Retry-After` two minutes",
  ],
  [
    ["backends/native/loop.ts", "MAX_CUTS = 3"],
    "docs/errors.md: `output_limit` three requests",
    "docs/guides/when-a-limit-is-reached.md: `maxOutputTokens` three times",
  ],
  [["lib/schema/argument-size.ts", "MAX_MEMBERS = 50_000"], "SECURITY.md: 50,000 keys"],
  [["lib/schema/argument-size.ts", "MAX_CHARACTERS = 16 * 1024 * 1024"], "SECURITY.md: 16 Mi"],
  [["tools/read/read-pdf.ts", "MAX_PDF_BYTES = 20 * 1024 * 1024"], "SECURITY.md: 20 MB"],
  [["tools/read/read-pdf.ts", "MAX_UNPACKED_BYTES = 256 * 1024 * 1024"], "SECURITY.md: 256 MB"],
  [["tools/read/read-pdf.ts", "MAX_PDF_PAGES = 20"], "SECURITY.md: 20 pages"],
  [["tools/read/read-pdf.ts", "TIMEOUT_MS = 30_000"], "SECURITY.md: 30 seconds"],
  [["policy/redact/secret-values.ts", "MIN_SECRET_LENGTH = 4"], "SECURITY.md: 4 characters"],
  [["extensions/knowledge/external.ts", "MIN_SECRET_LENGTH = 8"], "docs/guides/knowledge.md: eight characters"],
  [["extensions/knowledge/catalogue.ts", "MAX_DOCUMENT_BYTES = 20 * 1024 * 1024"], "docs/guides/knowledge.md: 20 MB"],
  [["run/state/monitor-runs.ts", "TICK_MS = 500", "BEAT_TICKS = 40"], "docs/guides/deploy.md: 20 seconds"],
  [["run/state/monitor-runs.ts", "TICK_MS = 500", "SLOW_POLL_TICKS = 10"], "docs/guides/object-storage.md: 5 seconds"],
  [["extensions/mcp/start-time.ts", "START_MS = 60_000"], "docs/guides/mcp-servers.md: 60 seconds"],
  [["extensions/mcp/asked-call.ts", "MAX_STATE_BYTES = 64 * 1024"], "docs/guides/mcp-servers.md: 64 KB"],
  [["extensions/mcp/asked-call.ts", "MAX_LEGS = 10"], "docs/guides/mcp-servers.md: 10 questions"],
  [["extensions/mcp/questions.ts", "MAX_FIELDS = 20"], "docs/guides/mcp-servers.md: 20 fields"],
  [
    ["settings/input/attachments.ts", "MAX_BYTES = 32 * 1024 * 1024"],
    "docs/guides/models.md: `{ data, mediaType, name? }` 32 MB",
  ],
  [["hosts/node/http/idle.ts", "defaultIdleLimits: IdleLimits = { idleMs: 10_000"], "docs/guides/models.md: 10 s"],
  [["stores/s3/client.ts", "attempts = 4"], "docs/guides/object-storage.md: four times"],
  [["stores/s3/multipart.ts", "PART_BYTES = 8 * 1024 * 1024"], "docs/guides/object-storage.md: 8 MB"],
  [["journal/row.ts", "READS_AHEAD = 64"], "docs/guides/object-storage.md: 64 requests"],
  [["policy/pipeline.ts", "MAX_ROUNDS = 3"], "docs/guides/policy.md: `ask` three times"],
  [["journal/recent-calls.ts", "MAX_CALLS = 1000"], "docs/guides/runs-that-go-on-for-days.md: 1,000 calls"],
  [["webhooks/schedule.ts", "DELAYS_MS: readonly number[] = [0, 10_000"], "docs/guides/webhooks.md: 10 s"],
  [["webhooks/schedule.ts", "[0, 10_000, 60_000"], "docs/guides/webhooks.md: 60 s"],
  [["webhooks/schedule.ts", "60_000, 300_000"], "docs/guides/webhooks.md: 5 min"],
  [["webhooks/schedule.ts", "300_000, 1_800_000"], "docs/guides/webhooks.md: 30 min"],
  [["webhooks/schedule.ts", "REQUEST_TIMEOUT_MS = 30_000"], "docs/guides/webhooks.md: 30 s"],
  [["cli/commands/crashtest.ts", 'numberOption("seed", values.seed, whole) ?? 1'], "cli/commands/crashtest.ts#--seed"],
  [["backends/native/index.ts", "CAPPED_OUTPUT_TOKENS = 32_000"], "docs/guides/limits.md: 32,000 tokens"],
  [["cli/task-input.ts", "mostShown = 256 * 1024"], "docs/guides/use-the-command-line.md: 256 KB"],
  [["run/calls/call-question.ts", "MAX_QUESTIONS = 10"], "docs/guides/write-a-tool.md: 10 questions"],
]

/** Documented numbers that are no constant of this code, each with the reason. */
const others: Readonly<Record<string, string>> = {
  "SECURITY.md: `secrets` 7 characters":
    'below 8: src/policy/redact/redactor.test.ts "a secret of 4 to 7 characters is masked"',
  "SECURITY.md: seven characters": "below the 8 of calls/call-progress.ts",
  "SECURITY.md: three times": "the layers of JSON that lib/text/secret-forms.ts writes out",
  "docs/guides/backends.md: `limits.timeMs` ten attempts": "made by Gemini CLI",
  "docs/guides/limits.md: 4,096 tokens": "an example that is executed",
  "docs/guides/limits.md: five minutes": "an example that is executed",
  "docs/guides/limits.md: ten turns": "an example that is executed",
  "docs/guides/object-storage.md: `test/s3-requests.test.ts` three requests": "asserted by the test that it names",
  "docs/guides/object-storage.md: 400 turns": "a measured example",
  "docs/guides/runs-that-go-on-for-days.md: 10,000 turns": "the name of a benchmark",
  "docs/guides/webhooks.md: `verifyWebhook` five minutes":
    "the 300 seconds of `toleranceSeconds`, which its comment has",
  "docs/guides/write-a-tool.md: 3.75 MB": "three quarters of tools/media.ts, which counts base64",
  "docs/policy-service.md: 100000 bytes": "an example",
}

test("every number that comments, help texts and guides document is in the code, with the same value", () => {
  const documented = documentedNumbers()
  const known = places.flatMap(([, ...names]) => names)
  expect([...documented.keys()].toSorted()).toEqual([...known, ...Object.keys(others)].toSorted())
  for (const [[file, ...texts], ...names] of places) {
    const value = texts.reduce((product, text) => product * valueAtEnd(text), 1)
    for (const text of texts) expect(occurrences(textOf(`src/${file}`), text), `${text} in ${file}`).toBe(1)
    for (const name of names) expect([name, figureOf(documented.get(name) ?? "")]).toEqual([name, value])
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
