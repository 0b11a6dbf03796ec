/** Decodes the character references of HTML. Unknown ones stay as they are. */
export interface EntityDecoder {
  readonly text: (html: string) => string
  /** In an attribute a name without its semicolon may be part of an address, as in "?a=1&copy=2". */
  readonly attribute: (html: string) => string
}

/** Loads the table of names, which is large, with the first page. */
export async function loadEntityDecoder(): Promise<EntityDecoder> {
  const { decodeHTML, decodeHTMLAttribute } = await import("entities/decode")
  return { text: decodeHTML, attribute: decodeHTMLAttribute }
}
