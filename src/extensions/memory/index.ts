import { LonghaulError } from "../../contract/error.ts"
import type { Extension, ExtensionRun, OpenedExtension } from "../../contract/extension.ts"
import type { Json } from "../../contract/json.ts"
import { isId } from "../../lib/id.ts"
import { isJsonObject } from "../../lib/json.ts"
import { wholeNumber } from "../../lib/known-keys.ts"
import { checkShape, required, type Shape, shapeOf, words } from "../../lib/schema/shape.ts"
import { Episodes } from "./episodes.ts"
import { MemoryItems } from "./items.ts"
import { type MemoryBudget, remembered } from "./remembered.ts"
import { memorizeTool, recallTool } from "./tools.ts"

export interface MemoryOptions {
  /** `read-only`: nothing is written. `off`: nothing is read either. */
  readonly mode: "off" | "read-only" | "read-write"
  /** Memory belongs to a workspace (`workspaceId`). `global` is treated as `workspace`, with a warning. */
  readonly scope?: "workspace" | "global"
  /** A part of the workspace with a memory of its own: an id of letters, digits, `_` and `-`. */
  readonly space?: string
  /** The model may write rules too, which every later run follows. Default false. */
  readonly allowRules?: boolean
  readonly budget?: MemoryBudget
  /**
   * Maximum number of lessons, and of rules. Default 500. Beyond it, the least used and oldest of those that models wrote are
   * deleted.
   */
  readonly maxItems?: number
}

/** Profile, rules, lessons and episodes of a workspace, kept over its runs. */
export function memory(options: MemoryOptions): Extension {
  checkShape<MemoryOptions>("memory", options, optionsShape)
  const { space, budget = {}, maxItems } = options
  for (const [name, value] of Object.entries(budget)) wholeNumber(`memory.budget.${name}`, value)
  if (maxItems !== undefined) wholeNumber("memory.maxItems", maxItems, 2_000)
  if (space !== undefined && !isId(space)) {
    throw new LonghaulError("config_invalid", "memory.space is not a valid id.", {
      fix: 'Use 1 to 64 letters, digits, "_" and "-", starting with a letter or digit.',
    })
  }
  return { name: "memory", open: (run) => open(run, options) }
}

async function open(run: ExtensionRun, options: MemoryOptions): Promise<OpenedExtension> {
  const { mode, scope, space, allowRules = false, budget = {}, maxItems = 500 } = options
  if (scope === "global") {
    run.warn("memory_scope", "Memory is never shared between workspaces: the scope global is treated as workspace.")
  }
  const facts = { mode, scope: "workspace" }
  if (mode === "off") return { facts }
  const isWritten = mode === "read-write"
  const items = new MemoryItems(run.shared, space, isWritten)
  const episodes = new Episodes(run.shared, space)
  const { text, isCut, lessons } = run.recorded
    ? { isCut: false, lessons: lessonsIn(run.recorded.facts) }
    : await remembered(items, run.task, budget)
  for (const id of lessons) episodes.use(id)
  if (isCut) run.warn("memory_cut", "Rules and profile are longer than their budget: their end was omitted.")
  return {
    ...(text !== undefined && { instructions: text }),
    tools: [
      recallTool(items, episodes),
      ...(isWritten ? [memorizeTool(items, episodes, { allowRules, maxItems })] : []),
    ],
    facts: { ...facts, lessons: [...lessons] },
    async close(result) {
      if (isWritten && result && result.status !== "paused") await episodes.write(run.task, result)
    },
  }
}

function lessonsIn(facts: Json | undefined): readonly string[] {
  const { lessons } = isJsonObject(facts) ? facts : {}
  return Array.isArray(lessons) ? lessons.filter((id) => typeof id === "string") : []
}

const optionsShape: Shape<MemoryOptions> = {
  mode: required(words("off", "read-only", "read-write")),
  scope: words("workspace", "global"),
  space: "text",
  allowRules: "boolean",
  budget: shapeOf<MemoryBudget>({ profile: "number", lessons: "number" }),
  maxItems: "number",
}

export type { MemoryBudget } from "./remembered.ts"
