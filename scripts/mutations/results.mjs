// Promises about what callers, people and the model receive: steering, output, observers, retries, stores.
import { mutation, programMutation } from "./mutation.mjs"

export const mutations = [
  mutation(
    "results: a message that was not delivered is dropped at the end",
    [
      [
        "src/run/session/undelivered.ts",
        "for (const message of controls.steers.disconnect()) journal.append(redactor.again(message))",
        "",
      ],
    ],
    [
      "src/run/durable.test.ts",
      "a steering message in the turn in which a run failed is recorded, and delivered once after the resume",
    ],
    ["src/run/durable.test.ts", "a steering message in the turn in which a run paused is delivered after the resume"],
  ),
  mutation(
    "results: a message to a live run is recorded without its slot, and delivered again",
    [["src/run/state/steer-queue.ts", 'return { type: "steer", text, ...source }', 'return { type: "steer", text }']],
    [
      "src/run/durable.test.ts",
      "a steering message to an active run reaches the model once and is recorded with its slot",
    ],
  ),
  mutation(
    "results: a completion with an error in its 200 counts as a success",
    [["src/stores/s3/multipart.ts", "if (!/<CompleteMultipartUploadResult[\\s>]/.test(", "if (/<Never>/.test("]],
    ["src/stores/s3/multipart.test.ts", "have an error in their 200 fail the write"],
  ),
  mutation(
    "results: retry-after-ms is ignored",
    [["src/providers/failure.ts", 'Number(header("retry-after-ms") || Number.NaN)', "Number.NaN"]],
    ["src/providers/converse.test.ts", "a retry-after-ms header takes precedence over retry-after"],
  ),
  mutation(
    "results: a wait that the provider asked for is not waited",
    [
      [
        "src/lib/retry.ts",
        "return failure.retryAfterMs <= MAX_ASKED_MS ? failure.retryAfterMs : null",
        "return failure.retryAfterMs <= MAX_ASKED_MS ? 0 : null",
      ],
    ],
    ["src/lib/retry.test.ts", "Retry-After is honoured exactly"],
  ),
  mutation(
    "results: a result has no limit in bytes",
    [["src/tools/kernel/dispatch.ts", "maxOutputBytes = 256 * 1024", "maxOutputBytes = Infinity"]],
    [
      "src/run/calls/overflow.test.ts",
      "a result with few characters and many bytes is cut at 256 KB and passed on completely",
    ],
  ),
  mutation(
    "results: a result has no limit in characters",
    [["src/tools/kernel/dispatch.ts", "maxCharacters = 100_000", "maxCharacters = Infinity"]],
    ["test/promises/results.test.ts", "a result of more than 100,000 characters reaches the model cut"],
  ),
  mutation(
    "results: close flushes no observer (OBS-01)",
    [
      [
        "src/runtime/runtime.ts",
        "    await Promise.all(config.observers.map((observer) => flushed(observer, config.logger)))\n",
        "",
      ],
    ],
    ["test/promises/controls.test.ts", "close flushes each observer once"],
  ),
  mutation(
    "results: close does not wait for an observer's flush (OBS-01)",
    [["src/runtime/runtime.ts", "await Promise.race([flushing, delay(FLUSH_MS, done.signal)])", "void flushing"]],
    ["test/promises/controls.test.ts", "close flushes each observer once"],
  ),
  mutation(
    "results: a delta is published before the records in front of it",
    [
      [
        "src/run/state/publisher.ts",
        "if (after === -1) this.#passEphemeral(event)",
        "if (after !== -2) this.#passEphemeral(event)",
      ],
    ],
    [
      "src/runtime/runtime.test.ts",
      "events arrive in order, records before the deltas that follow them; the handle ends after the last",
    ],
  ),
  programMutation(
    "results: --json prints two objects where a resumed run pauses again",
    [
      [
        "src/cli/resume-and-show.ts",
        "    result = await decidedInline(first, ",
        '    if (printsJson(choice) && first.status === "paused") output.printJson(first)\n    result = await decidedInline(first, ',
      ],
    ],
    ["src/cli/durable.test.ts", "that leads to a second pause prints one JSON value on one line"],
  ),
  programMutation(
    "results: --json prints two objects with --schema",
    [
      [
        "src/cli/commands/run.ts",
        "  if (json) output.printJson(result)\n",
        "  if (json && result.structuredSource !== undefined) output.printJson(result.data)\n  if (json) output.printJson(result)\n",
      ],
    ],
    ["src/cli/run-options.test.ts", "with --json prints one JSON value on one line"],
  ),
  mutation(
    "results: Bash is among the default tools (TOOL-17)",
    [
      ["src/hosts/node/index.ts", "import { fileTools }", "import { bashTool, fileTools }"],
      ["src/hosts/node/index.ts", "config.tools ?? fileTools()", "config.tools ?? [...fileTools(), bashTool()]"],
    ],
    ["src/tools/bash.test.ts", "Bash is not among the tools that the runtime for Node offers by default"],
  ),
  mutation(
    "results: a state file is written at every tick (ASY-09)",
    [["src/run/state/monitor-runs.ts", "if (activity === this.#lastActivity) return false", ""]],
    ["src/run/state/monitor-runs.test.ts", "a run whose activity does not change writes its state only"],
  ),
  mutation(
    "results: a state file is written more often than every 500 ms (ASY-09)",
    [["src/run/state/monitor-runs.ts", "const TICK_MS = 500", "const TICK_MS = 250"]],
    ["src/run/state/monitor-runs.test.ts", "a run writes its state at most once in 500 ms"],
  ),
  mutation(
    "results: the usage of a result is that of its last answer (RES-12)",
    [["src/journal/spending.ts", "    this.usage = addUsage(this.usage, usage)", "    this.usage = usage"]],
    ["test/promises/results.test.ts", "a result adds up tokens, cost and turns"],
  ),
  mutation(
    "results: a run that is out of budget has no end on record (LOOP-01)",
    [["src/run", 'if (LonghaulError.is(error) && error.code === "budget_exceeded") return limitStop(error)', ""]],
    ["test/promises/results.test.ts", "every started run opens with run-start and ends with run-end, even if it fails"],
  ),
  mutation(
    "results: a run that is out of budget is out of turns (RES-13)",
    [["src/run", "return failed(stop.failure ?? ", "return failed("]],
    ["test/promises/results.test.ts", "complete, interrupted, error, turn limit, budget and timeout"],
  ),
  mutation(
    "results: reasoning is not reported (CAP-11)",
    [["src/journal/result.ts", "thinking: run.thinking,", "thinking: false,"]],
    ["test/promises/controls.test.ts", "a run with reasoning says so"],
  ),
  mutation(
    "results: only reads of the cache are reported (CAP-11)",
    [["src/journal/result.ts", "cacheReadTokens + cacheWriteTokens > 0", "cacheReadTokens > 0"]],
    ["test/promises/controls.test.ts", "a run with a write to the cache says so"],
  ),
  mutation(
    "results: the session of a backend is not closed (LOOP-01)",
    [["src/run", "    await session.close()\n", ""]],
    ["test/promises/results.test.ts", "preRun, session, turns, close of the session"],
  ),
  mutation(
    "results: postRun is not called for a run that did not end well (LOOP-01)",
    [["src/run", "if (hooks.postRun) {", 'if (hooks.postRun && result.status === "done") {']],
    ["test/promises/results.test.ts", "preRun, session, turns, close of the session"],
  ),
  mutation(
    "results: errors name our own doctor, whatever the brand (TOOL-04)",
    [["src/hosts/node/search/ripgrep.ts", "{ ...defaultBrand, ...brand }", "{ ...brand, ...defaultBrand }"]],
    ["src/hosts/node/search/ripgrep.test.ts", "the command that the error names"],
  ),
  mutation(
    "results: the own checks of a named schema are lost in another process",
    [
      [
        "src/settings/options/output.ts",
        "name, ...(isStandardSchema(registered) && { standard: registered }) }",
        "name }",
      ],
    ],
    [
      "src/settings/config/named-schemas.test.ts",
      "the own checks of a named schema hold after a resume in another process",
    ],
    ["src/settings/config/named-schemas.test.ts", "recovery checks the answer of a run whose process died"],
  ),
  mutation(
    "results: a run whose named schema is missing is resumed without it",
    [
      [
        "src/settings/options/output.ts",
        "  const registered = namedSchema(name, schemas)\n",
        "  const registered = schemas[name]\n  if (registered === undefined) return recorded\n",
      ],
    ],
    ["src/settings/config/named-schemas.test.ts", "a run whose named schema is missing is not resumed"],
  ),
  mutation(
    "results: a schema without its own checks is not reported",
    [["src/run", "        ...checkWarnings(history.input, checked.form),\n", ""]],
    ["src/settings/config/named-schemas.test.ts", "a run whose schema has checks of its own and no name says"],
  ),
  mutation(
    "results: waitFor types the data of a run by a schema that it does not have",
    [
      [
        "src/runtime/runtime.ts",
        "if (outputSchema !== undefined) requireSchema(state, schemaName(outputSchema, config.schemas))",
        "",
      ],
    ],
    ["src/settings/config/named-schemas.test.ts", "a named schema converts the answer of a run"],
  ),
  mutation(
    "results: JSON that was cut is checked without its beginning",
    [["src/run/session/host.ts", "projection.isContinued ? projection.text : text", "text"]],
    ["src/run/cut-output.test.ts", "JSON that was cut at the output limit is joined"],
    ["src/run/cut-output.test.ts", "JSON that was cut is joined also if another process"],
  ),
  mutation(
    "results: a request to a policy service has a hundred times as long",
    [["src/policy/service/client.ts", "timeoutMs = 10_000", "timeoutMs = 1_000_000"]],
    ["test/policy-service.test.ts", "by default, each request has 10 seconds"],
    ["test/house/documented-defaults.test.ts", "every number that comments, help texts and guides document"],
  ),
  mutation(
    "results: a policy service gets a hundred times as much of an output",
    [["src/policy/service/client.ts", "maxToolOutputBytes = 65_536", "maxToolOutputBytes = 6_553_600"]],
    ["test/policy-service.test.ts", "by default, 65,536 bytes of an output are sent"],
  ),
  mutation(
    "results: the native backend declares prices of its own",
    [["src/backends/native/index.ts", "usdPer1k: { input: 0.01, output: 0.03 }", "usdPer1k: { input: 1, output: 3 }"]],
    ["test/promises/backends.test.ts", "declares no tools of its own, and the default figures"],
  ),
  mutation(
    "results: a check of the caller that never settles outlives timeMs",
    [
      [
        "src/run/session/host.ts",
        "await orAborted(output.review(whole), controls.signal)",
        "await output.review(whole)",
      ],
    ],
    ["src/settings/config/named-schemas.test.ts", "ends with the run's timeMs: native, after the last turn"],
  ),
  mutation(
    "results: the last check of an answer outlives timeMs",
    [["src/settings/options/output.ts", "await orAborted(this.#evaluate(text), signal)", "await this.#evaluate(text)"]],
    ["src/settings/config/named-schemas.test.ts", "ends with the run's timeMs: native, after a hook has ended the run"],
  ),
  mutation(
    "results: a check of a tool that never settles outlives timeMs",
    [["src/run/calls/run-call.ts", "return orAborted(rejection, this.#run.controls.signal)", "return rejection"]],
    ["src/run/calls/inner-call.test.ts", "before the call is decided"],
  ),
  mutation(
    "results: a check of changed arguments that never settles outlives timeMs",
    [
      [
        "src/run/calls/ask.ts",
        "orAborted(dispatcher.check(call.name, changed), run.controls.signal)",
        "dispatcher.check(call.name, changed)",
      ],
    ],
    ["src/run/calls/inner-call.test.ts", "after a person has changed the arguments"],
  ),
  mutation(
    "results: a resumed run does not check its answer against the schema in its journal",
    [
      [
        "src/settings/options/output.ts",
        "outputForm({ ...(outputSchema && { outputSchema }), outputMode }, schemas)",
        "outputForm({ ...(outputSchema && { outputSchema: {} }), outputMode }, schemas)",
      ],
    ],
    ["src/settings/config/named-schemas.test.ts", "the JSON Schema in the journal is enforced after a resume"],
  ),
]
