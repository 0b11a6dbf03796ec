import { LonghaulError } from "../../contract/error.ts"
import type { ExtensionRun } from "../../contract/extension.ts"
import type { Store } from "../../contract/store.ts"
import { checkedId } from "../../lib/id.ts"

/** The part of a store that belongs to a workspace. Paths cannot leave it. */
export function scopedStore(store: Store, workspaceId: string): ExtensionRun["shared"] {
  const root = `workspaces/${checkedId("workspaceId", workspaceId)}`
  const inside = (path: string) => `${root}/${checkedPath(path)}`
  return {
    location: store.location,
    folder: (path) => store.folder(inside(path)),
    list: (path, part) => store.list(inside(path), part),
    ...(store.within && { within: (path) => scoped(inside, store.within?.(inside(path)) ?? store) }),
  }
}

function scoped(inside: (path: string) => string, { folder, list }: Pick<Store, "folder" | "list">) {
  const part: Pick<Store, "folder" | "list"> = {
    folder: (path) => folder(inside(path)),
    list: (path, names) => list(inside(path), names),
  }
  return part
}

function checkedPath(path: string): string {
  const isPlain = path
    .split("/")
    .every((part) => /^[\p{L}\p{N}._-][^\\/\0]*$/u.test(part) && part !== "." && part !== "..")
  if (isPlain && !/\p{Cc}/u.test(path)) return path
  throw new LonghaulError("config_invalid", `${JSON.stringify(path)} is not a path inside a workspace.`, {
    fix: "Use names separated by slashes.",
  })
}
