/** Decodes HTML character references. Unknown ones stay unchanged. */
export interface EntityDecoder {
  readonly text: (html: string) => string
  /** In an attribute a name without its semicolon may be part of a URL, as in "?a=1&copy=2". */
  readonly attribute: (html: string) => string
}

/** Loads the large table of names with the first page. */
export async function loadEntityDecoder(): Promise<EntityDecoder> {
  const { decodeHTML, decodeHTMLAttribute } = await import("entities/decode")
  return { text: decodeHTML, attribute: decodeHTMLAttribute }
}
