import type { AppendFile, Appending, Folder, Store } from "../../contract/store.ts"
import type { Blow } from "./plan.ts"

export interface CrashingStore {
  readonly store: Store
  /** Operations that changed the store so far, in order. */
  readonly operations: readonly string[]
}

/** Counts the operations that change a store, and kills the process before, during or after one of them. */
export function crashing(inner: Store, blow: Blow | undefined, die: () => never): CrashingStore {
  const operations: string[] = []

  async function operation<T>(
    kind: string,
    work: () => Promise<T>,
    tear?: (part: number) => Promise<void>,
  ): Promise<T> {
    if (operations.push(kind) - 1 !== blow?.at) return work()
    if (blow.when === "before") die()
    if (blow.when === "torn") {
      await tear?.(blow.part)
      die()
    }
    return work().finally(die)
  }

  const folder = (inside: Folder): Folder => ({
    ...inside,
    create: (name, bytes) => operation("create", () => inside.create(name, bytes)),
    replace: (name, bytes) => operation("replace", () => inside.replace(name, bytes)),
    delete: (name) => operation("delete", () => inside.delete(name)),
    ...(inside.append && { append: appending(inside.append) }),
  })

  const appending = (inside: Appending): Appending => ({
    ...inside,
    async open(name, first) {
      const file = await operation("open", () => inside.open(name, first))
      return file && appendFile(file)
    },
    sync: (name) => operation("sync", () => inside.sync(name)),
    syncFolder: () => operation("sync-folder", () => inside.syncFolder()),
  })

  const appendFile = (inside: AppendFile): AppendFile => ({
    stands: () => inside.stands(),
    close: () => inside.close(),
    write: (bytes) =>
      operation(
        "write",
        () => inside.write(bytes),
        // Writes at least one byte, and omits at least one.
        (part) => inside.write(bytes.subarray(0, 1 + Math.floor(part * (bytes.length - 2)))),
      ),
  })

  return { operations, store: { ...inner, folder: (path) => folder(inner.folder(path)) } }
}
