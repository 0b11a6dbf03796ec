import type { RunKey, Store } from "../../src/contract/store.ts"
import { inboxName, runPath } from "../../src/journal/paths.ts"
import { until } from "./watchdog.ts"

/** A store that tells when the owner of a run has taken a message from its inbox. */
export function watchedInbox(inner: Store, key: RunKey) {
  const looked = new Set<string>()
  const store: Store = {
    ...inner,
    folder(path) {
      const folder = inner.folder(path)
      if (path !== runPath(key)) return folder
      const exists: typeof folder.exists = (name) => {
        looked.add(name)
        return folder.exists(name)
      }
      return { ...folder, exists }
    },
  }
  /** The owner looks for a message once it has taken the one before. */
  const taken = (slot: number) => until(() => looked.has(inboxName(slot + 1)))
  return { store, taken }
}
