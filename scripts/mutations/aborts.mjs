// Promises about what a run has under way outside when it is aborted: every request ends, and nobody is waited for.
import { mutation } from "./mutation.mjs"

const never = "new AbortController().signal"
const ends = (name) => ["test/abort-outward.test.ts", `an aborted run ends ${name}`]
const told = (name) => ["test/abort-outward.test.ts", `an abort reaches the server as a cancelled request: ${name}`]

export const mutations = [
  mutation(
    "aborts: the token of a policy service is waited for",
    [["src/policy/service/client.ts", "await this.#tokens.token(signal)", "await this.#tokens.token()"]],
    ends("the token of a policy service, and is cancelled"),
  ),
  mutation(
    "aborts: the first run that is aborted ends the token request of the others",
    [["src/policy/service/credentials.ts", "      if (--pending.waiting > 0) return\n", ""]],
    [
      "src/policy/service/credentials.test.ts",
      "a request for a token that two calls wait for goes on while one of them does",
    ],
  ),
  mutation(
    "aborts: a run that is aborted while an extension opens has failed",
    [
      [
        "src/run/extensions/open-extensions.ts",
        '      if (this.#run.controls.signal.aborted) return { reason: "interrupted" }\n',
        "",
      ],
    ],
    ends("a sample for an MCP server, and is cancelled"),
  ),
  mutation(
    "aborts: a sample for an MCP server is not aborted",
    [
      [
        "src/run/extensions/sample.ts",
        "conversation.call(messages, cost, controls.signal)",
        `conversation.call(messages, cost, ${never})`,
      ],
    ],
    ends("a sample for an MCP server, and is cancelled"),
  ),
  mutation(
    "aborts: a summary of a conversation is not aborted",
    [
      [
        "src/backends/shared/compaction/summarise.ts",
        "conversation.call(messages, cost, controls.signal)",
        `conversation.call(messages, cost, ${never})`,
      ],
    ],
    ends("the summary of a conversation, and is cancelled"),
  ),
  mutation(
    "aborts: a call of an MCP tool is not aborted",
    [
      [
        "src/extensions/mcp",
        "{ ...this.#limits(), signal, onprogress, allowInputRequired }",
        `{ ...this.#limits(), signal: ${never}, onprogress, allowInputRequired }`,
      ],
    ],
    told("a tool of an MCP server"),
    told("a tool of an MCP server through CallTool"),
  ),
  mutation(
    "aborts: reading an MCP resource is not aborted",
    [["src/extensions/mcp", "{ ...this.#limits(), signal }", `{ ...this.#limits(), signal: ${never} }`]],
    told("a resource of an MCP server"),
  ),
  mutation(
    "aborts: the lists of an MCP server are not aborted",
    [["src/extensions/mcp", "maxTotalTimeout: timeout * 10, signal }", "maxTotalTimeout: timeout * 10 }"]],
    told("the tools of an MCP server"),
    told("the resources of an MCP server"),
  ),
  mutation(
    "aborts: connecting to an MCP server is not aborted",
    [
      [
        "src/extensions/mcp",
        "withTimeout(timeout, this.#options.signal, (limit)",
        "withTimeout(timeout, undefined, (limit)",
      ],
    ],
    ends("an MCP server that is connected to"),
    ends("an MCP server over SSE that is connected to"),
  ),
  mutation(
    "aborts: an MCP server is not told of a cancelled call before its connection is closed",
    [["src/extensions/mcp", "    await this.#notices.sent()\n", ""]],
    told("a tool of an MCP server"),
    told("a resource of an MCP server"),
  ),
  mutation(
    "aborts: ApiCall is not aborted",
    [
      [
        "src/extensions/api",
        "await guarded(asked, { headers, maxBytes, timeoutMs, signal })",
        `await guarded(asked, { headers, maxBytes, timeoutMs, signal: signal && ${never} })`,
      ],
    ],
    ends("ApiCall, and is cancelled"),
    ends("ApiCall in the middle of the answer"),
  ),
  mutation(
    "aborts: ApiCall over the host's fetch is not aborted",
    [
      [
        "src/extensions/api",
        "withTimeout(request.timeoutMs, request.signal, (limit)",
        "withTimeout(request.timeoutMs, undefined, (limit)",
      ],
    ],
    ends("ApiCall over the host's own fetch"),
  ),
  mutation(
    "aborts: WebFetch is not aborted",
    [["src/tools/web", "{ signal: context.signal, maxBytes,", `{ signal: ${never}, maxBytes,`]],
    ends("WebFetch, and is cancelled"),
  ),
  mutation(
    "aborts: WebSearch is not aborted",
    [["src/tools/web/engines/engine.ts", "return { signal, headers,", `return { signal: signal && ${never}, headers,`]],
    ends("WebSearch (brave)"),
    ends("WebSearch (tavily)"),
  ),
  mutation(
    "aborts: guarded requests are not aborted",
    [["src/hosts/node/http/guarded-fetch.ts", "onAbort(signal, () => ending.abort())", "onAbort(signal, () => {})"]],
    ends("WebFetch in the middle of the answer"),
    ends("a skill that is on the web"),
  ),
  mutation(
    "aborts: an external document is not aborted",
    [
      [
        "src/extensions/knowledge",
        "const options = { signal, maxBytes: MAX_DOCUMENT_BYTES,",
        `const options = { signal: signal && ${never}, maxBytes: MAX_DOCUMENT_BYTES,`,
      ],
    ],
    ends("a document of the knowledge that is on the web"),
  ),
  mutation(
    "aborts: a skill on the web is not aborted",
    [
      [
        "src/extensions/skills",
        "await web.get(url, {\n    signal,\n",
        `await web.get(url, {\n    signal: signal && ${never},\n`,
      ],
    ],
    ends("a skill that is on the web"),
  ),
  mutation(
    "aborts: a run waits for its policy service",
    [
      ["src/policy/pipeline.ts", "await orAborted(ask(), signal)", "await orAborted(ask(), undefined)"],
      ["src/policy/service", "withTimeout(timeoutMs, signal, (limit)", "withTimeout(timeoutMs, undefined, (limit)"],
    ],
    ends("a policy service that decides"),
    ends("a policy service that scans"),
  ),
  mutation(
    "aborts: the request to a policy service goes on",
    [["src/policy/service", "withTimeout(timeoutMs, signal, (limit)", "withTimeout(timeoutMs, undefined, (limit)"]],
    ends("a policy service that decides"),
    ends("a policy service that scans"),
  ),
  mutation(
    "aborts: a request to a model goes on",
    [
      [
        "src/providers/converse.ts",
        "body: this.#buffer.body(messages), signal }",
        "body: this.#buffer.body(messages) }",
      ],
    ],
    ends("a request to the model (anthropic)"),
    ends("a request to the model (openai chat)"),
    ends("a request to the model (google)"),
  ),
  mutation(
    "aborts: a time limit is lost in a garbage collection",
    [
      [
        "src/lib/abort.ts",
        "await work(limit.signal)",
        "await work(signal ? AbortSignal.any([signal, AbortSignal.timeout(ms)]) : limit.signal)",
      ],
    ],
    ["test/collected-signals.test.ts", "ends with its time limit after a garbage collection"],
  ),
  mutation(
    "aborts: a served request is collected before its exchange ends",
    [
      [
        "src/hosts/node/http/serve.ts",
        '  openRequests.add(request)\n  outgoing.once("close", () => openRequests.delete(request))\n',
        "",
      ],
    ],
    ["src/hosts/node/http/serve.test.ts", "serve aborts a signal that nothing else refers to"],
  ),
  mutation(
    "aborts: an aborted run waits until a vendor's program has opened its session",
    [["src/run/session/open-session.ts", "await orAborted(opening, signal)", "await opening"]],
    ["src/run/session/open-session.test.ts", "ends with an aborted run"],
  ),
  mutation(
    "aborts: a vendor's program that opens its session outlives an aborted run",
    [["src/run/session/open-session.ts", '(await program).end("kill")', "program"]],
    ["src/run/session/open-session.test.ts", "ends with an aborted run"],
  ),
  mutation(
    "aborts: a vendor's program is started for an aborted run",
    [["src/run/session/open-session.ts", "      if (signal.aborted) throw stopped()\n", ""]],
    ["src/run/session/open-session.test.ts", "no program is started after the abort"],
  ),
  mutation(
    "aborts: a session that opens after the abort is not closed",
    [["src/run/session/open-session.ts", "(late) => late.close()", "() => {}"]],
    ["src/run/session/open-session.test.ts", "a session that opens after the abort is closed"],
  ),
  mutation(
    "aborts: the start of an MCP server's stream is waited for",
    [
      [
        "src/extensions/mcp",
        "return orAborted(\n        connecting.then(() => true),\n        limit,\n      )",
        "return connecting.then(() => true)",
      ],
    ],
    ends("an MCP server over SSE that is connected to"),
    ["src/extensions/mcp/connection.test.ts", "fails after the time in which a server has to come up"],
  ),
  mutation(
    "aborts: requests for a token of an MCP server go on",
    [["src/extensions/mcp", "...(signal && { signal }), ...init, headers", "...init, headers"]],
    ends("the authorization server of an MCP server"),
    ends("the token of an MCP server"),
  ),
]
