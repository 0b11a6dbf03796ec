import type { ContentBlock } from "@modelcontextprotocol/server"
import type { ContentPart } from "../../../contract/content.ts"

/** A part of a result in MCP's format. */
export function toMcpContent(part: ContentPart): ContentBlock {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text }
    case "image":
      return { type: "image", data: part.data, mimeType: part.mediaType }
    case "file": {
      // It cannot be read anywhere: the URI is only the name that a resource must have.
      const uri = `longhaul:///${encodeURIComponent(part.name ?? "file")}`
      return { type: "resource", resource: { uri, mimeType: part.mediaType, blob: part.data } }
    }
  }
}
