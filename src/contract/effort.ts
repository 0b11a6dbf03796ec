/** Reasoning effort of a model. Each provider has its own scale: the nearest step is used. */
export type Effort = "minimal" | "low" | "medium" | "high" | "max"
