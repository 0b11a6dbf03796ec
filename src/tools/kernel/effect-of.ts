import type { Json } from "../../contract/json.ts"
import type { Effect, Tool } from "../../contract/tool.ts"

type WithEffect = Pick<Tool, "effect" | "effectOf" | "inner">

/** The effect of one call: that of the inner one, if its tool calls others. If its tool cannot determine it, the tool's strictest one. */
export function effectOf(tool: WithEffect, args: Json): Effect {
  try {
    const inner = tool.inner?.(args)
    if (inner !== undefined && inner.tool !== tool) return effectOf(inner.tool, inner.args)
    const effect = tool.effectOf?.(args)
    return effect !== undefined && Object.hasOwn(effects, effect) ? effect : tool.effect
  } catch {
    return tool.effect
  }
}

/** True if the calls of a tool have different effects. */
export function hasEffectPerCall({ effectOf, inner }: WithEffect): boolean {
  return effectOf !== undefined || inner !== undefined
}

const effects: Readonly<Record<Effect, true>> = { none: true, repeatable: true, once: true }
