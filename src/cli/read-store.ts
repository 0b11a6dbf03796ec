import { LonghaulError } from "../contract/error.ts"
import type { Runtime } from "../contract/run.ts"
import type { Store } from "../contract/store.ts"
import { invocation } from "./arguments.ts"
import { type ConfigChoice, readConfig } from "./config/file.ts"
import { isOwnFolder } from "./config/settings.ts"
import { storeAt } from "./config/store-choice.ts"
import { shellWord } from "./format.ts"
import type { Output } from "./output.ts"
import { chooseStore } from "./run-settings.ts"

/** Runs on disk, to look at. Without tools, so that it may be used from any folder. */
export interface OpenStore {
  readonly store: Store
  /** The config file that alone names the store, which lies outside the user's state folder. */
  readonly namedBy?: string
  readonly runtime: Runtime
}

/** The one that is named, or the one that runs from here are kept in. */
export async function openStore(
  choice: ConfigChoice & { readonly store?: string },
  { complain }: Pick<Output, "complain">,
): Promise<OpenStore> {
  const file = choice.store === undefined ? await readConfig(choice, complain) : undefined
  const { defaultStoreRoot } = await import("../hosts/node/store/state-folder.ts")
  const { storeRuntime } = await import("../hosts/node/store/store-runtime.ts")
  const chosen = chooseStore(choice.store, file)
  const store = await storeAt(chosen ?? defaultStoreRoot())
  const isFromFile = choice.store === undefined && chosen !== undefined && chosen === file?.settings.store
  const isForeign = isFromFile && !isOwnFolder(chosen)
  return { store, runtime: storeRuntime(store), ...(isForeign && { namedBy: file.path }) }
}

/**
 * For commands that act on what a run recorded: its commands, sandbox, approvals and folders. A store that came with a
 * repository may hold forged runs.
 */
export function requireNamedStore(command: string, { store, namedBy }: OpenStore): void {
  if (namedBy === undefined) return
  const message = `Nothing was done: the store ${store.location} is named by ${namedBy} only, and ${command} acts on what is recorded there.`
  const fix = `If you trust the runs in it, name it: --store ${shellWord(store.location)}.`
  throw new LonghaulError("config_invalid", message, { fix })
}

/** The run whose id is given, or the only one whose id begins so. */
export async function findRunId({ store }: OpenStore, given: string): Promise<string> {
  const { projectsPath } = await import("../journal/paths.ts")
  const ids = await store.list(projectsPath("default"))
  if (ids.includes(given)) return given
  const matching = ids.filter((id) => id.startsWith(given))
  const [only, another] = matching
  if (only !== undefined && another === undefined) return only
  if (only === undefined) throw runNotFound(given, store.location)
  throw new LonghaulError("not_found", `${matching.length} runs begin with ${JSON.stringify(given)}.`, {
    fix: `Give more of the id: ${matching.slice(0, 5).join(", ")}${matching.length > 5 ? ", …" : ""}.`,
  })
}

export function runNotFound(runId: string, location: string): LonghaulError {
  return new LonghaulError("not_found", `There is no run ${JSON.stringify(runId)} in ${location}.`, {
    fix: `List the runs with: ${invocation()} runs. If they are kept elsewhere, give --store.`,
  })
}
