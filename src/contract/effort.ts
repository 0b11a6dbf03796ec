/** How hard a model thinks before it answers. Each provider has its own scale: the nearest step is taken. */
export type Effort = "minimal" | "low" | "medium" | "high" | "max"
