/** How hard a model thinks before it answers. Each provider has its own scale; the nearest level is used. */
export type Effort = "minimal" | "low" | "medium" | "high" | "max"

/** Settings of the model that a run may choose. Absent: the default of the model or its provider. */
export interface ModelSettings {
  readonly temperature?: number
  /** The most tokens of one answer. */
  readonly maxOutputTokens?: number
  readonly effort?: Effort
}
