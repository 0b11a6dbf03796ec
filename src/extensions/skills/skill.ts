/** A skill's description of itself, as agentskills.io defines it. */
export interface SkillHeader {
  readonly name: string
  readonly description: string
  readonly license?: string | undefined
  readonly compatibility?: string | undefined
  readonly metadata?: Readonly<Record<string, string>> | undefined
  /** A request: it grants nothing. */
  readonly allowedTools?: readonly string[] | undefined
}

/** A skill of a run. Its texts are read when the model asks for them. */
export interface Skill extends SkillHeader {
  /** Where it comes from, for people and the model. Without secrets. */
  readonly source: string
  body(signal: AbortSignal): Promise<string>
  /** Paths of its other files, in order. */
  pages(): Promise<readonly string[]>
  /** One of `pages`. */
  page(path: string, signal: AbortSignal): Promise<string>
}

export const MAX_SKILL_NAME_LENGTH = 64
export const MAX_DESCRIPTION_LENGTH = 1024
/** Of `SKILL.md` and of each page. */
export const MAX_TEXT_LENGTH = 256 * 1024
