import { native } from "../../../backends/native/index.ts"
import type { Runtime } from "../../../contract/runtime.ts"
import type { Store } from "../../../contract/store.ts"
import { assembleRuntime } from "../../../runtime/runtime.ts"
import { isDead, processOwner } from "../owner.ts"

/** A runtime with a store and without model or tools: to read, cancel and remove runs from any folder. */
export function storeRuntime(store: Store, workspaceId: string): Runtime {
  const again = () => storeRuntime(store, workspaceId)
  return assembleRuntime(
    { store, workspaceId, owner: processOwner() },
    { store: () => store, backend: native, isDead, again },
  )
}
