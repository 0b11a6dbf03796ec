// Promises about secrets: masked where text enters, restored only for the tool that is called.
import { mutation } from "./mutation.mjs"

const redact = "src/policy/redact"
const sinks = (name) => ["test/secrets.test.ts", name]
const resumed = (name) => ["test/secrets-resume.test.ts", name]
const shapes = (name) => ["test/secrets-shapes.test.ts", name]
const cut = (name) => ["test/secrets-cut.test.ts", name]
const nowhere = sinks("a declared secret appears in no journal")
const leak = (name) => ["test/leak-sentinel.test.ts", name]

export const mutations = [
  mutation(
    "secrets: every value of a server's settings is a secret",
    [["src/lib/mcp-servers.ts", "isCredential(key, value) ?", "value.length >= 8 ?"]],
    ["test/masked-words.test.ts", "a file that a model reads and writes back is the same, byte for byte"],
  ),
  mutation(
    "secrets: base64 of several lines is not searched",
    [[`${redact}/line-spellings.ts`, "wrapped.test(text) ? wrappedHits(search, text) : []", "[]"]],
    [
      "src/policy/redact/redactor.test.ts",
      "base64 in lines of 76 is masked at every offset, and nothing of it is left",
    ],
  ),
  mutation(
    "secrets: a resumed run sends its conversation to another address",
    [["src/settings/backends/named-models.ts", "recorded?.url === now?.url && ", ""]],
    [
      "src/settings/backends/recalled-models.test.ts",
      "a runtime with another address in the same place of its chain is refused, and nothing is sent",
    ],
  ),
  mutation(
    "secrets: a resumed run sends its conversation with the key of another source",
    [["src/settings/backends/named-models.ts", " && recorded?.keyFrom === now?.keyFrom", ""]],
    ["src/settings/backends/recalled-models.test.ts", "the same address with the key of another source is refused"],
  ),
  mutation(
    "secrets: the results of tools are not masked",
    [["src/tools/kernel/dispatch.ts", "redactParts(toParts(value), redact)", "toParts(value)"]],
    nowhere,
  ),
  mutation(
    "secrets: the errors of tools are not masked",
    [
      [
        "src/tools/kernel/dispatch.ts",
        "failure(code, redact(message), errorLimits)",
        "failure(code, message, errorLimits)",
      ],
    ],
    nowhere,
  ),
  mutation(
    "secrets: deltas are published as they come",
    [
      [
        "src/run/state/redact-events.ts",
        "const delta = this.#streams.get(event.id)?.push(event.delta)",
        "const delta = event.delta",
      ],
    ],
    nowhere,
  ),
  mutation(
    "secrets: what a stream holds back is not searched for the start of a value",
    [
      [
        `${redact}/stream.ts`,
        "let end = Math.min(value, unfinishedLiteral(text))",
        "let end = unfinishedLiteral(text)",
      ],
    ],
    nowhere,
  ),
  mutation(
    "secrets: the arguments of a call are recorded as they are",
    [["src/run/state/redact-events.ts", "{ ...plain, ...redactor.json(partsOf(plain)) }", "{ ...plain }"]],
    nowhere,
  ),
  mutation(
    "secrets: messages in the inbox are written as they are",
    [["src/runtime/manage-runs.ts", "{ ...message, ...text }", "message"]],
    nowhere,
  ),
  mutation(
    "secrets: a failure is shortened before it is masked",
    [
      [
        "src/settings/config/secrets.ts",
        "redactor.cut(failure.message)",
        "redactor.text(failure.message.slice(0, MAX_MESSAGE_LENGTH))",
      ],
    ],
    ["src/settings/config/secrets.test.ts", "a failure is masked before it is shortened, in every field"],
  ),
  mutation(
    "secrets: masked reasoning keeps its signature",
    [["src/run/state/redact-events.ts", "opaque !== undefined && text === event.text &&", "opaque !== undefined &&"]],
    sinks("reasoning in which a secret was masked loses its signature"),
  ),
  mutation(
    "secrets: a literal reference is expanded",
    [[`${redact}/redactor.ts`, '"{{secret::")', '"{{secret:")']],
    sinks("a literal reference from a model, a tool or a user is never expanded"),
  ),
  mutation(
    "secrets: a call runs with the masked text",
    [
      [
        "src/run/calls/run-call.ts",
        "if (args === undefined) return withoutSecret(call)",
        "if (args === undefined) return input.dispatcher.dispatch(call, contextOf(this.#overflow.env, this.#run, call))",
      ],
    ],
    resumed("a call never runs with the masked text"),
  ),
  mutation(
    "secrets: an undeclared token is used for a call with other arguments",
    [["src/settings/config/secrets.ts", "return `${call} ${JSON.stringify(redacted)}`", "return call"]],
    ["src/settings/config/secrets.test.ts", "kept arguments belong to exactly one call with exactly these arguments"],
  ),
  mutation(
    "secrets: long command output is saved as it is",
    [["src/run/calls/overflow.ts", "shellWith(shell, { redact: redactor.stream })", "shellWith(shell, {})"]],
    sinks("a known value in the long output of a command"),
  ),
  mutation(
    "secrets: a run does not know the secrets of its own webhook",
    [["src/runtime/webhooks/sender.ts", "if (given) this.#config.runSecrets.keep(key.runId, given)", ""]],
    sinks("the secret of a run's own webhook appears in no journal"),
  ),
  mutation(
    "secrets: the input of a run is masked without its own webhook",
    [["src/settings/input/input.ts", "config.redactorOf(chain, drawn, key)", "config.redactorOf(chain, drawn)"]],
    sinks("the secret of a run's own webhook appears in no journal"),
  ),
  mutation(
    "secrets: an answer to a resumed run is masked without its own webhook",
    [["src/run/open/resume-run.ts", "config.redactorOf(chain, drawn, key)", "config.redactorOf(chain, drawn)"]],
    ["test/secrets-webhook.test.ts", "a run that is resumed elsewhere"],
  ),
  mutation(
    "secrets: a model gets tool definitions as they are",
    [
      [
        "src/run/session/prepare.ts",
        "redactedTools(redactor, dispatcher.listTools())",
        "dispatcher.listTools().slice()",
      ],
    ],
    nowhere,
  ),
  mutation(
    "secrets: the output schema of a run is recorded as it is",
    [["src/settings/input/input.ts", "form: form && redactedForm(redactor, form),", "form,"]],
    nowhere,
  ),
  mutation(
    "secrets: instructions for summaries are recorded as they are",
    [
      [
        "src/settings/input/input.ts",
        "redactor.json(recordedCompaction(input.compaction, compaction))",
        "recordedCompaction(input.compaction, compaction)",
      ],
    ],
    nowhere,
  ),
  mutation(
    "secrets: a tool cuts a text before it is masked",
    [["src/lib/text/before-cut.ts", "return redact(text.length > most ?", "return (text.length > most ?"]],
    cut("Grep in a long line"),
  ),
  mutation(
    "secrets: an excerpt of what a program wrote begins within a word",
    [["src/lib/text/before-cut.ts", 'return space === -1 ? "" : end.slice(space).trimStart()', "return end"]],
    ["src/backends/shared/json-rpc.test.ts", "an excerpt of what the program wrote"],
  ),
  mutation(
    "secrets: Read cuts a line before it is masked",
    [["src/tools/read/line-collector.ts", "missing === 0 ? redact(text)", "missing === 0 ? text"]],
    cut("Read in a long line"),
  ),
  mutation(
    "secrets: WebFetch shows parts of a page that was not masked as a whole",
    [
      [
        "src/tools/web/web-page.ts",
        "redact(truncated ? withoutHalfWord(decoded) : decoded)",
        "truncated ? withoutHalfWord(decoded) : decoded",
      ],
    ],
    cut("WebFetch at the start of a part"),
  ),
  mutation(
    "secrets: the context of a tool does not mask",
    [["src/run/calls/run-call.ts", "    redact: run.redactor.cut,\n", "    redact: (text) => text,\n"]],
    cut("a known value in long lines that Read and Grep cut"),
  ),
  mutation(
    "secrets: progress is masked piece by piece",
    [
      [
        "src/run/calls/call-progress.ts",
        "const decided = stream.push(message)",
        "const decided = run.redactor.text(message)",
      ],
    ],
    shapes("a secret that a tool reports in pieces of its progress"),
  ),
  mutation(
    "secrets: any text may call itself an image",
    [[`${redact}/walk.ts`, "data.length >= MIN_FILE_LENGTH && BASE64.test(data)", "data.length >= 0"]],
    shapes("of arguments and results is masked"),
  ),
  mutation(
    "secrets: an AGENTS.md is cut within a word",
    [
      [
        "src/extensions/agents-md",
        "bytes.length > left ? withoutHalfWord(start) : start",
        "start || withoutHalfWord(start)",
      ],
    ],
    leak("an AGENTS.md that is cut shows no part of a secret (declared)"),
  ),
  mutation(
    "secrets: the description of a skill is cut within a word",
    [["src/extensions/skills", "${firstWords(description, longest)}", "${description.slice(0, longest)}"]],
    leak("the description of a skill among many shows no part of a secret (declared)"),
  ),
  mutation(
    "secrets: a part of a document ends within a word",
    [["src/extensions/knowledge", "start + withoutHalfWord(text.slice(start, start + PART)).length", "start + PART"]],
    leak("a section of a document without headings shows no part of a secret (declared)"),
  ),
  mutation(
    "secrets: the heading of a section is cut within a word",
    [["src/extensions/knowledge", "firstWords(title, MAX_TITLE_LENGTH)", "title.slice(0, MAX_TITLE_LENGTH)"]],
    leak("the heading of a section shows no part of a secret (declared)"),
  ),
  mutation(
    "secrets: the instructions of an MCP server are cut within a word",
    [
      [
        "src/extensions/mcp",
        "firstWords(visible(instructions), MAX_INSTRUCTIONS_LENGTH)",
        "visible(instructions).slice(0, MAX_INSTRUCTIONS_LENGTH)",
      ],
    ],
    leak("the instructions of an MCP server shows no part of a secret (declared)"),
  ),
  mutation(
    "secrets: the start of a held piece of progress is published twice",
    [["src/run/calls/call-progress.ts", "held.slice(kept.length)", "held"]],
    ["src/run/calls/call-progress.test.ts", "messages with no more than seven characters"],
  ),
  mutation(
    "secrets: twelve characters of a secret in pieces of progress are published",
    [["src/run/calls/call-progress.ts", "MIN_HELD_LENGTH = 8", "MIN_HELD_LENGTH = 12"]],
    ["src/run/calls/call-progress.test.ts", "of a secret in any number of messages"],
  ),
]
