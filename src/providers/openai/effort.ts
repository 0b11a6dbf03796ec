import type { Effort } from "../../contract/model-settings.ts"

/** OpenAI's own names of models that answer without thinking; they refuse everything that has to do with it. */
export function reasons(model: string): boolean {
  return !/^(ft:)?(gpt-[34]|chatgpt-|gpt-5[\d.]*-chat)/.test(nameOf(model))
}

/** The nearest step that a model takes: the outermost ones are known to few. */
export function effortWord(model: string, effort: Effort): string {
  if (effort === "minimal") return /^gpt-5(-|$)/.test(nameOf(model)) ? "minimal" : "low"
  if (effort === "max") return /^gpt-(5\.([2-9]|\d\d)|[6-9]|\d\d)|-codex-max/.test(nameOf(model)) ? "xhigh" : "high"
  return effort
}

/** Routers write the vendor in front. */
function nameOf(model: string): string {
  return model.slice(model.lastIndexOf("/") + 1)
}
