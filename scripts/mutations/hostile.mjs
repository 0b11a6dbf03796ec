// Promises about text of strangers, conversations that must not move elsewhere, and what several processes see of one run.
import { mutation } from "./mutation.mjs"

const words = (name) => ["test/masked-words.test.ts", name]
const patterns = (name) => ["test/hostile-schemas.test.ts", name]
const recalled = (name) => ["src/settings/backends/recalled-models.test.ts", name]
const credential = "src/lib/text/credential.ts"
const models = "src/settings/backends/named-models.ts"

export const mutations = [
  mutation(
    "hostile: every long value of an MCP server counts as a secret",
    [[credential, "  if (looksLikeCredential(name, text)) return true\n", "  if (text.length >= 8) return true\n"]],
    words("there are at least 200 ordinary ones"),
    words("a file that a model reads and writes back is the same"),
  ),
  mutation(
    "hostile: a common word under the name of a secret is masked",
    [
      [
        credential,
        "/(^|[_-])(pass|auth|pat)$/i.test(name)) && !isCommon(text)",
        "/(^|[_-])(pass|auth|pat)$/i.test(name))",
      ],
    ],
    words("there are at least 200 ordinary ones"),
  ),
  mutation(
    "hostile: a key under an ordinary name is not masked",
    [[credential, "  if (looksLikeCredential(name, text)) return true\n", ""]],
    words("is a credential"),
  ),
  mutation(
    "hostile: an array of numbers in several lines shows a secret",
    [["src/policy/redact/line-spellings.ts", "    ...dumpHits(search, text, decimalLines, decimalCodes),\n", ""]],
    ["src/policy/redact/redactor.test.ts", "an array as Node prints it is masked at every offset"],
  ),
  mutation(
    "hostile: 1e400 is a number",
    [
      [
        "src/lib/json-schema.ts",
        'if (typeof value === "number") return !Number.isFinite(value)',
        'if (typeof value === "number") return false',
      ],
    ],
    patterns("1e400 is no"),
  ),
  mutation(
    "hostile: the pattern of an agent's answer is not looked at",
    [
      [
        "src/run/agents/child-input.ts",
        "    if (dropped.length === 0) return schema\n",
        "    if (dropped) return schema\n",
      ],
    ],
    patterns("an agent whose schema has a pattern that cannot run in linear time"),
  ),
  mutation(
    "hostile: the path of a stranger's operation is tried in every combination",
    [
      [
        "src/extensions/api/open-api/operation.ts",
        '  if (others.length === 0) return "([^/]+)"\n',
        '  if (others) return "([^/]+)"\n',
      ],
    ],
    patterns("takes /repos/me/compare/v1.0...v1.1 apart"),
    patterns("with parameters beside each other blocks nothing"),
  ),
  mutation(
    "hostile: a call may have a million keys",
    [["src/lib/schema/argument-size.ts", "const MAX_MEMBERS = 50_000\n", "const MAX_MEMBERS = 50_000_000\n"]],
    ["test/large-arguments.test.ts", "a call with"],
  ),
  mutation(
    "hostile: a call of a host with its own loop may have a million keys",
    [
      [
        "src/tools/kernel/validate-call.ts",
        "  if (tooLarge !== undefined) return { ok: false, issues: [tooLarge], rejectedBy: tool }\n",
        "",
      ],
    ],
    ["test/large-arguments.test.ts", "of a host with its own loop is refused without a policy"],
  ),
  mutation(
    "hostile: the policy reads a million keys",
    [
      [
        "src/policy/pipeline.ts",
        '  if (tooLarge !== undefined) return denied({ args: call.args, reasons: [] }, reason("rule", "deny", tooLarge))\n',
        "",
      ],
    ],
    ["test/large-arguments.test.ts", "a policy for tools of other software refuses a call"],
  ),
  mutation(
    "hostile: a run that began on a backend given as a value goes on with the host's program of that name",
    [
      [
        "src/settings/backends/targets.ts",
        "if (given && source.isOfHost(backend)) throw",
        "if (given && !backend) throw",
      ],
    ],
    ["src/hosts/node/backends/given-backends.test.ts", "as its backend is not resumed on the program of that name"],
  ),
  mutation(
    "hostile: it is not recorded that a backend was given as a value",
    [["src/settings/backends/targets.ts", "{ given: true as const }", "{}"]],
    ["src/hosts/node/backends/given-backends.test.ts", "as an entry of its chain is not resumed"],
  ),
  mutation(
    "hostile: a model of the AI SDK does not say where its requests go",
    [
      [
        "src/providers/ai-sdk/index.ts",
        "    ...(address !== undefined && { endpoint: { url: publicAddress(address) } }),\n",
        "",
      ],
    ],
    recalled("a model of openai of the AI SDK at another address"),
  ),
  mutation(
    "hostile: a message of an MCP server may have any size",
    [
      [
        "src/extensions/mcp/http-fetch.ts",
        "const MAX_MESSAGE_BYTES = 32 * 1024 * 1024\n",
        "const MAX_MESSAGE_BYTES = 32 * 1024 ** 3\n",
      ],
    ],
    ["src/extensions/mcp/http-fetch.test.ts", "fails before it fills the memory"],
  ),
  mutation(
    "hostile: a resumed conversation goes to another address",
    [
      [
        models,
        "return recorded?.url === now?.url && recorded?.keyFrom === now?.keyFrom",
        "return recorded?.keyFrom === now?.keyFrom",
      ],
    ],
    recalled("a runtime with another address"),
  ),
  mutation(
    "hostile: a resumed conversation carries the key of another source",
    [
      [
        models,
        "return recorded?.url === now?.url && recorded?.keyFrom === now?.keyFrom",
        "return recorded?.url === now?.url",
      ],
    ],
    recalled("the same address with the key of another source is refused"),
  ),
  mutation(
    "views: a takeover keeps the plan that it made from records that no longer count",
    [
      [
        "src/run/open/open-run.ts",
        "  if (isExtended && history.length === before.length) return opening\n",
        "  if (opening.found) return opening\n",
      ],
    ],
    ["test/takeovers.test.ts", "leave a sound journal"],
  ),
  mutation(
    "patterns: the schema of an MCP tool's results is checked by an engine that backtracks",
    [["src/extensions/mcp/connection.ts", "        jsonSchemaValidator: anyResult,\n", ""]],
    ["test/hostile-schemas.test.ts", "in the schema of an MCP tool's results blocks nothing"],
  ),
  mutation(
    "views: one damaged run stops lists and recovery",
    [["src/runs/list-runs.ts", "  if (isDamage(error)) return null\n", ""]],
    ["test/damaged-runs.test.ts", "stops neither listing nor recovery of the others"],
  ),
  mutation(
    "views: a damaged run is missing in lists",
    [
      [
        "src/runs/list-runs.ts",
        "(error: unknown) => summaryWithout(node, error)",
        "(error: unknown) => ifDamaged(error)",
      ],
    ],
    ["test/damaged-runs.test.ts", "stops neither listing nor recovery of the others"],
  ),
  mutation(
    "views: a run that its process gave up looks alive",
    [
      ["src/runtime/live-runs.ts", 'cause.error.code === "fenced") return', 'cause.error.code !== "storage") return'],
      ["src/runtime/live-runs.ts", 'if (result?.status === "failed" &&', 'if (result?.error?.code === "storage" &&'],
    ],
    recalled("an agent whose model is elsewhere fails the run for everybody"),
  ),
  mutation(
    "views: a taker that died hides the end of a run",
    [
      [
        "src/journal/reader.ts",
        "    if (!(await isVoid(shard, { claim: claimOf(bytes) }))) return false\n",
        "    return false\n",
      ],
    ],
    ["test/later-taker.test.ts", "a run that has ended"],
  ),
  mutation(
    "mcp: the warning about a server that ended does not say why",
    [
      [
        "src/extensions/mcp/connection.ts",
        "throw await this.#withLastLine(ownErrorIn(error) ?? error)",
        "throw ownErrorIn(error) ?? (await this.#withLastLine(error))",
      ],
    ],
    ["test/mcp-failed-starts.test.ts", "has the last line that it wrote"],
  ),
  mutation(
    "mcp: parallel runs refresh one login, each with the token of the first",
    [
      [
        "src/extensions/mcp/oauth.ts",
        "      if (current && current.refresh_token !== token) return Response.json(current)\n",
        "",
      ],
    ],
    ["src/hosts/node/mcp/refresh.test.ts", "four runs that refresh one login at once"],
  ),
  mutation(
    "gates: gateBeforeTool gets the call in the place of the tool's name",
    [["src/run/calls/decide.ts", "hook.gateBeforeTool?.(gated.name, gated)", "hook.gateBeforeTool?.(gated, gated)"]],
    ["test/reference-code.test.ts", "a gate that is written with the tool's name"],
  ),
  mutation(
    "hostile: a vendor's own call is recorded with a million keys",
    [
      [
        "src/run/state/redact-events.ts",
        "whyTooLarge(given.args) === undefined ? given : { ...given, args: null }",
        "whyTooLarge(null) === undefined ? given : { ...given, args: null }",
      ],
    ],
    ["test/large-arguments.test.ts", "a vendor's own call with 200,000 keys is recorded without its arguments"],
  ),
  mutation(
    "hostile: a vendor's own call with a million keys is decided without them, and runs",
    [["src/run/calls/own-calls.ts", "    if (call.invalid !== undefined) return this.#deny(call, call.invalid)\n", ""]],
    ["test/large-arguments.test.ts", "a vendor's own call with 200,000 keys is recorded without its arguments"],
  ),
]
