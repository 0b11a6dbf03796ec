import type { BackendEnv, ProgramSpec } from "../../contract/backend-env.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Effort } from "../../contract/model-settings.ts"
import type { Launch } from "./session.ts"

export interface ClaudeOptions {
  /** The program. Default `claude`, from PATH. */
  readonly command?: string
  /** Variables of this process that it gets, in addition to those with the login and the addresses of Claude. */
  readonly passEnv?: readonly string[]
  /** Variables that it gets with these values. */
  readonly env?: Readonly<Record<string, string>>
}

const INSTALL = "npm install -g @anthropic-ai/claude-code"

/** The variables that select the account and its server. */
const passed: readonly string[] = [
  ...["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS"],
  ...["CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"],
  ...["CLAUDE_CODE_USE_FOUNDRY", "AWS_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"],
  ...["AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "ANTHROPIC_VERTEX_PROJECT_ID", "CLOUD_ML_REGION"],
  ...["GOOGLE_APPLICATION_CREDENTIALS", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS"],
]

const fixed: Readonly<Record<string, string>> = {
  // The runtime retries, nothing else does.
  CLAUDE_CODE_MAX_RETRIES: "0",
  CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK: "1",
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  // A command must end within its call: its effects belong to it.
  CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1",
  // Otherwise the tools of MCP servers are in no request before the model has searched for them.
  ENABLE_TOOL_SEARCH: "false",
}

/** Rules that ask about every call, also before the program has its hooks. The settings of users and projects are not read. */
export const settings = { permissions: { ask: ["*"] } } as const

type Spec = Omit<ProgramSpec, "args">

/** How the program is started for a session, but for its arguments. */
export function programSpec(options: ClaudeOptions, { request, mcp }: Launch): Spec {
  const { maxOutputTokens } = request.settings
  const spec = probeSpec(options)
  return {
    ...spec,
    cwd: request.cwd,
    runId: request.runId,
    env: {
      ...spec.env,
      ...mcp.env,
      ...(maxOutputTokens !== undefined && { CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(maxOutputTokens) }),
    },
  }
}

/** The same for a question that belongs to no run: in a folder whose files say nothing. */
export function probeSpec({ command = "claude", passEnv = [], env }: ClaudeOptions): Spec {
  return {
    command,
    cwd: "/",
    runId: "probe",
    passEnv: [...passed, ...passEnv],
    env: { ...env, ...fixed },
    install: INSTALL,
  }
}

/** The name of the model at the vendor. Undefined: its default. */
export function modelName({ request }: Launch): string | undefined {
  return typeof request.model === "string" ? request.model : request.model?.id
}

/** The requests that the session may make. The results of the last one's calls are recorded, and the program stops. */
export function turnsLeft({ request: { limits, from } }: Launch): number {
  return Math.max(1, limits.turns - from.turns)
}

export function effortLevel(effort: Effort): "low" | "medium" | "high" | "max" {
  return effort === "minimal" ? "low" : effort
}

export function spawnOf({ spawn }: BackendEnv): NonNullable<BackendEnv["spawn"]> {
  if (spawn) return spawn
  throw new LonghaulError("capability_mismatch", "This host cannot start programs.", {
    fix: "Use the runtime of longhaul/node.",
  })
}
