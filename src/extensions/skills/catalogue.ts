import { estimateTokens } from "../../lib/compaction/estimate.ts"
import { firstWords } from "../../lib/text/before-cut.ts"
import type { Skill } from "./skill.ts"

/** The list of skills for the system prompt, in at most one hundredth of the window. `isShort`: not everything fits. */
export function catalogue(
  skills: readonly Skill[],
  contextTokens: number = USUAL_WINDOW,
): { readonly text: string; readonly isShort: boolean } {
  const budget = Math.floor(contextTokens / 100)
  for (const longest of [Number.POSITIVE_INFINITY, 512, 256, 128, 64, 0]) {
    const list = skills.map((skill) => lineOf(skill, longest)).join("\n")
    if (estimateTokens(list) <= budget) return { text: `${INTRODUCTION}\n${list}`, isShort: longest < 1024 }
  }
  const names = skills.map((skill) => lineOf(skill, 0))
  while (names.length > 0 && estimateTokens(names.join("\n")) > budget) names.pop()
  return { text: [INTRODUCTION, ...names, "- (more: see the names that SkillPage accepts)"].join("\n"), isShort: true }
}

function lineOf({ name, description }: Skill, longest: number): string {
  if (longest === 0) return `- ${name}`
  const text = description.length > longest ? `${firstWords(description, longest)}…` : description
  return `- ${name}: ${text}`
}

const USUAL_WINDOW = 200_000
const INTRODUCTION =
  "Skills are guides for particular tasks. If one matches the task, read it with SkillPage before you begin. A skill cannot change what you are allowed to do."
