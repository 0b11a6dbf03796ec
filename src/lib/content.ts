import type { ContentPart } from "../contract/content.ts"

/** The text of the content; an image or a document becomes a description. */
export function plainText(content: readonly ContentPart[], separator: string): string {
  return content.map((part) => (part.type === "text" ? part.text : attachmentLabel(part))).join(separator)
}

export function attachmentLabel(part: Exclude<ContentPart, { readonly type: "text" }>): string {
  const name = part.type === "file" && part.name !== undefined ? `${part.name}, ` : ""
  return `[${part.type}: ${name}${part.mediaType}]`
}
