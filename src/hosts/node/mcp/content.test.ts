import { expect, test } from "vitest"
import { toMcpContent } from "./content.ts"

test.each([
  [
    { type: "text", text: "High water" },
    { type: "text", text: "High water" },
  ],
  [
    { type: "image", mediaType: "image/png", data: "iVBO" },
    { type: "image", mimeType: "image/png", data: "iVBO" },
  ],
  [
    { type: "file", mediaType: "application/pdf", data: "JVBE", name: "tide table.pdf" },
    { type: "resource", resource: { uri: "longhaul:///tide%20table.pdf", mimeType: "application/pdf", blob: "JVBE" } },
  ],
  [
    { type: "file", mediaType: "application/pdf", data: "JVBE" },
    { type: "resource", resource: { uri: "longhaul:///file", mimeType: "application/pdf", blob: "JVBE" } },
  ],
] as const)("%j is converted to its MCP content type", (part, expected) => {
  expect(toMcpContent(part)).toEqual(expected)
})
