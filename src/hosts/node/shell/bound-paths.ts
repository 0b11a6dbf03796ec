import { type FSWatcher, lstatSync, watch } from "node:fs"
import { basename, dirname } from "node:path"
import { ToolError } from "../../../contract/tool.ts"

/**
 * Watches paths that a sandbox covers. The kernel drops a mount when its path is replaced from outside, as editors do when they save:
 * the command would see, and could write, the new file.
 */
export class BoundPaths {
  readonly #known: ReadonlyMap<string, string>
  readonly #watchers: FSWatcher[] = []
  #onReplaced: ((path: string) => void) | undefined
  #replaced: string | undefined

  constructor(paths: readonly string[]) {
    this.#known = new Map(paths.map((path) => [path, identityOf(path)]))
    try {
      for (const folder of new Set(paths.map((path) => dirname(path)))) {
        const own = paths.filter((path) => dirname(path) === folder)
        this.#watch(folder, new Map(own.map((path) => [basename(path), path])))
      }
    } catch (error) {
      this.close()
      throw new ToolError("io", "The command was not started: files that its sandbox protects cannot be watched.", {
        cause: error,
      })
    }
  }

  /** Calls back once: at once, if a path was replaced already. */
  onReplaced(callback: (path: string) => void): void {
    this.#onReplaced = callback
    if (this.#replaced === undefined) for (const path of this.#known.keys()) this.#check(path)
    else callback(this.#replaced)
  }

  close(): void {
    this.#onReplaced = undefined
    for (const watcher of this.#watchers) watcher.close()
  }

  #watch(folder: string, names: ReadonlyMap<string, string>): void {
    const watcher = watch(folder, { persistent: false }, (_, name) => {
      // Without a name it may be any of them.
      for (const path of name === null ? names.values() : [names.get(name)]) if (path !== undefined) this.#check(path)
    })
    watcher.on("error", () => this.#report(folder))
    this.#watchers.push(watcher)
  }

  #check(path: string): void {
    if (identityOf(path) !== this.#known.get(path)) this.#report(path)
  }

  #report(path: string): void {
    if (this.#replaced !== undefined) return
    this.#replaced = path
    this.#onReplaced?.(path)
  }
}

function identityOf(path: string): string {
  const stats = lstatSync(path, { throwIfNoEntry: false, bigint: true })
  return stats === undefined ? "none" : `${stats.dev}:${stats.ino}`
}
