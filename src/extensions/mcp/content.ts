import type { CallToolResult, ContentBlock, ReadResourceResult } from "@modelcontextprotocol/client"
import type { ContentPart } from "../../contract/content.ts"

/** The result of a tool for the model. */
export function resultParts({ content, structuredContent }: CallToolResult): readonly ContentPart[] {
  const parts = content.flatMap(contentParts)
  // A server should repeat its data as a text, but need not.
  if (parts.length > 0 || structuredContent === undefined) return parts
  return [{ type: "text", text: JSON.stringify(structuredContent) }]
}

export function contentParts(block: ContentBlock): readonly ContentPart[] {
  switch (block.type) {
    case "text":
      return [{ type: "text", text: block.text }]
    case "image":
      return [{ type: "image", mediaType: block.mimeType, data: block.data }]
    case "audio":
      return [{ type: "file", mediaType: block.mimeType, data: block.data }]
    case "resource":
      return resourceParts([block.resource])
    case "resource_link": {
      const { uri, name, description } = block
      const about = description === undefined ? "" : `: ${description}`
      return [{ type: "text", text: `[resource ${name} at ${uri}${about}; ReadMcpResource reads it]` }]
    }
  }
}

export function resourceParts(contents: ReadResourceResult["contents"]): readonly ContentPart[] {
  return contents.map((resource): ContentPart => {
    const { uri, mimeType: mediaType = "application/octet-stream" } = resource
    if ("text" in resource) return { type: "text", text: resource.text }
    if (mediaType.startsWith("image/")) return { type: "image", mediaType, data: resource.blob }
    return { type: "file", mediaType, data: resource.blob, name: uri }
  })
}
