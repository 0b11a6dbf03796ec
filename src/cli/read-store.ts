import { LonghaulError } from "../contract/error.ts"
import type { Runtime } from "../contract/runtime.ts"
import type { Store } from "../contract/store.ts"
import { isId } from "../lib/id.ts"
import {
  commonOptions,
  invocation,
  nodeOption,
  onlyPositional,
  type StoreChoice,
  storeOption,
  workspaceIdOf,
} from "./arguments.ts"
import { type ConfigChoice, configOptions, readConfig } from "./config/file.ts"
import { isOwnFolder } from "./config/settings.ts"
import { storeAt } from "./config/store-choice.ts"
import { shellWord } from "./format.ts"
import type { Output } from "./output.ts"
import { chooseStore } from "./run-settings.ts"

/** Reads stored runs. Without tools, so that it can be used from any folder. */
export interface OpenStore {
  readonly store: Store
  readonly workspaceId: string
  /** Set if only a config file names the store, which is outside the user's state folder. */
  readonly namedBy?: string
  readonly runtime: Runtime
}

/** The options of a command about one run. */
export const runOptions = { ...nodeOption, ...storeOption, ...configOptions, ...commonOptions } as const

/** The store, and the run in it that the command names. */
export async function openNamedRun(
  command: string,
  choice: ConfigChoice & StoreChoice,
  positionals: readonly string[],
  output: Pick<Output, "complain">,
) {
  const opened = await openStore(choice, output)
  return { opened, runId: await findRunId(opened, onlyPositional(command, "runId", positionals)) }
}

/** The named store, or the one that runs from here are kept in. */
export async function openStore(
  choice: ConfigChoice & StoreChoice,
  { complain }: Pick<Output, "complain">,
): Promise<OpenStore> {
  const workspaceId = workspaceIdOf(choice)
  const file = choice.store === undefined ? await readConfig(choice, complain, { planted: "ignore" }) : undefined
  const { defaultStoreRoot } = await import("../hosts/node/store/state-folder.ts")
  const { storeRuntime } = await import("../hosts/node/store/store-runtime.ts")
  const chosen = chooseStore(choice.store, file)
  const store = await storeAt(chosen ?? defaultStoreRoot())
  const isFromFile = choice.store === undefined && chosen !== undefined && chosen === file?.settings.store
  const isForeign = isFromFile && !isOwnFolder(chosen)
  return { store, workspaceId, runtime: storeRuntime(store, workspaceId), ...(isForeign && { namedBy: file.path }) }
}

/**
 * For commands that act on recorded data: its commands, sandbox, approvals and folders. A store that came with a
 * repository may contain forged runs.
 */
export function requireNamedStore(command: string, { store, namedBy }: OpenStore): void {
  if (namedBy === undefined) return
  const message = `Nothing was done: only ${namedBy} names the store ${store.location}, and ${command} acts on the data in it.`
  const fix = `If you trust its runs, add: --store ${shellWord(store.location)}.`
  throw new LonghaulError("config_invalid", message, { fix })
}

/** The run with this id, or the only one whose id starts with it. */
export async function findRunId({ store, workspaceId }: OpenStore, given: string): Promise<string> {
  const { projectsPath } = await import("../journal/paths.ts")
  const ids = await store.list(projectsPath(workspaceId))
  if (ids.includes(given)) return given
  // Marks of takes are beside the folders of runs.
  const matching = ids.filter((id) => id.startsWith(given) && isId(id))
  const [only, another] = matching
  if (only !== undefined && another === undefined) return only
  if (only === undefined) throw runNotFound(given, store.location)
  throw new LonghaulError("not_found", `${matching.length} run ids start with ${JSON.stringify(given)}.`, {
    fix: `Use more of the id: ${matching.slice(0, 5).join(", ")}${matching.length > 5 ? ", …" : ""}.`,
  })
}

export function runNotFound(runId: string, location: string): LonghaulError {
  return new LonghaulError("not_found", `Run ${JSON.stringify(runId)} was not found in ${location}.`, {
    fix: `List the runs with: ${invocation()} runs. If they are stored elsewhere, add --store or --workspace-id.`,
  })
}
