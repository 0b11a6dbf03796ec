import { describe, expect, test } from "vitest"
import type { JsonObject } from "../contract/json.ts"
import type { ToolSpec } from "../contract/tool.ts"
import { createDispatcher, fileTools, toolSearchTool } from "./index.ts"
import { createToolContext } from "./kernel/tool-context.ts"

const context = createToolContext()

const spec = (name: string, description: string): ToolSpec => ({ name, description, inputSchema: { type: "object" } })
const tools = [
  spec("sendMail", "Sends a letter to somebody."),
  spec("mail", "The old way."),
  spec("read_inbox", "Reads mail that came in."),
  spec("PDFReader", "Opens documents, e-mails excepted."),
  spec("größe", "Misst die Größe."),
  spec("clock", "Tells the time."),
]

async function search(args: JsonObject, among: readonly ToolSpec[] = tools) {
  const { isError, text } = await createDispatcher([toolSearchTool(among)]).callTool("ToolSearch", args, context)
  expect(isError).toBe(false)
  return text
}
const namesIn = (text: string) => Array.from(text.matchAll(/^([^\s:[]+): /gm), ([, name]) => name)

describe("ToolSearch", () => {
  test("ToolSearch is read-only and runs in parallel", () => {
    expect(toolSearchTool([])).toMatchObject({ name: "ToolSearch", effect: "none", concurrent: true, risk: "low" })
  })

  test("ToolSearch finds tools by words in names and descriptions, best match first", {
    tags: ["TOOL-14"],
  }, async () => {
    expect(namesIn(await search({ query: "mail" }))).toEqual(["mail", "sendMail", "read_inbox", "PDFReader"])
    expect(namesIn(await search({ query: "SENDMAIL" }))).toEqual(["sendMail"])
    expect(namesIn(await search({ query: "send mail, please" }))[0]).toBe("sendMail")
    expect(namesIn(await search({ query: "pdf" }))).toEqual(["PDFReader"])
    expect(namesIn(await search({ query: "inbox reader" }))).toEqual(["PDFReader", "read_inbox"])
    expect(namesIn(await search({ query: "Größe" }))).toEqual(["größe"])
    expect(namesIn(await search({ query: "docu" }))).toEqual(["PDFReader"])
  })

  test("ToolSearch returns names with descriptions, and reports omitted matches", async () => {
    expect(await search({ query: "mail", limit: 2 })).toBe(
      "mail: The old way.\n\nsendMail: Sends a letter to somebody.\n\n[2 weaker matches omitted]",
    )
    expect(await search({ query: "clock" })).toBe("clock: Tells the time.")
  })

  test("ToolSearch reports that nothing matches", async () => {
    expect(await search({ query: "helicopter" })).toBe('No tool matches "helicopter"; there are 6 tools.')
    expect(await search({ query: "?!" })).toBe('No tool matches "?!"; there are 6 tools.')
    expect(await search({ query: "x" }, [])).toBe('No tool matches "x"; there are 0 tools.')
  })

  test("ToolSearch finds the built-in tools by what they do", async () => {
    expect(namesIn(await search({ query: "replace text in a file" }, fileTools())).slice(0, 3)).toContain("Edit")
    expect(namesIn(await search({ query: "Grep" }, fileTools()))[0]).toBe("Grep")
  })
})
