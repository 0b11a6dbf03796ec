/**
 * The working directory for the journal: relative if it is inside the workspace, so that a process whose workspace has another
 * path can resume the run.
 */
export function recordedCwd(workspace: string, cwd: string): string {
  const inside = cwd.startsWith(workspace) ? cwd.slice(workspace.length) : undefined
  if (inside === "") return "."
  if (inside === undefined || !(/^[\\/]/.test(inside) || /[\\/]$/.test(workspace))) return cwd
  return inside.replace(/^[\\/]+/, "") || "."
}

/** The working directory of the tools, from the caller or from the journal. Absolute paths stay as they are. */
export function workingDirectory(workspace: string, cwd: string): string {
  if (cwd === "." || cwd === "") return workspace
  if (workspace === "." || isAbsolute(cwd)) return cwd
  return /[\\/]$/.test(workspace) ? `${workspace}${cwd}` : `${workspace}/${cwd}`
}

function isAbsolute(path: string): boolean {
  return /^(?:[\\/]|[A-Za-z]:[\\/])/.test(path)
}
