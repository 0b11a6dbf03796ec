import type { BackendEnv } from "../../contract/backend-env.ts"

/**
 * The workspace and every folder above it, by the given path and by the real one: programs look for their files in all of them.
 */
export async function workspaceFolders(cwd: string, env: BackendEnv): Promise<readonly string[]> {
  const real = (await env.realPath?.(cwd).catch(() => undefined)) ?? cwd
  return [...new Set([...withFoldersAbove(cwd), ...withFoldersAbove(real)])]
}

function withFoldersAbove(path: string): readonly string[] {
  const parts = path.replace(/\/+$/, "").split("/")
  return parts.map((_, index) => parts.slice(0, parts.length - index).join("/") || "/")
}
