import type { OpenRequest } from "../../contract/backend.ts"
import type { BackendEnv } from "../../contract/backend-env.ts"
import { LonghaulError } from "../../contract/error.ts"
import { workspaceFolders } from "../shared/workspace-folders.ts"
import type { AcpAgent } from "./agents.ts"

/** A variable as the agent would get it. */
export type Given = (name: string) => string | undefined

/**
 * The variables with which an agent starts in a workspace that the user has not declared as trusted, so that nothing there starts
 * programs, sets variables or answers its questions. Rejects where no variable can do that.
 */
export async function guardVariables(
  agent: AcpAgent,
  request: OpenRequest,
  host: BackendEnv,
  given: Given,
): Promise<Readonly<Record<string, string>>> {
  const { title, runsUnasked = [], trust } = agent
  const find = (names: readonly string[]) => foundIn(request.cwd, names, host, given)
  const run = await find(runsUnasked)
  if (run !== undefined) {
    throw new LonghaulError("config_invalid", `${title} would run ${run} without asking the policy.`, {
      fix: "Check what is there, then set trustWorkspace, or move it away.",
    })
  }
  if (trust === undefined) return {}
  const { variable, files, taken } = trust
  const used = given(variable) === "true" ? undefined : await find(files)
  // Without any such file there is nothing to trust but the run's own MCP servers.
  if (used === undefined) return { [variable]: "true" }
  if (request.tools.length > 0 || Object.keys(request.mcpServers).length > 0) {
    throw new LonghaulError(
      "config_invalid",
      `${title} takes the run's tools only in a folder that it trusts, and would then use ${used}.`,
      { fix: "Check what is there, then set trustWorkspace. Or move it away, or run without tools and MCP servers." },
    )
  }
  return { [variable]: "false", ...Object.fromEntries(taken.map((name) => [name, given(name) ?? ""])) }
}

/** The same for a workspace that the user has declared as trusted. */
export function trustedVariables({ trust }: AcpAgent): Readonly<Record<string, string>> {
  return trust === undefined ? {} : { [trust.variable]: "true" }
}

/** The first of these files that is in the workspace, or in a folder above it that is not the user's own. */
async function foundIn(
  cwd: string,
  names: readonly string[],
  host: BackendEnv,
  given: Given,
): Promise<string | undefined> {
  const own = [given("HOME"), host.variable?.("HOME"), given("GEMINI_CLI_HOME")].filter((folder) => folder !== cwd)
  const folders = (await workspaceFolders(cwd, host)).filter((folder) => !own.includes(folder))
  for (const path of folders.flatMap((folder) => names.map((name) => `${folder === "/" ? "" : folder}/${name}`))) {
    if (await host.exists?.(path)) return path
  }
  return undefined
}
