import type { Effort } from "../../contract/model-settings.ts"

/** OpenAI's models without reasoning; they reject every reasoning option. */
export function reasons(model: string): boolean {
  return !/^(ft:)?(gpt-[34]|chatgpt-|gpt-5[\d.]*-chat)/.test(nameOf(model))
}

/** The nearest step that a model accepts: few know the outermost ones. */
export function effortWord(model: string, effort: Effort): string {
  if (effort === "minimal") return /^gpt-5(-|$)/.test(nameOf(model)) ? "minimal" : "low"
  if (effort === "max") return /^gpt-(5\.([2-9]|\d\d)|[6-9]|\d\d)|-codex-max/.test(nameOf(model)) ? "xhigh" : "high"
  return effort
}

/** Routers prefix the vendor. */
function nameOf(model: string): string {
  return model.slice(model.lastIndexOf("/") + 1)
}
