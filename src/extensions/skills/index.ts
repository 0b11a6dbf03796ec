import type { Extension, ExtensionRun, OpenedExtension } from "../../contract/extension.ts"
import { files, texts } from "../../lib/schema/contract-shapes.ts"
import { checkShape, listOf, required, type Shape, shapeOf } from "../../lib/schema/shape.ts"
import { catalogue } from "./catalogue.ts"
import { discover, type SkillFolder, skillFolders } from "./discover.ts"
import { checkGiven, type GivenSkill, givenCredentials, givenSkills, skillShape } from "./given.ts"
import { skillPage } from "./skill-page.ts"

export interface SkillsOptions {
  /** Given skills. None are looked for on disk then. */
  readonly skills?: readonly GivenSkill[]
  /** Looks for skills in the workspace: in `.longhaul/skills`, `.agents/skills` and `.claude/skills`. Default false. */
  readonly trusted?: boolean
  /** Where skills are looked for instead: paths in the workspace, and folders elsewhere. Of one name the first is used. */
  readonly folders?: readonly (string | SkillFolder)[]
  /** False: names and descriptions are not listed in the system prompt, only by the tool. Default true. */
  readonly autoload?: boolean
  /** The only hosts, as `host` or `host:port`, that skills are fetched from. Default: the host of each `url`. */
  readonly allowedHosts?: readonly string[]
}

/** Skills as agentskills.io defines them: listed in the system prompt, read by the tool SkillPage. */
export function skills(options: SkillsOptions = {}): Extension {
  checkShape<SkillsOptions>("skills", options, optionsShape)
  const { skills: given, allowedHosts } = options
  if (given) checkGiven(given, allowedHosts)
  return {
    name: "skills",
    credentials: () => givenCredentials(given ?? []),
    open: (run) => open(run, options),
  }
}

async function open(run: ExtensionRun, options: SkillsOptions): Promise<OpenedExtension> {
  const { skills: given, trusted = false, autoload = true, allowedHosts } = options
  const { env } = run
  const folders = options.folders ?? (trusted ? skillFolders : [])
  const found = given
    ? givenSkills(given, allowedHosts, env.fetch)
    : await discover(env.files, folders, (code, message) => run.warn(code, message))
  if (found.length === 0) return {}
  const { text, isShort } = catalogue(found, run.contextTokens)
  if (autoload && isShort) {
    run.warn("skills_shortened", "The descriptions of the skills take more than 1 % of the window, and were cut.")
  }
  return {
    ...(autoload && { instructions: text }),
    tools: [skillPage(found)],
    facts: {
      skills: found.map(({ name, source, allowedTools }) => ({
        name,
        source,
        ...(allowedTools && { allowedTools: [...allowedTools] }),
      })),
    },
  }
}

const optionsShape: Shape<SkillsOptions> = {
  skills: listOf(shapeOf<GivenSkill>(skillShape)),
  trusted: "boolean",
  folders: listOf(["text", shapeOf<SkillFolder>({ files: required(files), path: required("text"), shown: "text" })]),
  autoload: "boolean",
  allowedHosts: texts,
}

export { type SkillFolder, skillFolders } from "./discover.ts"
export type { GivenSkill } from "./given.ts"
