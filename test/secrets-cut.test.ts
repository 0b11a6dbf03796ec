import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import type { Environment, FetchedBody, Shell } from "../src/contract/env.ts"
import type { JsonObject } from "../src/contract/json.ts"
import type { Tool } from "../src/contract/tool.ts"
import { createRedactor } from "../src/policy/redact/redactor.ts"
import {
  applyPatchTool,
  bashTool,
  createDispatcher,
  editTool,
  grepTool,
  memoryFiles,
  readTool,
  webFetchTool,
  webSearchTool,
} from "../src/tools/index.ts"
import { createToolContext } from "../src/tools/kernel/tool-context.ts"
import { expectNoLeak, root, scene } from "./secrets/scene.ts"
import { declared, type Sentinel, tokens } from "./secrets/sentinels.ts"
import { drawn, pdfWithPages } from "./support/pdf-files.ts"

const value = declared.PLAIN?.value ?? ""
const token = tokens[0]?.value ?? ""
const longValue = `long-value-0a1b${"-and-more".repeat(200)}`
const { text: redact, cut } = createRedactor({ PLAIN: value, LONG: longValue })

async function outputOf(tool: Tool, args: JsonObject, env: Environment): Promise<string> {
  const context = { ...createToolContext({ env }), redact: cut }
  return (await createDispatcher([tool], { redact }).callTool(tool.name, args, context)).text
}

const utf8 = (text: string) => new TextEncoder().encode(text)
const filesWith = (name: string, text: string): Environment => ({ files: memoryFiles({ [name]: utf8(text) }) })
const notebook = (text: string) =>
  JSON.stringify({
    cells: [{ cell_type: "code", source: "", outputs: [{ output_type: "stream", text }], metadata: {} }],
    metadata: {},
    nbformat: 4,
    nbformat_minor: 5,
  })

function webWith(body: string, contentType: string, truncated = false): Environment {
  const answer: FetchedBody = { url: "https://a.example/", status: 200, contentType, bytes: utf8(body), truncated }
  const get = async () => answer
  return { fetch: { get, post: get } }
}

/** A shell that neither masks nor cuts. */
function shellWith(text: string): Environment {
  const ended = { text, bytes: text.length, leftOutBytes: 0, running: false, exitCode: 0, signalName: null }
  const run = async () => ({ ...ended, endedBy: "exit" as const, durationMs: 1 })
  // Safe: the tool calls nothing else.
  return { shell: { containment: "best-effort", run } as unknown as Shell }
}

const engine = (title: string, snippet: string) => ({
  name: "test",
  search: async () => [{ title, url: "https://a.example/", snippet }],
})

/** Each tool that shortens what it returns, with the place where it does, as a function of a text whose start it shows. */
const cuts: readonly (readonly [string, number, (text: string) => Promise<string>])[] = [
  ["Read in a long line", 2000, (text) => outputOf(readTool(), { path: "f" }, filesWith("f", text))],
  [
    "Read in the output of a cell",
    4000,
    (text) => outputOf(readTool(), { path: "f.ipynb" }, filesWith("f.ipynb", notebook(text.replaceAll(" ", "\n")))),
  ],
  ["Grep in a long line", 500, (text) => outputOf(grepTool(), { pattern: "^x" }, filesWith("f", text))],
  [
    "WebFetch at the end of a part",
    1000,
    (text) => outputOf(webFetchTool(), { url: "https://a.example/", maxCharacters: 1000 }, webWith(text, "text/plain")),
  ],
  [
    "WebFetch at the start of a part",
    1000,
    (text) => outputOf(webFetchTool(), { url: "https://a.example/", offset: 1000 }, webWith(text, "text/plain")),
  ],
  [
    "WebFetch in a title",
    200,
    (text) => outputOf(webFetchTool(), { url: "https://a.example/" }, webWith(`<title>${text}</title>`, "text/html")),
  ],
  [
    "WebSearch in a title",
    200,
    (text) => outputOf(webSearchTool({ engine: engine(text, "") }), { query: "q" }, webWith("", "")),
  ],
  [
    "WebSearch in an excerpt",
    500,
    (text) => outputOf(webSearchTool({ engine: engine("", text) }), { query: "q" }, webWith("", "")),
  ],
  [
    "Edit in the closest line",
    200,
    (text) =>
      outputOf(editTool(), { path: "f", oldText: `${text.slice(0, 150)}none`, newText: "" }, filesWith("f", text)),
  ],
  [
    "ApplyPatch in a malformed line",
    80,
    (text) => outputOf(applyPatchTool(), { patch: `${text}\n*** Begin Patch` }, filesWith("f", "a")),
  ],
  [
    "ApplyPatch in a line that is not in the file",
    80,
    (text) =>
      outputOf(
        applyPatchTool(),
        { patch: `*** Begin Patch\n*** Update File: f\n@@\n-${text}\n+b\n*** End Patch` },
        filesWith("f", "a\n"),
      ),
  ],
  [
    "ApplyPatch in a line after @@",
    80,
    (text) =>
      outputOf(
        applyPatchTool(),
        { patch: `*** Begin Patch\n*** Update File: f\n@@ ${text}\n-a\n+b\n*** End Patch` },
        filesWith("f", "a\n"),
      ),
  ],
  [
    "ApplyPatch in the closest line",
    200,
    (text) =>
      outputOf(
        applyPatchTool(),
        { patch: `*** Begin Patch\n*** Update File: f\n@@\n-${text.slice(0, 70)}none\n+b\n*** End Patch` },
        filesWith("f", `${text}\n`),
      ),
  ],
  [
    "Bash in the middle of an output",
    500,
    (text) => outputOf(bashTool({ maxOutputBytes: 1000 }), { command: "c" }, shellWith(text + "y ".repeat(2000))),
  ],
  [
    "Bash before the end of an output",
    500,
    (text) =>
      outputOf(
        bashTool({ maxOutputBytes: 1000 }),
        { command: "c" },
        shellWith("y ".repeat(2000) + text.slice(0, 1000)),
      ),
  ],
]

test.each(cuts)("%s cuts no secret, wherever it is", async (_, place, outputFor) => {
  for (const secret of [value, token]) {
    for (let inside = 0; inside <= secret.length; inside += 3) {
      const filler = "x ".repeat(place).slice(0, place - inside)
      const output = await outputFor(`${filler}${inside % 2 ? "," : ""}${secret} ${"z ".repeat(place)}`)
      const parts = [secret.slice(0, 8), secret.slice(-8)]
      expect([inside, parts.filter((part) => output.includes(part))]).toEqual([inside, []])
    }
  }
})

test.each([
  ["Read in a line of many", (text: string) => outputOf(readTool(), { path: "f" }, filesWith("f", text))],
  [
    "Grep in a line of many",
    (text: string) => outputOf(grepTool(), { pattern: "e" }, filesWith("f", text.slice(0, 1_000_000))),
  ],
  [
    "Read in a page of a PDF",
    (text: string) =>
      outputOf(
        readTool(),
        { path: "f.pdf" },
        {
          files: memoryFiles({
            "f.pdf": pdfWithPages([
              { dictionary: "", stream: drawn(text.replaceAll("|", "\n").slice(0, 160_000), 0.1) },
            ]),
          }),
        },
      ),
  ],
  [
    "WebFetch in a page that is too long",
    (text: string) =>
      outputOf(webFetchTool(), { url: "https://a.example/" }, webWith(text.slice(0, 4005), "text/plain", true)),
  ],
])("%s cuts no secret, however many follow one another", async (_, outputFor) => {
  // Masks are shorter than what they replace: the end of what was read moves towards the end of what is shown.
  for (const secret of [value, longValue]) {
    const output = await outputFor(`${secret}|`.repeat(8000))
    expect(output).toContain("{{secret:")
    expect(output).not.toContain(secret.slice(0, 8))
  }
})

test.each<readonly [string, Sentinel | undefined]>([
  ["a known value", declared.PLAIN],
  ["an undeclared token", tokens[0]],
])("%s in long lines that Read and Grep cut appears nowhere", async (_, sentinel) => {
  const secret = sentinel?.value ?? ""
  const workspace = join(root, "workspace")
  mkdirSync(workspace)
  const lines = Array.from({ length: 60 }, (_, index) => `${"x".repeat(index)} ${`${secret} `.repeat(100)}`)
  writeFileSync(join(workspace, "long.txt"), lines.join("\n"))
  const called = (name: string, args: JsonObject) => ({ toolCall: { name, args } })
  const { runtime, sinks } = await scene(
    [{ parts: [called("Read", { path: "long.txt" }), called("Grep", { pattern: "^x*" })] }, "Done."],
    { workspace },
  )
  const result = await runtime.run({ runId: "r", task: "Go." })
  sinks.results.push(result)
  expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "ok" }, { status: "ok" }] })
  if (sentinel) expectNoLeak(sentinel, sinks)
  expect(JSON.stringify([result, sinks.events])).toContain("[line cut")
  expect(JSON.stringify([result, sinks.events])).not.toContain(secret.slice(0, 8))
})
