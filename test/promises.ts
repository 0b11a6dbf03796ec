/**
 * A promised behaviour. Without `proof` it is not implemented yet; a proof is a test file, and part of the name of a test or,
 * for all tests that have the id as a tag, the id.
 */
export interface Promised {
  readonly id: string
  readonly text: string
  readonly proof?: readonly (readonly [file: string, test: string])[]
}

export const promises: readonly Promised[] = [
  // Backends and models
  {
    id: "BK-01",
    text: "One `run()` works on four external backends: Claude SDK, claude CLI, Pi, Codex app-server",
    proof: [
      ["test/backends/claude-sdk.test.ts", "claude-sdk passes the cases"],
      ["test/backends/claude-cli.test.ts", "claude-cli passes the cases"],
      ["test/backends/pi.test.ts", "pi"],
    ],
  },
  {
    id: "BK-02",
    text: "A Claude model without a mode, or in SDK mode, runs on the Claude SDK",
    proof: [["test/promises/backends.test.ts", "BK-02"]],
  },
  {
    id: "BK-03",
    text: "A Claude model in CLI mode runs on the claude CLI",
    proof: [["test/promises/backends.test.ts", "BK-03"]],
  },
  {
    id: "BK-04",
    text: "A Pi model runs on the Pi SDK in any mode",
    proof: [["test/promises/backends.test.ts", "BK-04"]],
  },
  {
    id: "BK-05",
    text: "A Codex model in CLI mode runs on the Codex app-server",
    proof: [["test/promises/backends.test.ts", "BK-05"]],
  },
  { id: "BK-06", text: "The default execution mode is SDK", proof: [["test/promises/backends.test.ts", "BK-06"]] },
  {
    id: "BK-07",
    text: "A model may be given as an object of backend, model and provider",
    proof: [["test/promises/backends.test.ts", "BK-07"]],
  },
  {
    id: "BK-08",
    text: "A model may be given as a string, and the parser of such names is exported",
    proof: [["src/hosts/node/model-names.test.ts", "BK-08"]],
  },
  {
    id: "BK-09",
    text: "Through Pi: OpenAI, Gemini, Bedrock, OpenRouter, xAI, Groq, Mistral, local servers and more",
    proof: [["test/backends/pi.test.ts", "BK-09"]],
  },
  {
    id: "BK-10",
    text: "The Codex program and its arguments can be replaced",
    proof: [["test/backends/codex/codex.test.ts", "BK-10"]],
  },
  {
    id: "BK-11",
    text: "The transport for Codex models is passed on to Pi",
    proof: [["src/backends/pi/pi.test.ts", "BK-11"]],
  },
  {
    id: "BK-12",
    text: "Node 20 suffices; a CLI is needed on PATH only for its own backend",
    proof: [["test/promises/zero-config.test.ts", "BK-12"]],
  },
  {
    id: "BK-13",
    text: "The registry of backends is exported: resolve, list, capabilities",
    proof: [["test/promises/backends.test.ts", "BK-13"]],
  },
  {
    id: "BK-14",
    text: "Internal parts are importable: the Claude SDK provider, compaction, the tool context",
    proof: [
      ["test/promises/backends.test.ts", "BK-14"],
      [
        "src/backends/shared/compaction/index.test.ts",
        "old turns become a summary, and every call that is left keeps its result",
      ],
      ["src/backends/shared/compaction/index.test.ts", "rejects with compaction_stuck and the fix"],
      ["src/tools/kernel/tool-context.test.ts", "a tool reads its folder, its files and its ids from the context"],
    ],
  },
  {
    id: "BK-15",
    text: "There is a built-in Anthropic provider, and any AI SDK provider works",
    proof: [
      ["src/hosts/node/model-names.test.ts", "BK-15"],
      ["test/providers.test.ts", "$name"],
    ],
  },
  {
    id: "BK-16",
    text: "Any Anthropic-compatible server works with model, key and base URL",
    proof: [["test/promises/zero-config.test.ts", "BK-16"]],
  },
  {
    id: "BK-17",
    text: "A custom fetch can be injected and may rewrite headers",
    proof: [
      ["test/promises/zero-config.test.ts", "BK-17"],
      ["src/providers/anthropic/anthropic.test.ts", "goes through an injected fetch"],
    ],
  },
  {
    id: "BK-18",
    text: "With only ANTHROPIC_API_KEY in the environment, no configuration is needed",
    proof: [["test/promises/zero-config.test.ts", "BK-18"]],
  },
  {
    id: "BK-19",
    text: "No option is required; each has a default and can be overridden",
    proof: [["test/promises/zero-config.test.ts", "BK-19"]],
  },
  {
    id: "BK-20",
    text: "Adapters for Claude Code, Codex, Gemini and native, and a registry open to others",
    proof: [["test/promises/backends.test.ts", "BK-20"]],
  },
  {
    id: "BK-21",
    text: "A backend is chosen by name; `auto` selects one",
    proof: [
      ["test/promises/backends.test.ts", "BK-21"],
      ["test/backend-runtime.test.ts", "BK-21"],
    ],
  },
  {
    id: "BK-22",
    text: "An agent facade takes model, mode, backend and required capabilities, and runs a task",
    proof: [["test/promises/backends.test.ts", "BK-22"]],
  },
  {
    id: "BK-23",
    text: "The Claude adapter states its identity, limits, native tools and prices",
    proof: [["test/promises/backends.test.ts", "BK-23"]],
  },
  {
    id: "BK-24",
    text: "The native backend states its identity; it runs tools in parallel (settled question 16)",
    proof: [["test/promises/backends.test.ts", "BK-24"]],
  },
  {
    id: "BK-25",
    text: "A CLI backend reports that it cannot run on the edge",
    proof: [["test/promises/backends.test.ts", "BK-25"]],
  },
  // Capabilities
  {
    id: "CAP-01",
    text: "A capability record names backend, provider and version",
    proof: [["test/promises/backends.test.ts", "CAP-01"]],
  },
  {
    id: "CAP-02",
    text: "Nine yes/no capabilities with defaults",
    proof: [["test/promises/backends.test.ts", "CAP-02"]],
  },
  {
    id: "CAP-03",
    text: "Context and output limits with defaults",
    proof: [["test/promises/backends.test.ts", "CAP-03"]],
  },
  {
    id: "CAP-04",
    text: "The list of native tools, empty by default",
    proof: [["test/promises/backends.test.ts", "CAP-04"]],
  },
  {
    id: "CAP-05",
    text: "Prices per thousand tokens with defaults",
    proof: [["test/promises/backends.test.ts", "CAP-05"]],
  },
  {
    id: "CAP-06",
    text: "Typical latency and cold start with defaults",
    proof: [["test/promises/backends.test.ts", "CAP-06"]],
  },
  {
    id: "CAP-07",
    text: "`supports` accepts nine names and returns false for any other",
    proof: [["src/settings/backends/select.test.ts", "CAP-07"]],
  },
  {
    id: "CAP-08",
    text: "Requirements are met only if every one is supported",
    proof: [["src/settings/backends/select.test.ts", "CAP-08"]],
  },
  {
    id: "CAP-09",
    text: "Tools that a backend cannot support can be dropped before it runs",
    proof: [["test/promises/backends.test.ts", "CAP-09"]],
  },
  {
    id: "CAP-10",
    text: "Static capabilities are reported per backend",
    proof: [
      ["test/backend-runtime.test.ts", "CAP-10"],
      ["test/promises/backends.test.ts", "BK-13"],
    ],
  },
  {
    id: "CAP-11",
    text: "The result reports the capabilities that a run actually used",
    proof: [
      ["test/promises/controls.test.ts", "CAP-11"],
      ["test/offload.test.ts", "CAP-11"],
      ["test/agents.test.ts", "CAP-11"],
    ],
  },
  {
    id: "CAP-12",
    text: "An unknown capability is null, not false, except for two plain booleans",
    proof: [["test/promises/controls.test.ts", "CAP-12"]],
  },
  {
    id: "CAP-13",
    text: "An event near the end contains the same capabilities",
    proof: [["test/promises/backends.test.ts", "CAP-13"]],
  },
  {
    id: "CAP-14",
    text: "A chain entry whose requirements are not met is skipped",
    proof: [["test/failover.test.ts", "CAP-14"]],
  },
  { id: "CAP-15", text: "The result lists stubbed tools that the model tried to call" },
  // Selection
  {
    id: "SEL-01",
    text: "There are four selection strategies; capability match is the default",
    proof: [["src/settings/backends/select.test.ts", "SEL-01"]],
  },
  {
    id: "SEL-02",
    text: "The preferred backend is chosen if it is registered and capable",
    proof: [["src/settings/backends/select.test.ts", "SEL-02"]],
  },
  {
    id: "SEL-03",
    text: "Requirements are inferred from the names of tools",
    proof: [["src/settings/backends/select.test.ts", "SEL-03"]],
  },
  {
    id: "SEL-04",
    text: "Requirements are inferred from the words of the task",
    proof: [["src/settings/backends/select.test.ts", "SEL-04"]],
  },
  {
    id: "SEL-05",
    text: "Inferred requirements are listed once",
    proof: [["src/settings/backends/select.test.ts", "SEL-05"]],
  },
  {
    id: "SEL-06",
    text: "The cheapest capable backend can be chosen",
    proof: [["src/settings/backends/select.test.ts", "SEL-06"]],
  },
  {
    id: "SEL-07",
    text: "The fastest capable backend can be chosen",
    proof: [["src/settings/backends/select.test.ts", "SEL-07"]],
  },
  {
    id: "SEL-08",
    text: "Otherwise the first capable backend in order of registration is chosen",
    proof: [["src/settings/backends/select.test.ts", "SEL-08"]],
  },
  {
    id: "SEL-09",
    text: "If no backend is capable, the native backend runs",
    proof: [["src/settings/backends/select.test.ts", "SEL-09"]],
  },
  {
    id: "SEL-10",
    text: "The caller's requirements are added to the inferred ones",
    proof: [["src/settings/backends/select.test.ts", "SEL-10"]],
  },
  // The host
  {
    id: "HOST-01",
    text: "Every key of createRuntime is optional",
    proof: [
      ["test/promises/zero-config.test.ts", "HOST-01"],
      ["src/runtime/runtime.test.ts", "createRuntime needs no configuration"],
    ],
  },
  {
    id: "HOST-02",
    text: "A host can provide its own prices",
    proof: [["src/run/state/ledger.test.ts", "HOST-02"]],
  },
  {
    id: "HOST-03",
    text: "A host can provide keys for Pi's providers",
    proof: [["src/backends/pi/pi.test.ts", "HOST-03"]],
  },
  {
    id: "HOST-04",
    text: "A host can store artifacts at a location of its choice",
    proof: [["src/run/calls/overflow.test.ts", "HOST-04"]],
  },
  {
    id: "HOST-05",
    text: "A host is notified of each compaction, with the run's id",
    proof: [["test/compaction-runtime.test.ts", "HOST-05"]],
  },
  {
    id: "HOST-06",
    text: "There are a primary and a secondary allowed root",
    proof: [["src/hosts/node/agent-tools.test.ts", "HOST-06"]],
  },
  {
    id: "HOST-07",
    text: "ripgrep is taken from the configured path, else the bundled one, else PATH",
    proof: [["src/hosts/node/search/ripgrep.test.ts", "HOST-07"]],
  },
  {
    id: "HOST-08",
    text: "Browser artifacts are stored in a folder per run, else in a fallback folder",
    proof: [["test/mcp-definitions.test.ts", "HOST-08"]],
  },
  {
    id: "HOST-09",
    text: "There can be several observers, and each receives every event",
    proof: [["test/promises/controls.test.ts", "HOST-09"]],
  },
  {
    id: "HOST-10",
    text: "Approval callback, tiers, default tier, timeout and allow-list",
    proof: [
      ["test/promises/approvals.test.ts", "a callback receives the complete question"],
      ["test/promises/approvals.test.ts", "ask: pause"],
    ],
  },
  {
    id: "HOST-11",
    text: "Nine brand strings, each with a default",
    proof: [["test/promises/zero-config.test.ts", "HOST-11"]],
  },
  {
    id: "HOST-12",
    text: "Changing the brand changes every visible identity",
    proof: [["test/backends/codex/codex.test.ts", "HOST-12"]],
  },
  {
    id: "HOST-13",
    text: "Settings can be changed after construction (by another runtime over the same store)",
    proof: [["test/promises/controls.test.ts", "HOST-13"]],
  },
  {
    id: "HOST-14",
    text: "Text and structured output are returned raw; the host interprets them",
    proof: [["test/promises/results.test.ts", "HOST-14"]],
  },
  {
    id: "HOST-15",
    text: "There is a runnable example of a consumer: one turn, Bash, the result printed",
    proof: [["test/examples.test.ts", "HOST-15"]],
  },
  // Inputs of a run
  {
    id: "RUN-01",
    text: "A run needs a model",
    proof: [["src/runtime/runtime.test.ts", "a run without a model fails with a fix"]],
  },
  {
    id: "RUN-02",
    text: "A conversation can be passed as history",
    proof: [["src/runtime/runtime.test.ts", "a run accepts a conversation instead of a task, or both"]],
  },
  { id: "RUN-03", text: "`cwd` is where the tools work", proof: [["test/promises/layout.test.ts", "RUN-03"]] },
  {
    id: "RUN-04",
    text: "All tools are allowed by default; a block list removes some",
    proof: [["test/promises/controls.test.ts", "RUN-04"]],
  },
  {
    id: "RUN-05",
    text: "MCP servers by name over stdio, SSE or HTTP",
    proof: [
      ["test/mcp-client.test.ts", "RUN-05"],
      ["test/extensions/real-servers.test.ts", "echoes, adds"],
    ],
  },
  {
    id: "RUN-06",
    text: "The turn limit is hard",
    proof: [["src/runtime/runtime.test.ts", "the turn limit ends the run as max_turns"]],
  },
  {
    id: "RUN-07",
    text: "A schema gives a structured result",
    proof: [["test/promises/controls.test.ts", "RUN-07"]],
  },
  {
    id: "RUN-08",
    text: "An abort signal cancels the run",
    proof: [
      [
        "src/runtime/runtime.test.ts",
        "a signal cancels immediately: the partial text is in the result, not in the conversation",
      ],
      ["src/runtime/runtime.test.ts", "an already aborted signal cancels before the first model call"],
    ],
  },
  {
    id: "RUN-09",
    text: "Messages sent to an active run steer it",
    proof: [["test/promises/controls.test.ts", "RUN-09"]],
  },
  {
    id: "RUN-10",
    text: "A listener receives every event, in addition to other listeners",
    proof: [
      [
        "src/runtime/runtime.test.ts",
        "events arrive in order, records before the deltas that follow them; the handle ends after the last",
      ],
      ["src/runtime/runtime.test.ts", "a listener that throws affects neither the run nor other listeners"],
    ],
  },
  {
    id: "RUN-11",
    text: "The run's id appears in tool contexts, records and idempotency keys",
    proof: [["test/promises/results.test.ts", "RUN-11"]],
  },
  {
    id: "RUN-12",
    text: "An earlier provider session can be continued",
    proof: [["test/promises/backends.test.ts", "RUN-12"]],
  },
  {
    id: "RUN-13",
    text: "Tool output over the limit is stored in a folder per run",
    proof: [["src/hosts/node/store/artifacts.test.ts", "RUN-13"]],
  },
  {
    id: "RUN-14",
    text: "A run takes node, task, id and its overrides (the fields built so far)",
    proof: [
      [
        "src/runtime/runtime.test.ts",
        "a run without an id gets run_<uuid>; a used id is rejected and the first run is unaffected",
      ],
      ["test/promises/results.test.ts", "RES-06"],
    ],
  },
  {
    id: "RUN-15",
    text: "Without an id a run gets run_<uuid>",
    proof: [["src/runtime/runtime.test.ts", "without an id gets run_<uuid>"]],
  },
  {
    id: "RUN-16",
    text: "The result is text by default; JSON is parsed and validated",
    proof: [["test/promises/controls.test.ts", "RUN-16"]],
  },
  {
    id: "RUN-17",
    text: "The context of a run: task, session, tools, memory, prompt, history, constraints, mode",
    proof: [
      ["test/promises/context.test.ts", "RUN-17"],
      ["test/promises/approvals.test.ts", "RUN-17"],
    ],
  },
  {
    id: "RUN-18",
    text: "There is a conservative preset of limits",
    proof: [["test/docs.test.ts", "$name runs and prints the documented output"]],
  },
  {
    id: "RUN-19",
    text: "Permission mode auto, ask or deny",
    proof: [["test/promises/approvals.test.ts", "RUN-19"]],
  },
  {
    id: "RUN-20",
    text: "A default working directory for the Claude adapter",
    proof: [["test/promises/backends.test.ts", "RUN-20"]],
  },
  {
    id: "RUN-21",
    text: "Progress is reported as sentences",
    proof: [["test/promises/controls.test.ts", "RUN-21"]],
  },
  {
    id: "RUN-22",
    text: "The text of a run can be streamed",
    proof: [["src/runtime/runtime.test.ts", "text() yields the model's text as it streams"]],
  },
  {
    id: "RUN-23",
    text: "A run can be interrupted gracefully or immediately",
    proof: [["test/promises/controls.test.ts", "RUN-23"]],
  },
  // Results
  {
    id: "RES-01",
    text: "A result has text, usage, times, model, session, error, warnings and used capabilities",
    proof: [["test/promises/results.test.ts", "RES-01"]],
  },
  {
    id: "RES-02",
    text: "Usage has four token buckets and a cost",
    proof: [["test/promises/results.test.ts", "RES-02"]],
  },
  {
    id: "RES-03",
    text: "A structured result names its source",
    proof: [["test/promises/controls.test.ts", "RES-03"]],
  },
  { id: "RES-04", text: "One flat shape for every status", proof: [["test/promises/results.test.ts", "RES-04"]] },
  {
    id: "RES-05",
    text: "Statuses are done, paused, failed, and outside results queued, running, cancelled, not found",
    proof: [["src/run/durable.test.ts", "RES-05"]],
  },
  {
    id: "RES-06",
    text: "A result has node, turns, tokens, duration and the transcript with its last shard",
    proof: [["test/promises/results.test.ts", "RES-06"]],
  },
  { id: "RES-07", text: "Done with text: data is that text", proof: [["test/promises/results.test.ts", "RES-07"]] },
  {
    id: "RES-08",
    text: "Done with JSON: data is the parsed value, and the raw text is kept",
    proof: [["test/promises/controls.test.ts", "RES-08"]],
  },
  {
    id: "RES-09",
    text: "Paused: the pending call, the reason and what a human must review",
    proof: [["src/run/resume.test.ts", "RES-09"]],
  },
  {
    id: "RES-10",
    text: "Failed: no data, an error with code and message",
    proof: [["test/promises/results.test.ts", "RES-10"]],
  },
  {
    id: "RES-11",
    text: "`error` is present only if the run did not succeed; times are Unix milliseconds",
    proof: [["test/promises/results.test.ts", "RES-11"]],
  },
  {
    id: "RES-12",
    text: "Output, status, calls, tokens, cost, turns, duration, backend, model, session, error are reported",
    proof: [["test/promises/results.test.ts", "RES-12"]],
  },
  {
    id: "RES-13",
    text: "Complete, interrupted, error, turn limit, budget and timeout are distinguishable",
    proof: [["test/promises/results.test.ts", "RES-13"]],
  },
  {
    id: "RES-14",
    text: "A call's record: name, arguments, result, status, duration, error",
    proof: [
      ["test/promises/results.test.ts", "RES-14"],
      ["test/promises/results.test.ts", "a call that never started is denied, one that was stopped midway is unknown"],
    ],
  },
  {
    id: "RES-15",
    text: "Every backend's native result is converted to this one",
    proof: [
      ["test/backend-runtime.test.ts", "RES-15"],
      ["test/backend-conformance.test.ts", "%s"],
    ],
  },
  {
    id: "RES-16",
    text: "An exception of a backend becomes a failed result",
    proof: [["test/backend-runtime.test.ts", "RES-16"]],
  },
  // Failures
  { id: "FAIL-01", text: "A taxonomy of failures", proof: [["test/docs.test.ts", "FAIL-01"]] },
  {
    id: "FAIL-02",
    text: "Rate limits, overload and network are retryable; auth, billing and bad requests are not",
    proof: [["test/promises/backends.test.ts", "FAIL-02"]],
  },
  { id: "FAIL-03", text: "An ordered chain of models to fail over to", proof: [["test/failover.test.ts", "FAIL-05"]] },
  {
    id: "FAIL-04",
    text: "A chain entry is a reference, alone or with requirements",
    proof: [
      ["test/failover.test.ts", "FAIL-11"],
      ["test/promises/backends.test.ts", "%s is parsed"],
    ],
  },
  {
    id: "FAIL-05",
    text: "The result lists the attempts before the one that worked",
    proof: [["test/failover.test.ts", "FAIL-05"]],
  },
  {
    id: "FAIL-06",
    text: "A retryable failure moves on to the next entry and is reported",
    proof: [["test/failover.test.ts", "FAIL-06"]],
  },
  {
    id: "FAIL-07",
    text: "The next provider continues and does not start over",
    proof: [["test/failover.test.ts", "FAIL-07"]],
  },
  {
    id: "FAIL-08",
    text: "A failure that is not retryable ends the run immediately",
    proof: [["test/failover.test.ts", "FAIL-08"]],
  },
  { id: "FAIL-09", text: "A cancelled run does not fail over", proof: [["test/failover.test.ts", "FAIL-09"]] },
  {
    id: "FAIL-10",
    text: "An exhausted chain has its own code and lists every attempt",
    proof: [["test/failover.test.ts", "FAIL-10"]],
  },
  { id: "FAIL-11", text: "A skipped entry is recorded with its reason", proof: [["test/failover.test.ts", "FAIL-11"]] },
  {
    id: "FAIL-12",
    text: "An attempt's record: model, code, request id",
    proof: [["test/failover.test.ts", "FAIL-05"]],
  },
  {
    id: "FAIL-13",
    text: "A run that reaches its turn limit fails as max_turns, not retryable",
    proof: [["src/runtime/runtime.test.ts", "the turn limit ends the run as max_turns"]],
  },
  {
    id: "FAIL-14",
    text: "Output limits end the run after three continuations",
    proof: [["test/promises/controls.test.ts", "FAIL-14"]],
  },
  {
    id: "FAIL-15",
    text: "A run that exceeds its time limit fails as run_timeout",
    proof: [
      [
        "src/runtime/runtime.test.ts",
        "the time limit ends the run as run_timeout; a running tool gets the signal and is reported as unknown",
      ],
    ],
  },
  {
    id: "FAIL-16",
    text: "429 after backoff is rate_limited, retryable",
    proof: [
      ["test/promises/provider-failures.test.ts", "429 is tried six times"],
      ["test/promises/provider-failures.test.ts", "Retry-After"],
    ],
  },
  {
    id: "FAIL-17",
    text: "500, 502 and 503 after retries are provider_error, retryable",
    proof: [["test/promises/provider-failures.test.ts", "FAIL-17"]],
  },
  {
    id: "FAIL-18",
    text: "529 five times in a row is overloaded, retryable",
    proof: [
      [
        "test/promises/provider-failures.test.ts",
        "five 529s in a row fail the run as overloaded, with exactly five requests",
      ],
      ["test/promises/provider-failures.test.ts", "a run with four overloads in a row and then an answer is done"],
    ],
  },
  {
    id: "FAIL-19",
    text: "401 and 403 are auth, not retryable",
    proof: [["test/promises/provider-failures.test.ts", "FAIL-19"]],
  },
  {
    id: "FAIL-20",
    text: "Invalid configuration has its own code",
    proof: [["test/promises/controls.test.ts", "FAIL-20"]],
  },
  {
    id: "FAIL-21",
    text: "A malformed response is stream_malformed, not retryable",
    proof: [["test/promises/provider-failures.test.ts", "FAIL-21"]],
  },
  {
    id: "FAIL-22",
    text: "A stream that ends early is stream_incomplete, retryable",
    proof: [
      ["test/promises/provider-failures.test.ts", "FAIL-22"],
      [
        "test/byte-cut.test.ts",
        "a tool-call stream cut or reset at any byte runs no partial call and ends with a typed error",
      ],
    ],
  },
  {
    id: "FAIL-23",
    text: "An unknown stop reason is unexpected_stop",
    proof: [["test/promises/provider-failures.test.ts", "FAIL-23"]],
  },
  {
    id: "FAIL-24",
    text: "Output that is not JSON fails if JSON was requested",
    proof: [["test/promises/controls.test.ts", "FAIL-24"]],
  },
  {
    id: "FAIL-25",
    text: "Output that does not match its schema fails",
    proof: [["test/promises/controls.test.ts", "FAIL-25"]],
  },
  {
    id: "FAIL-26",
    text: "Both leave a trace for inspection",
    proof: [["test/promises/controls.test.ts", "FAIL-26"]],
  },
  { id: "FAIL-27", text: "Codes for failed runs and resumes, orphans, runners, API bodies and formats" },
  {
    id: "FAIL-28",
    text: "The documentation states for each code whether it is retryable",
    proof: [["test/docs.test.ts", "FAIL-28"]],
  },
  {
    id: "FAIL-29",
    text: "No tool can crash the loop, and the loop never throws",
    proof: [
      ["src/tools/kernel/dispatch-hostile.test.ts", "a tool that"],
      ["src/tools/kernel/dispatch-hostile.test.ts", "dispatch never rejects, whatever a tool throws or returns"],
      [
        "src/runtime/runtime.test.ts",
        "tools that throw, return invalid values, get bad arguments or do not exist give results, and the run continues",
      ],
      ["src/runtime/runtime.test.ts", "a model or backend that violates its contract gives a failed result"],
    ],
  },
  {
    id: "FAIL-30",
    text: "Runs recover from output limits and from requests that are too large",
    proof: [["test/compaction-faults.test.ts", "FAIL-30"]],
  },
  // The loop
  {
    id: "LOOP-01",
    text: "A run opens, executes and closes in this order, and always closes",
    proof: [["test/promises/results.test.ts", "LOOP-01"]],
  },
  {
    id: "LOOP-02",
    text: "Messages are normalised: blanks stripped, roles alternate, calls paired",
    proof: [
      ["src/backends/shared/dialogue.test.ts", "adjacent messages of the same role are merged into one"],
      ["src/backends/shared/dialogue.test.ts", "blank texts and empty messages"],
      [
        "src/backends/shared/dialogue.test.ts",
        "each call has one result: stray results are dropped, missing ones become errors, in call order",
      ],
    ],
  },
  {
    id: "LOOP-03",
    text: "Text, reasoning and calls are collected",
    proof: [
      ["src/providers/anthropic/anthropic.test.ts", "collects reasoning with its signature, text and calls"],
      ["src/runtime/runtime.test.ts", "the journal's messages equal those last sent to the model"],
    ],
  },
  {
    id: "LOOP-04",
    text: "Concurrent tools run in parallel, the others one at a time",
    proof: [
      [
        "src/runtime/runtime.test.ts",
        "tools of one step run in parallel if declared so, otherwise alone, with results in call order",
      ],
    ],
  },
  {
    id: "LOOP-05",
    text: "Results over 100,000 characters are cut",
    proof: [
      ["test/promises/results.test.ts", "LOOP-05"],
      ["src/tools/kernel/output.test.ts", "LOOP-05"],
    ],
  },
  {
    id: "LOOP-06",
    text: "A hook after a turn can end the run",
    proof: [["test/promises/controls.test.ts", "LOOP-06"]],
  },
  {
    id: "LOOP-07",
    text: "Subagents are bounded in depth and kept in the same shape",
    proof: [
      ["test/agents.test.ts", "an agent's journal has the same form"],
      ["test/agents.test.ts", "the tool Agent is not offered at the last depth"],
      ["test/agents-crash.test.ts", "LOOP-07"],
      ["test/agents-background.test.ts", "LOOP-07"],
    ],
  },
  {
    id: "LOOP-08",
    text: "A child's gated call can pause the parent",
    proof: [
      ["test/agents.test.ts", "a gated call of an agent pauses the run"],
      ["test/agents.test.ts", "a gated call of an agent is denied with `gates: deny`"],
      ["test/agents-processes.test.ts", "LOOP-08"],
      ["test/agents-background.test.ts", "a gated call pauses the run once nothing else works"],
    ],
  },
  {
    id: "LOOP-09",
    text: "There is a token budget, which includes sampling",
    proof: [["src/run/state/ledger.test.ts", "LOOP-09"]],
  },
  {
    id: "LOOP-10",
    text: "The budget is checked before each model call",
    proof: [["src/run/state/ledger.test.ts", "LOOP-10"]],
  },
  {
    id: "LOOP-11",
    text: "An answer without calls ends the run as done, with its turns counted",
    proof: [["test/promises/results.test.ts", "LOOP-11"]],
  },
  {
    id: "LOOP-12",
    text: "The turn limit is reported with a message",
    proof: [["test/promises/results.test.ts", "LOOP-12"]],
  },
  {
    id: "LOOP-13",
    text: "A result is returned to the model as role tool with the call's id",
    proof: [["test/promises/results.test.ts", "LOOP-13"]],
  },
  {
    id: "LOOP-14",
    text: "A tool's exception becomes an error result, and the loop continues",
    proof: [
      ["src/tools/kernel/dispatch.test.ts", "LOOP-14"],
      [
        "src/runtime/runtime.test.ts",
        "tools that throw, return invalid values, get bad arguments or do not exist give results, and the run continues",
      ],
    ],
  },
  // Tools
  {
    id: "TOOL-01",
    text: "Built-in tools, chosen by name",
    proof: [["src/tools/index.test.ts", "TOOL-01"]],
  },
  {
    id: "TOOL-02",
    text: "Paths outside the allowed roots are rejected",
    proof: [["src/hosts/node/agent-tools.test.ts", "TOOL-02"]],
  },
  {
    id: "TOOL-03",
    text: "Long output is cut, and can be saved as an artifact",
    proof: [["src/run/calls/overflow.test.ts", "TOOL-03"]],
  },
  {
    id: "TOOL-04",
    text: "The error for a missing ripgrep names the doctor command",
    proof: [["src/hosts/node/search/ripgrep.test.ts", "TOOL-04"]],
  },
  { id: "TOOL-05", text: "Twenty-two built-in tools", proof: [["test/tools-table.test.ts", "TOOL-05"]] },
  { id: "TOOL-06", text: "Four tools exist only if configured", proof: [["test/tools-table.test.ts", "TOOL-06"]] },
  {
    id: "TOOL-07",
    text: "Tools that are safe to run in parallel are listed",
    proof: [["test/tools-table.test.ts", "TOOL-07"]],
  },
  {
    id: "TOOL-08",
    text: "Bash runs in a shell, on Node only",
    proof: [
      ["src/hosts/node/shell/shell.test.ts", "TOOL-08"],
      ["src/tools/bash.test.ts", "TOOL-08"],
    ],
  },
  {
    id: "TOOL-09",
    text: "Read numbers lines, and reads PDFs and images",
    proof: [
      ["src/tools/read/read.test.ts", "TOOL-09"],
      ["src/tools/read/read-media.test.ts", "TOOL-09"],
    ],
  },
  {
    id: "TOOL-10",
    text: "Write is atomic",
    proof: [["src/hosts/node/files/files.test.ts", "TOOL-10"]],
  },
  {
    id: "TOOL-11",
    text: "Edit replaces text that is unique",
    proof: [["src/tools/edit/edit.test.ts", "TOOL-11"]],
  },
  {
    id: "TOOL-12",
    text: "Grep uses ripgrep if available, else its own implementation",
    proof: [["test/search.test.ts", "TOOL-12"]],
  },
  {
    id: "TOOL-13",
    text: "Web pages are converted to text; the web can be searched",
    proof: [
      ["src/hosts/node/http/guarded-fetch-refusals.test.ts", "TOOL-13"],
      ["src/tools/web/web-fetch.test.ts", "TOOL-13"],
      ["src/tools/web/web-search.test.ts", "TOOL-13"],
    ],
  },
  {
    id: "TOOL-14",
    text: "Messages between agents, sleep, and a search for tools",
    proof: [
      ["test/agents.test.ts", "TOOL-14"],
      ["src/tools/sleep.test.ts", "TOOL-14"],
      ["src/tools/tool-search.test.ts", "TOOL-14"],
    ],
  },
  {
    id: "TOOL-15",
    text: "Notebooks can be edited",
    proof: [["src/tools/edit/notebook-edit.test.ts", "TOOL-15"]],
  },
  {
    id: "TOOL-16",
    text: "Custom tools can be added, and any tool can be disabled",
    proof: [
      ["src/tools/kernel/dispatch.test.ts", "TOOL-16"],
      [
        "src/runtime/runtime.test.ts",
        "tools of a run are added to the runtime's; disabled tools are neither offered nor run",
      ],
    ],
  },
  {
    id: "TOOL-17",
    text: "Bash is not available unless the host adds it",
    proof: [["src/tools/bash.test.ts", "TOOL-17"]],
  },
  {
    id: "TOOL-18",
    text: "A stub offers a tool without running it",
    proof: [["src/tools/kernel/capability-stub.test.ts", "TOOL-18"]],
  },
  {
    id: "TOOL-19",
    text: "There are nine kernel tools, four of them read-only",
    proof: [["src/hosts/node/agent-tools.test.ts", "TOOL-19"]],
  },
  {
    id: "TOOL-20",
    text: "The read-only tools are exactly those four",
    proof: [["src/hosts/node/agent-tools.test.ts", "TOOL-20"]],
  },
  {
    id: "TOOL-21",
    text: "The listed tools are exactly those that can be called",
    proof: [["src/tools/kernel/dispatch.test.ts", "TOOL-21"]],
  },
  {
    id: "TOOL-22",
    text: "An unknown or hidden tool is a not_found result, never an exception",
    proof: [["src/tools/kernel/dispatch.test.ts", "TOOL-22"]],
  },
  {
    id: "TOOL-23",
    text: "Arguments are validated, every issue is reported, and defaults are filled in",
    proof: [
      ["src/tools/kernel/dispatch.test.ts", "TOOL-23"],
      ["src/tools/kernel/validate.test.ts", "validation collects every issue, one line each: path, then problem"],
      ["src/tools/kernel/validate.test.ts", "validation fills in defaults, also in nested objects and items"],
    ],
  },
  {
    id: "TOOL-24",
    text: "A tool receives its arguments and its context",
    proof: [["src/tools/kernel/dispatch.test.ts", "TOOL-24"]],
  },
  {
    id: "TOOL-25",
    text: "Results are cut at a byte limit, on a character boundary",
    proof: [
      ["src/tools/kernel/output.test.ts", "TOOL-25"],
      ["src/lib/truncate.test.ts", "TOOL-25"],
    ],
  },
  {
    id: "TOOL-26",
    text: "A tool that limits its own output is not cut again; Bash writes the rest to disk",
    proof: [
      ["src/tools/bash.test.ts", "TOOL-26"],
      ["src/hosts/node/shell/shell-output.test.ts", "TOOL-26"],
    ],
  },
  {
    id: "TOOL-27",
    text: "Outcomes are a flag and text; tool errors are JSON envelopes, other exceptions are generic",
    proof: [
      ["src/tools/kernel/dispatch.test.ts", "a ToolError"],
      ["src/tools/kernel/dispatch.test.ts", "TOOL-27"],
    ],
  },
  {
    id: "TOOL-28",
    text: "The kernel configuration is resolved once and frozen",
    proof: [["src/hosts/node/agent-tools.test.ts", "TOOL-28"]],
  },
  {
    id: "TOOL-29",
    text: "An invalid configuration fails immediately",
    proof: [["src/hosts/node/agent-tools.test.ts", "TOOL-29"]],
  },
  {
    id: "TOOL-30",
    text: "Dispatch keeps no state, so calls can run in parallel",
    proof: [["src/hosts/node/agent-tools.test.ts", "TOOL-30"]],
  },
  {
    id: "TOOL-31",
    text: "Writes go to a temporary file and are renamed",
    proof: [["src/hosts/node/files/files.test.ts", "TOOL-31"]],
  },
  {
    id: "TOOL-32",
    text: "A patch is applied as a whole or not at all",
    proof: [
      ["test/commit-crash.test.ts", "TOOL-32"],
      ["src/tools/patch/apply-patch-whole.test.ts", "TOOL-32"],
    ],
  },
  {
    id: "TOOL-33",
    text: "Writes to one path are serialised within a process",
    proof: [
      ["src/hosts/node/agent-tools.test.ts", "TOOL-33"],
      ["src/tools/patch/apply-patch-whole.test.ts", "TOOL-33"],
    ],
  },
  {
    id: "TOOL-34",
    text: "The file tools are confined",
    proof: [["src/hosts/node/agent-tools.test.ts", "TOOL-34"]],
  },
  {
    id: "TOOL-35",
    text: "Confinement can be turned off; Bash is not sandboxed by default",
    proof: [
      ["src/hosts/node/agent-tools.test.ts", "TOOL-35"],
      ["src/hosts/node/shell/shell-sandbox.test.ts", "TOOL-35"],
    ],
  },
  {
    id: "TOOL-36",
    text: "The treatment of text and bytes is defined",
    proof: [
      ["src/tools/edit/edit.test.ts", "TOOL-36"],
      ["src/tools/read/read.test.ts", "TOOL-36"],
    ],
  },
  {
    id: "TOOL-37",
    text: "The kernel works without a loop",
    proof: [["src/hosts/node/agent-tools.test.ts", "TOOL-37"]],
  },
  {
    id: "TOOL-38",
    text: "Tools that a backend provides itself are not mapped",
    proof: [["test/promises/backends.test.ts", "TOOL-38"]],
  },
  {
    id: "TOOL-39",
    text: "Tools are named for Claude as MCP tools",
    proof: [["test/backends/claude-cli.test.ts", "claude-cli passes the cases of all backends"]],
  },
  {
    id: "TOOL-40",
    text: "Tools are mapped to OpenAI and Gemini functions",
    proof: [["test/providers.test.ts", "$name"]],
  },
  // Approvals and enforcement
  {
    id: "APR-01",
    text: "Three risk tiers, medium by default",
    proof: [["test/promises/approvals.test.ts", "APR-01"]],
  },
  {
    id: "APR-02",
    text: "Low-risk calls never ask for approval",
    proof: [["test/promises/approvals.test.ts", "APR-02"]],
  },
  {
    id: "APR-03",
    text: "Medium-risk calls ask for approval if a person is available, else they are allowed",
    proof: [["test/promises/approvals.test.ts", "APR-03"]],
  },
  {
    id: "APR-04",
    text: "High-risk calls ask for approval if a person is available, else they are denied",
    proof: [["test/promises/approvals.test.ts", "APR-04"]],
  },
  {
    id: "APR-05",
    text: "The content of an approval request is defined",
    proof: [["test/promises/approvals.test.ts", "APR-05"]],
  },
  {
    id: "APR-06",
    text: "Shown arguments are redacted",
    proof: [["src/policy/redact/names.test.ts", "APR-06"]],
  },
  {
    id: "APR-07",
    text: "A person can approve, deny with a reason, or always allow for this run",
    proof: [
      ["test/promises/approvals.test.ts", "a denial with its reason"],
      ["test/promises/approvals.test.ts", "`always` allows later calls"],
      ["test/approval-scopes.test.ts", "an `always` covers no other run"],
    ],
  },
  {
    id: "APR-08",
    text: "A call is denied if no decision arrives in time or the callback throws",
    proof: [
      ["test/promises/approvals.test.ts", "a callback that %s denies the call"],
      ["test/promises/approvals.test.ts", "without a decision in time"],
    ],
  },
  {
    id: "APR-09",
    text: "An allow-list of tools that need no approval",
    proof: [["test/promises/approvals.test.ts", "APR-09"]],
  },
  {
    id: "APR-10",
    text: "The agent waits for the decision",
    proof: [["test/promises/approvals.test.ts", "APR-10"]],
  },
  {
    id: "APR-11",
    text: "It is documented which backends ask for each call, and which only by mode",
    proof: [["test/backends/table.test.ts", "docs/backends.md says what each backend declares"]],
  },
  {
    id: "APR-12",
    text: "There are events for pending, granted and denied approvals",
    proof: [["test/promises/approvals.test.ts", "APR-12"]],
  },
  {
    id: "APR-13",
    text: "A gate before a tool can pause the run durably",
    proof: [["src/run/resume.test.ts", "APR-13"]],
  },
  {
    id: "APR-14",
    text: "A pause survives the process",
    proof: [
      ["src/run/resume.test.ts", "APR-14"],
      [
        "test/pause-processes.test.ts",
        "a run is paused in one process, approved from a second and finished by a third, each of them killed",
      ],
    ],
  },
  {
    id: "APR-15",
    text: "The text of a decision reaches the model",
    proof: [["src/run/resume.test.ts", "APR-15"]],
  },
  {
    id: "APR-16",
    text: "A second gate pauses again",
    proof: [["src/run/resume.test.ts", "APR-16"]],
  },
  {
    id: "APR-17",
    text: "Enforcement before a call: allow, deny or rewrite",
    proof: [
      ["test/policy-service.test.ts", "APR-17"],
      ["test/policy-runtime.test.ts", "rewritten arguments are the ones that run"],
      ["test/enforce/scene.ts", "a call is allowed, one rewritten, one denied, and one output is blocked, in one run"],
      ["src/enforce/ai-sdk.test.ts", "receives the rewritten arguments"],
    ],
  },
  {
    id: "APR-18",
    text: "Enforcement after a call can block its output",
    proof: [
      ["test/policy-service.test.ts", "APR-18"],
      ["test/policy-runtime.test.ts", "an output that a rule blocks reaches neither the model nor the journal"],
      ["src/enforce/enforced-call.test.ts", "an output is scanned with %s"],
    ],
  },
  {
    id: "APR-19",
    text: "A denial or block throws one typed error",
    proof: [
      ["test/policy-service.test.ts", "a verdict %s blocks"],
      ["test/policy-service.test.ts", "APR-19"],
      ["src/enforce/ai-sdk.test.ts", "a denied call throws BlockedError and does not run"],
    ],
  },
  {
    id: "APR-20",
    text: "Enforcement fails closed by default",
    proof: [
      ["src/enforce/enforced-call.test.ts", "a verdict that is %s blocks the call"],
      ["test/enforce/scene.ts", "a service that %s before the call: nothing runs"],
      ["test/enforce/scene.ts", "a service that %s after the call: no output is shown"],
      ["test/policy-faults.test.ts", "APR-20"],
      ["test/policy-service.test.ts", "APR-20"],
    ],
  },
  {
    id: "APR-21",
    text: "The source of an MCP server can be checked",
    proof: [["test/policy-service.test.ts", "APR-21"]],
  },
  {
    id: "APR-22",
    text: "Our own MCP servers are skipped by identity",
    proof: [["test/policy-service.test.ts", "APR-22"]],
  },
  {
    id: "APR-23",
    text: "Our own proxy addresses are skipped",
    proof: [["test/policy-service.test.ts", "APR-23"]],
  },
  {
    id: "APR-24",
    text: "Names to ignore are added to the skip list",
    proof: [["test/policy-service.test.ts", "APR-24"]],
  },
  {
    id: "APR-25",
    text: "A caller can query whether a tool is enforced",
    proof: [["test/policy-service.test.ts", "APR-25"]],
  },
  {
    id: "APR-26",
    text: "Third-party MCP tools are enforced by default",
    proof: [["test/policy-service.test.ts", "APR-26"]],
  },
  {
    id: "APR-27",
    text: "The permission mode maps to each backend's own",
    proof: [["test/promises/backends.test.ts", "APR-27"]],
  },
  {
    id: "APR-28",
    text: "A denied call is recorded as denied",
    proof: [["test/promises/approvals.test.ts", "APR-28"]],
  },
  // Hooks
  {
    id: "HOOK-01",
    text: "There are hooks around run, turn and call, a stop hook, and the gate of the policy",
    proof: [["test/promises/controls.test.ts", "HOOK-01"]],
  },
  {
    id: "HOOK-02",
    text: "Only the gate and the stop hooks can block",
    proof: [["test/promises/controls.test.ts", "HOOK-02"]],
  },
  {
    id: "HOOK-03",
    text: "The hook after a run is always called",
    proof: [["test/promises/controls.test.ts", "HOOK-03"]],
  },
  {
    id: "HOOK-04",
    text: "Telemetry for session, prompt and stop",
    proof: [["test/policy-service.test.ts", "HOOK-04"]],
  },
  {
    id: "HOOK-05",
    text: "Bounded telemetry for failed tools",
    proof: [
      ["test/policy-service.test.ts", "what a tool throws"],
      ["test/policy-service.test.ts", "HOOK-05"],
      ["test/policy-service-client.test.ts", "a failed tool is reported with its output, bounded"],
      ["test/policy-service-client.test.ts", "a text is never cut inside a secret"],
      ["src/enforce/claude-agent-sdk.test.ts", "a failed call with the error"],
    ],
  },
  {
    id: "HOOK-06",
    text: "A ready map of hooks for the Claude Agent SDK",
    proof: [
      ["src/enforce/claude-agent-sdk.test.ts", "a call is answered with ask"],
      ["test/enforce/claude-agent-sdk.test.ts", "session, prompt, failed tool and stop are reported"],
    ],
  },
  {
    id: "HOOK-07",
    text: "Its stop hook can be omitted",
    proof: [["src/enforce/claude-agent-sdk.test.ts", "Stop is reported unless it is left out"]],
  },
  {
    id: "HOOK-08",
    text: "A transcript can be sent with a strict stop",
    proof: [["src/enforce/claude-agent-sdk.test.ts", "a transcript is sent as lines with a strict Stop"]],
  },
  {
    id: "HOOK-09",
    text: "A preflight sends one synthetic session and throws on any failure",
    proof: [["test/policy-service.test.ts", "HOOK-09"]],
  },
  {
    id: "HOOK-10",
    text: "Telemetry is best effort unless strict",
    proof: [["test/policy-service.test.ts", "HOOK-10"]],
  },
  {
    id: "HOOK-11",
    text: "A tool runs between its checks before and after",
    proof: [["test/policy-service.test.ts", "HOOK-11"]],
  },
  {
    id: "HOOK-12",
    text: "The AI SDK adapter wraps a tool set",
    proof: [
      ["src/enforce/ai-sdk.test.ts", "a tool keeps its members, this and the call's options"],
      ["test/enforce/ai-sdk.test.ts", "the call's options reach execute"],
    ],
  },
  {
    id: "HOOK-13",
    text: "The OpenAI Agents adapter wraps tool options",
    proof: [
      ["src/enforce/openai-agents.test.ts", "options keep the name of their function, context and details"],
      ["test/enforce/openai-agents.test.ts", "context and details reach execute"],
    ],
  },
  {
    id: "HOOK-14",
    text: "The Google ADK adapter wraps function tools",
    proof: [["src/enforce/google-adk.test.ts", "options keep the name of their function and the context"]],
  },
  // Policy services
  {
    id: "POL-01",
    text: "The client can be configured from the environment",
    proof: [["test/policy-service.test.ts", "POL-01"]],
  },
  {
    id: "POL-02",
    text: "The client can use an API key",
    proof: [["test/policy-service.test.ts", "POL-02"]],
  },
  {
    id: "POL-03",
    text: "The client can exchange client credentials for a token and refresh it",
    proof: [["test/policy-service.test.ts", "POL-03"]],
  },
  {
    id: "POL-04",
    text: "Tokens from another issuer are rejected",
    proof: [["test/policy-service.test.ts", "POL-04"]],
  },
  {
    id: "POL-05",
    text: "The client can act on behalf of a subject",
    proof: [["test/policy-service.test.ts", "POL-05"]],
  },
  {
    id: "POL-06",
    text: "The client sends its name and version",
    proof: [["test/policy-service.test.ts", "POL-06"]],
  },
  {
    id: "POL-07",
    text: "A debug switch logs failures",
    proof: [["test/policy-service.test.ts", "POL-07"]],
  },
  {
    id: "POL-08",
    text: "Every request has a timeout",
    proof: [["test/policy-service.test.ts", "POL-08"]],
  },
  {
    id: "POL-09",
    text: "Large output is cut before it is sent",
    proof: [["test/policy-service.test.ts", "POL-09"]],
  },
  {
    id: "POL-10",
    text: "The failure mode is closed by default",
    proof: [["test/policy-service.test.ts", "POL-10"]],
  },
  {
    id: "POL-11",
    text: "HTTPS is required by default",
    proof: [["test/policy-service.test.ts", "POL-11"]],
  },
  {
    id: "POL-12",
    text: "The path of the source check can be set",
    proof: [["test/policy-service.test.ts", "POL-12"]],
  },
  {
    id: "POL-13",
    text: "All settings can be passed as options",
    proof: [["test/policy-service.test.ts", "POL-13"]],
  },
  // Pause and resume
  {
    id: "PAU-01",
    text: "The snapshot of a paused run has a defined content",
    proof: [["src/run/resume.test.ts", "PAU-01"]],
  },
  {
    id: "PAU-02",
    text: "The snapshot describes the pending call",
    proof: [["src/run/resume.test.ts", "PAU-02"]],
  },
  {
    id: "PAU-03",
    text: "The snapshot has the reason for the pause",
    proof: [["src/run/resume.test.ts", "PAU-03"]],
  },
  {
    id: "PAU-04",
    text: "A run can be resumed by its id alone",
    proof: [["src/run/resume.test.ts", "PAU-04"]],
  },
  {
    id: "PAU-05",
    text: "A run can be resumed from a snapshot (which is for reading: settled question 20)",
    proof: [["src/run/resume.test.ts", "PAU-05"]],
  },
  {
    id: "PAU-06",
    text: "Offloaded results survive a resume",
    proof: [
      ["test/offload.test.ts", "PAU-06"],
      ["test/offload-crash.test.ts", "PAU-06"],
    ],
  },
  {
    id: "PAU-07",
    text: "A run can be resumed in the background",
    proof: [["src/run/durable.test.ts", "PAU-07"]],
  },
  {
    id: "PAU-08",
    text: "Overrides can be given again on resume",
    proof: [
      ["src/extensions/skills/skills.test.ts", "PAU-08"],
      ["src/run/extensions/extensions.test.ts", "PAU-08"],
    ],
  },
  {
    id: "PAU-09",
    text: "A run can be resumed from the transcript after a provider failed",
    proof: [
      ["test/failover.test.ts", "FAIL-07"],
      ["test/backends/failover.test.ts", "a run moves from"],
    ],
  },
  // Background runs
  {
    id: "ASY-01",
    text: "A run can be started in the background",
    proof: [["src/run/durable.test.ts", "ASY-01"]],
  },
  {
    id: "ASY-02",
    text: "The status of a background run can be queried at any time",
    proof: [["src/run/durable.test.ts", "ASY-02"]],
  },
  {
    id: "ASY-03",
    text: "A caller can wait for a background run",
    proof: [["src/run/durable.test.ts", "ASY-03"]],
  },
  {
    id: "ASY-04",
    text: "A background run can be cancelled",
    proof: [["src/run/durable.test.ts", "ASY-04"]],
  },
  {
    id: "ASY-05",
    text: "A webhook can be sent again",
    proof: [["test/webhooks.test.ts", "ASY-05"]],
  },
  {
    id: "ASY-06",
    text: "Orphaned runs are found and marked",
    proof: [["src/run/durable.test.ts", "ASY-06"]],
  },
  {
    id: "ASY-07",
    text: "A state file has a defined shape",
    proof: [["src/run/durable.test.ts", "ASY-07"]],
  },
  {
    id: "ASY-08",
    text: "The state file reports progress and the current activity",
    proof: [["src/run/durable.test.ts", "ASY-08"]],
  },
  {
    id: "ASY-09",
    text: "Heartbeats are bounded in number",
    proof: [["src/run/state/monitor-runs.test.ts", "ASY-09"]],
  },
  {
    id: "ASY-10",
    text: "The background executor can be replaced",
    proof: [["src/run/durable.test.ts", "ASY-10"]],
  },
  {
    id: "ASY-11",
    text: "Background runs do not change foreground runs",
    proof: [["src/run/foreground.test.ts", "ASY-11"]],
  },
  // Webhooks
  {
    id: "WH-01",
    text: "A webhook has URL, secret, events and headers",
    proof: [
      ["src/webhooks/settings.test.ts", "WH-01"],
      ["test/webhooks.test.ts", "WH-01"],
    ],
  },
  {
    id: "WH-02",
    text: "Only background runs send webhooks, and only for ends and pauses",
    proof: [
      ["test/webhooks.test.ts", "WH-02"],
      ["test/webhooks.test.ts", "a cancelled run, active or paused, is sent to subscribers of failed"],
    ],
  },
  {
    id: "WH-03",
    text: "The body is the result",
    proof: [["test/webhooks.test.ts", "WH-03"]],
  },
  {
    id: "WH-04",
    text: "Headers identify and sign the request",
    proof: [
      ["src/webhooks/settings.test.ts", "WH-04"],
      ["test/webhooks.test.ts", "WH-04"],
    ],
  },
  {
    id: "WH-05",
    text: "Custom headers cannot override ours",
    proof: [["src/webhooks/settings.test.ts", "WH-05"]],
  },
  {
    id: "WH-06",
    text: "The signature covers time and body",
    proof: [
      ["src/webhooks/verify.test.ts", "WH-06"],
      ["test/webhooks.test.ts", "WH-06"],
    ],
  },
  {
    id: "WH-07",
    text: "A sample receiver checks age and signature",
    proof: [
      ["src/webhooks/verify.test.ts", "WH-07"],
      ["test/docs.test.ts", "$name runs and prints the documented output"],
    ],
  },
  {
    id: "WH-08",
    text: "A request times out after 30 seconds",
    proof: [["test/webhooks.test.ts", "WH-08"]],
  },
  {
    id: "WH-09",
    text: "There are five attempts on a schedule",
    proof: [
      ["src/webhooks/outbox.test.ts", "WH-09"],
      ["test/webhooks.test.ts", "WH-09"],
    ],
  },
  {
    id: "WH-10",
    text: "It is defined which responses are retried",
    proof: [
      ["src/webhooks/outbox.test.ts", "WH-10"],
      ["test/webhooks.test.ts", "WH-10"],
    ],
  },
  {
    id: "WH-11",
    text: "Every attempt is recorded",
    proof: [["test/webhooks.test.ts", "WH-11"]],
  },
  {
    id: "WH-12",
    text: "Each attempt has its own id",
    proof: [["test/webhooks.test.ts", "WH-12"]],
  },
  {
    id: "WH-13",
    text: "A manual retry restarts the schedule",
    proof: [
      ["src/webhooks/outbox.test.ts", "WH-13"],
      ["test/webhooks.test.ts", "WH-13"],
    ],
  },
  {
    id: "WH-14",
    text: "Nothing is sent per turn or call",
    proof: [
      ["src/webhooks/outbox.test.ts", "WH-14"],
      ["test/webhooks.test.ts", "WH-14"],
    ],
  },
  {
    id: "WH-15",
    text: "Each pause has its own event",
    proof: [
      ["src/webhooks/outbox.test.ts", "WH-15"],
      ["test/webhooks.test.ts", "WH-15"],
    ],
  },
  // Storage
  {
    id: "STO-01",
    text: "Stores on local disk, S3 and R2 behind one interface",
    proof: [
      ["src/stores/store-conformance.test.ts", "%s passes the store conformance cases"],
      ["test/s3.test.ts", "s3Store passes the store conformance cases"],
    ],
  },
  {
    id: "STO-02",
    text: "Every store has the same relative layout",
    proof: [["test/promises/layout.test.ts", "STO-02"]],
  },
  { id: "STO-03", text: "The content of a run's folder is defined" },
  {
    id: "STO-04",
    text: "A workspace is a tenant: nothing is shared",
    proof: [
      ["test/promises/layout.test.ts", "STO-04"],
      ["src/runtime/runtime.test.ts", "a run is stored under its workspace; another workspace does not see it"],
    ],
  },
  {
    id: "STO-05",
    text: "A global memory scope is treated as the workspace's, with a warning",
    proof: [["src/extensions/memory/memory.test.ts", "STO-05"]],
  },
  {
    id: "STO-06",
    text: "R2 works with credentials or a binding (credentials so far)",
    proof: [
      ["test/s3.test.ts", "s3Store passes the store conformance cases"],
      ["test/s3-refusals.test.ts", "bucket addresses"],
    ],
  },
  {
    id: "STO-07",
    text: "Transcripts are JSONL shards, and the last one is reported",
    proof: [["test/promises/layout.test.ts", "STO-07"]],
  },
  // Memory
  {
    id: "MEM-01",
    text: "Profile, rules, lessons and episodes",
    proof: [["src/extensions/memory/memory.test.ts", "MEM-01"]],
  },
  { id: "MEM-02", text: "Off, read-only or read-write", proof: [["src/extensions/memory/memory.test.ts", "MEM-02"]] },
  {
    id: "MEM-03",
    text: "Memory survives a run, and tools write and read it",
    proof: [
      ["src/extensions/memory/memory.test.ts", "MEM-03"],
      ["test/memory-crash.test.ts", "MEM-03"],
      ["test/memory-stores.test.ts", "MEM-03"],
    ],
  },
  { id: "MEM-04", text: "Memory can be injected as text", proof: [["test/promises/context.test.ts", "MEM-04"]] },
  // Skills
  { id: "SK-01", text: "Skills on disk with pages", proof: [["src/extensions/skills/skills.test.ts", "SK-01"]] },
  {
    id: "SK-02",
    text: "Names and descriptions in the prompt, bodies on demand",
    proof: [["src/extensions/skills/skills.test.ts", "SK-02"]],
  },
  {
    id: "SK-03",
    text: "Skills given with a run replace those on disk",
    proof: [["src/extensions/skills/skills.test.ts", "SK-03"]],
  },
  {
    id: "SK-04",
    text: "Skills are fetched from allowed hosts only",
    proof: [["src/extensions/skills/skills.test.ts", "SK-04"]],
  },
  { id: "SK-05", text: "Each URL is fetched once per run", proof: [["src/extensions/skills/skills.test.ts", "SK-05"]] },
  // MCP
  {
    id: "MCP-01",
    text: "stdio, SSE and HTTP",
    proof: [
      ["test/mcp-client.test.ts", "MCP-01"],
      ["test/mcp-sse.test.ts", "MCP-01"],
    ],
  },
  {
    id: "MCP-02",
    text: "stdio is part of the Node host; elsewhere a clear error is reported",
    proof: [["test/mcp-client.test.ts", "MCP-02"]],
  },
  {
    id: "MCP-03",
    text: "Headers are requested before every request",
    proof: [
      ["test/mcp-client.test.ts", "MCP-03"],
      ["test/mcp-sse.test.ts", "MCP-03"],
    ],
  },
  {
    id: "MCP-04",
    text: "A 401 requests the headers again and retries once",
    proof: [
      ["test/mcp-client.test.ts", "MCP-04"],
      ["test/mcp-sse.test.ts", "MCP-04"],
    ],
  },
  {
    id: "MCP-05",
    text: "Sampling is off by default",
    proof: [["test/mcp-sampling.test.ts", "MCP-05"]],
  },
  {
    id: "MCP-06",
    text: "Sampling goes to a handler or the run's own model",
    proof: [["test/mcp-sampling.test.ts", "MCP-06"]],
  },
  {
    id: "MCP-07",
    text: "Sampling is bounded in depth",
    proof: [["test/mcp-sampling.test.ts", "MCP-07"]],
  },
  {
    id: "MCP-08",
    text: "A stateless transport for bindings",
    proof: [["test/mcp-client.test.ts", "MCP-08"]],
  },
  {
    id: "MCP-09",
    text: "Tools to list and read resources",
    proof: [["test/mcp-client.test.ts", "MCP-09"]],
  },
  {
    id: "MCP-10",
    text: "The client's name comes from the brand",
    proof: [["test/mcp-client.test.ts", "MCP-10"]],
  },
  // API calls
  { id: "API-01", text: "The tool exists only if services are configured", proof: [["test/api.test.ts", "API-01"]] },
  { id: "API-02", text: "Services are a closed list", proof: [["test/api.test.ts", "API-02"]] },
  { id: "API-03", text: "Five ways to authenticate", proof: [["test/api.test.ts", "API-03"]] },
  {
    id: "API-04",
    text: "Secrets come from a map of references",
    proof: [
      ["test/api.test.ts", "a secret is looked up for each call"],
      ["test/api.test.ts", "API-04"],
    ],
  },
  {
    id: "API-05",
    text: "A custom authentication is called for each call",
    proof: [["test/api.test.ts", "API-05"]],
  },
  { id: "API-06", text: "Secrets appear in no output and no record", proof: [["test/api-secrets.test.ts", "API-06"]] },
  { id: "API-07", text: "Paths and methods are enforced", proof: [["test/api-attacks.test.ts", "API-07"]] },
  { id: "API-08", text: "Bodies and responses are bounded", proof: [["test/api.test.ts", "API-08"]] },
  { id: "API-09", text: "Auth headers from the model are dropped", proof: [["test/api-attacks.test.ts", "API-09"]] },
  { id: "API-10", text: "Observers receive calls without secrets", proof: [["test/api.test.ts", "API-10"]] },
  { id: "API-11", text: "A raw body is sent unchanged", proof: [["test/api.test.ts", "API-11"]] },
  {
    id: "API-12",
    text: "A raw body that is not text is rejected before any request",
    proof: [["test/api.test.ts", "API-12"]],
  },
  {
    id: "API-13",
    text: "Services can be given per run, and the tool disabled",
    proof: [["test/api.test.ts", "API-13"]],
  },
  // Large results
  {
    id: "OFF-01",
    text: "Each tool result has a default size limit",
    proof: [["src/run/calls/overflow.test.ts", "OFF-01"]],
  },
  {
    id: "OFF-02",
    text: "A result over the limit becomes an artifact, a reference and a warning",
    proof: [
      ["src/run/calls/overflow.test.ts", "OFF-02"],
      ["src/hosts/node/store/artifacts.test.ts", "OFF-02"],
    ],
  },
  {
    id: "OFF-03",
    text: "Without an artifact store, a long result is cut with a summary",
    proof: [["src/run/calls/overflow.test.ts", "OFF-03"]],
  },
  {
    id: "OFF-04",
    text: "Offloading is off by default, with threshold and preview",
    proof: [["test/offload.test.ts", "OFF-04"]],
  },
  {
    id: "OFF-05",
    text: "A result of exactly the threshold stays inline",
    proof: [["test/offload.test.ts", "OFF-05"]],
  },
  {
    id: "OFF-06",
    text: "The location of an offloaded result is defined",
    proof: [["test/offload.test.ts", "OFF-06"]],
  },
  {
    id: "OFF-07",
    text: "Its summary is deterministic and names the reference",
    proof: [["src/run/offload/preview.test.ts", "OFF-07"]],
  },
  {
    id: "OFF-08",
    text: "A tool returns the whole result",
    proof: [
      ["test/offload.test.ts", "OFF-08"],
      ["src/settings/tools/fetch-data.test.ts", "OFF-08"],
    ],
  },
  {
    id: "OFF-09",
    text: "Errors are never offloaded",
    proof: [["test/offload.test.ts", "OFF-09"]],
  },
  {
    id: "OFF-10",
    text: "A fetched result is not offloaded again",
    proof: [["test/offload.test.ts", "OFF-10"]],
  },
  {
    id: "OFF-11",
    text: "An agent sees its own references only",
    proof: [["test/offload.test.ts", "OFF-11"]],
  },
  {
    id: "OFF-12",
    text: "References survive a resume",
    proof: [
      ["test/offload.test.ts", "OFF-12"],
      ["test/offload-crash.test.ts", "OFF-12"],
    ],
  },
  {
    id: "OFF-13",
    text: "The summary can be written by the host",
    proof: [["test/offload.test.ts", "OFF-13"]],
  },
  {
    id: "OFF-14",
    text: "Offloading is per run, and has no effect unless configured",
    proof: [["test/offload.test.ts", "OFF-14"]],
  },
  {
    id: "OFF-15",
    text: "The kernel has a byte limit, and Bash an overflow file",
    proof: [
      ["src/hosts/node/shell/shell-output.test.ts", "OFF-15"],
      ["src/tools/bash.test.ts", "OFF-15"],
    ],
  },
  // Compaction
  {
    id: "CMP-01",
    text: "Compaction is automatic",
    proof: [["test/backends/pi-compaction.test.ts", "CMP-01"]],
  },
  {
    id: "CMP-02",
    text: "Compaction summarises, and the host receives its record",
    proof: [["test/compaction-runtime.test.ts", "CMP-02"]],
  },
  {
    id: "CMP-03",
    text: "The first turn's size can be estimated",
    proof: [["src/lib/compaction/estimate.test.ts", "CMP-03"]],
  },
  {
    id: "CMP-04",
    text: "Compaction is visible in the run's state",
    proof: [["src/journal/context-fold.test.ts", "CMP-04"]],
  },
  {
    id: "CMP-05",
    text: "Compaction keeps calls and results paired",
    proof: [["test/compaction.test.ts", "CMP-05"]],
  },
  // Knowledge
  { id: "KB-01", text: "Knowledge bases are folders next to the runs", proof: [["test/knowledge.test.ts", "KB-01"]] },
  {
    id: "KB-02",
    text: "An index by headings, words and links",
    proof: [
      ["src/extensions/knowledge/sections.test.ts", "KB-02"],
      ["test/knowledge.test.ts", "KB-02"],
    ],
  },
  {
    id: "KB-03",
    text: "A missing index is built for the run",
    proof: [
      ["test/knowledge.test.ts", "an index is used"],
      ["test/knowledge.test.ts", "an index that is stale"],
      ["test/knowledge.test.ts", "an index that is %s"],
    ],
  },
  {
    id: "KB-04",
    text: "Off by default, with limits",
    proof: [
      ["test/knowledge.test.ts", "a search returns"],
      ["test/knowledge.test.ts", "the extension gives"],
    ],
  },
  {
    id: "KB-05",
    text: "Folders and external sources per run",
    proof: [
      ["test/knowledge.test.ts", "KB-05"],
      ["src/extensions/knowledge/external.test.ts", "KB-05"],
    ],
  },
  {
    id: "KB-06",
    text: "A search returns ranked snippets with references",
    proof: [["test/knowledge.test.ts", "KB-06"]],
  },
  {
    id: "KB-07",
    text: "A section, a file or an external source can be read",
    proof: [
      ["test/knowledge.test.ts", "ReadKnowledge cuts"],
      ["test/knowledge.test.ts", "KB-07"],
      ["src/extensions/knowledge/external.test.ts", "KB-07"],
    ],
  },
  {
    id: "KB-08",
    text: "The readable formats are defined",
    proof: [
      ["test/knowledge.test.ts", "KB-08"],
      ["src/hosts/node/knowledge/extractors.test.ts", "KB-08"],
    ],
  },
  { id: "KB-09", text: "The conversion of HTML to text is defined", proof: [["test/knowledge.test.ts", "KB-09"]] },
  {
    id: "KB-10",
    text: "References cannot leave their knowledge base",
    proof: [
      ["src/extensions/knowledge/attacks.test.ts", "on a store"],
      ["src/extensions/knowledge/attacks.test.ts", "folders"],
    ],
  },
  {
    id: "KB-11",
    text: "Headers of external sources appear in no output",
    proof: [["src/extensions/knowledge/external.test.ts", "KB-11"]],
  },
  {
    id: "KB-12",
    text: "Run-time settings are rejected at start",
    proof: [
      ["test/knowledge.test.ts", "the extension with %s is refused"],
      ["test/knowledge.test.ts", "the extension with %j"],
    ],
  },
  {
    id: "KB-13",
    text: "Knowledge bases work with offloading and subagents",
    proof: [["test/knowledge.test.ts", "KB-13"]],
  },
  { id: "KB-14", text: "Its tools and extractors are exported", proof: [["test/knowledge.test.ts", "KB-14"]] },
  // Runners
  { id: "RN-01", text: "A runner can be configured, and its absence degrades gracefully" },
  { id: "RN-02", text: "A stubbed call in the foreground is an error result and a missing capability" },
  { id: "RN-03", text: "In the background, the run is transferred to the runner" },
  { id: "RN-04", text: "The runner has an HTTP interface" },
  { id: "RN-05", text: "The runner resumes from the same store with real tools" },
  { id: "RN-06", text: "An unreachable runner has its own error code" },
  { id: "RN-07", text: "The waiting side receives the end; there is a small reference runner" },
  // Edge
  {
    id: "EDG-01",
    text: "Portable entries import no node: module; CommonJS can require the ESM; types are included",
    proof: [
      ["test/workerd.test.ts", "EDG-01"],
      ["test/promises/portable.test.ts", "EDG-01"],
    ],
  },
  { id: "EDG-02", text: "Node, Bun and Cloudflare Workers" },
  {
    id: "EDG-03",
    text: "The environment is not probed: the caller chooses",
    proof: [["test/promises/portable.test.ts", "EDG-03"]],
  },
  { id: "EDG-04", text: "An example Worker with one object per run" },
  // Observability
  {
    id: "OBS-01",
    text: "Observers receive events and metrics",
    proof: [["test/promises/controls.test.ts", "OBS-01"]],
  },
  {
    id: "OBS-02",
    text: "A snapshot of metrics",
    proof: [
      ["test/promises/controls.test.ts", "OBS-02"],
      ["test/promises/approvals.test.ts", "OBS-02"],
    ],
  },
  {
    id: "OBS-03",
    text: "Events around each provider request",
    proof: [["test/promises/controls.test.ts", "OBS-03"]],
  },
  {
    id: "OBS-04",
    text: "Events for cache hits and misses",
    proof: [["test/promises/controls.test.ts", "OBS-04"]],
  },
  {
    id: "OBS-05",
    text: "There are events for accumulated cost",
    proof: [["test/promises/controls.test.ts", "OBS-05"]],
  },
  {
    id: "OBS-06",
    text: "Events for text, calls, warnings and structured output",
    proof: [["test/promises/controls.test.ts", "OBS-06"]],
  },
  {
    id: "OBS-07",
    text: "There is a log for inspection",
    proof: [["test/promises/controls.test.ts", "OBS-07"]],
  },
  {
    id: "OBS-08",
    text: "A CLI runs one task or a conversation",
    proof: [
      ["src/cli/chat/chat.test.ts", "OBS-08"],
      ["src/cli/chat/terminal.test.ts", "OBS-08"],
    ],
  },
  // Structured output
  {
    id: "SO-01",
    text: "The schema is passed to the provider's native interface",
    proof: [["test/backends/claude-sdk.test.ts", "claude-sdk passes the cases of all backends"]],
  },
  {
    id: "SO-02",
    text: "The runtime validates output, and fails strictly",
    proof: [
      ["test/promises/controls.test.ts", "SO-02"],
      ["test/structured-output.test.ts", "SO-02"],
    ],
  },
]
