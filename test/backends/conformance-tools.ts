import { setTimeout as pause } from "node:timers/promises"
import type { Json, JsonObjectSchema } from "../../src/contract/json.ts"
import { type Tool, type ToolContext, ToolError } from "../../src/contract/tool.ts"
import { defineTool } from "../../src/tools/kernel/define-tool.ts"

/** One red pixel. */
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
const image = { type: "image", mediaType: "image/png", data: png }
// A document: text files are sent to a model as text.
const file = { type: "file", mediaType: "application/pdf", data: btoa("%PDF-1.4\n%%EOF\n"), name: "embedded.pdf" }

function tool(
  name: string,
  run: (args: Json, context: ToolContext) => unknown,
  input: JsonObjectSchema = { type: "object" },
) {
  return defineTool({
    name,
    description: `What the conformance suite calls ${name}.`,
    inputSchema: input,
    effect: "none",
    run,
  })
}

/** The tools that the suite requires of a server, as far as ours can provide them. */
export const conformanceTools: readonly Tool[] = [
  tool("test_simple_text", () => "This is a simple text response for testing."),
  tool("test_image_content", () => [image]),
  tool("test_embedded_resource", () => [file]),
  tool("test_multiple_content_types", () => [{ type: "text", text: "Three kinds:" }, image, file]),
  tool("test_error_handling", () => {
    throw new ToolError("io", "This tool always fails.")
  }),
  tool("test_tool_with_progress", async (_, context) => {
    for (const part of ["begun", "half of it", "all of it"]) {
      context.progress(part)
      await pause(50)
    }
    return "done"
  }),
  tool("json_schema_2020_12_tool", () => "validated", {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    $defs: {
      address: { type: "object", properties: { street: { type: "string" }, city: { type: "string" } } },
    },
    properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" } },
    additionalProperties: false,
  }),
]
