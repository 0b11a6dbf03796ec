/** What people, models and tools say to one another. */
export type ContentPart = TextPart

export interface TextPart {
  readonly type: "text"
  readonly text: string
}
