/** Content of messages to a model, from people and tools. */
export type ContentPart = TextPart | ImagePart | FilePart

export interface TextPart {
  readonly type: "text"
  readonly text: string
}

export interface ImagePart {
  readonly type: "image"
  /** Such as `image/png`. */
  readonly mediaType: string
  /** Base64. */
  readonly data: string
}

/** A document, such as a PDF. */
export interface FilePart {
  readonly type: "file"
  readonly mediaType: string
  /** Base64. */
  readonly data: string
  readonly name?: string
}
