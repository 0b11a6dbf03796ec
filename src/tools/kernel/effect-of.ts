import type { Json } from "../../contract/json.ts"
import type { Effect, Tool } from "../../contract/tool.ts"

/** The effect of one call. If its tool cannot tell, the tool's strictest one. */
export function effectOf(tool: Pick<Tool, "effect" | "effectOf">, args: Json): Effect {
  try {
    const effect = tool.effectOf?.(args)
    return effect !== undefined && Object.hasOwn(effects, effect) ? effect : tool.effect
  } catch {
    return tool.effect
  }
}

const effects: Readonly<Record<Effect, true>> = { none: true, repeatable: true, once: true }
