import type { ContentPart } from "../contract/content.ts"

/** The text in what was said; of an image or a document, what it is. */
export function plainText(content: readonly ContentPart[], separator: string): string {
  return content.map((part) => (part.type === "text" ? part.text : attachmentLabel(part))).join(separator)
}

export function attachmentLabel(part: Exclude<ContentPart, { readonly type: "text" }>): string {
  const name = part.type === "file" && part.name !== undefined ? `${part.name}, ` : ""
  return `[${part.type}: ${name}${part.mediaType}]`
}
