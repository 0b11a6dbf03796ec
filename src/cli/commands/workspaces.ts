import { type Command, commonOptions, noPositionals, parseCommandLine, storeOption } from "../arguments.ts"
import { configOptions } from "../config/file.ts"
import { counted } from "../format.ts"
import { openStore } from "../read-store.ts"

const { store } = storeOption
const options = { store, ...configOptions, ...commonOptions } as const

export const command: Command = {
  summary: "List the workspaces (tenants) of a store.",
  usage: "[options]",
  options,
  notes: ["Other commands use the workspace named by --workspace-id, else the one named default."],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("workspaces", args, options)
    noPositionals("workspaces", positionals)
    const { projectsPath } = await import("../../journal/paths.ts")
    const { isId } = await import("../../lib/id.ts")
    const opened = await openStore(values, output)
    const ids = (await opened.store.list("workspaces")).filter(isId)
    const workspaces: { readonly workspaceId: string; readonly runs: number }[] = []
    for (const workspaceId of ids) {
      const runs = (await opened.store.list(projectsPath(workspaceId))).filter(isId).length
      workspaces.push({ workspaceId, runs })
    }
    if (values.json) output.printJson(workspaces)
    else if (workspaces.length === 0) output.print(`There are no workspaces in ${opened.store.location}.`)
    else for (const { workspaceId, runs } of workspaces) output.print(`${workspaceId}  ${counted(runs, "run")}`)
    return 0
  },
}
