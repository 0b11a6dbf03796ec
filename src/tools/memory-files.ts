import type { FileEntry, FileInfo, Files } from "../contract/env.ts"
import { ToolError } from "../contract/tool.ts"
import { isOurs, leadsToOurs } from "../lib/own-names.ts"
import { checkArgument, recordOf } from "../lib/schema/shape.ts"

/** Files in memory, by their paths from `/`: for tests, and for hosts without a disk. */
export function memoryFiles(initial: Readonly<Record<string, string | Uint8Array>> = {}): Files {
  checkArgument("initial", initial, recordOf(["text", "bytes"]))
  const tree = new FileTree()
  const begun = Date.now()
  for (const [path, content] of Object.entries(initial)) {
    tree.put(resolvePath("/", path), typeof content === "string" ? new TextEncoder().encode(content) : content, begun)
  }

  return {
    display,

    async info(path, cwd): Promise<FileInfo> {
      const at = resolvePath(cwd, path)
      refuseOurs(at, display(path, cwd), "read")
      const file = tree.files.get(at)
      if (file) return { kind: "file", size: file.bytes.length, modifiedMs: file.modifiedMs, version: file.version }
      if (tree.isFolder(at)) return { kind: "folder", size: 0, modifiedMs: 0, version: "" }
      throw missing(display(path, cwd))
    },

    async read(path, cwd, range) {
      const at = resolvePath(cwd, path)
      refuseOurs(at, display(path, cwd), "read")
      const { bytes } = tree.fileAt(at, display(path, cwd))
      return range ? bytes.slice(range.offset, range.offset + range.limit) : bytes.slice()
    },

    async list(path, cwd) {
      const at = resolvePath(cwd, path)
      const shown = display(path, cwd)
      refuseOurs(at, shown, "read")
      if (tree.files.has(at)) throw new ToolError("invalid_input", `${shown} is not a folder.`)
      if (!tree.isFolder(at)) throw missing(shown)
      return entriesOf(tree.files.keys(), at)
    },

    async write(path, cwd, bytes, options) {
      const at = resolvePath(cwd, path)
      const shown = display(path, cwd)
      refuseOurs(at, shown)
      tree.requirePlace(at, shown)
      tree.requireVersion(at, shown, options?.version)
      return { created: tree.put(at, bytes) }
    },

    async update(path, cwd, change) {
      const at = resolvePath(cwd, path)
      refuseOurs(at, display(path, cwd))
      tree.put(at, change(tree.fileAt(at, display(path, cwd)).bytes.slice()))
    },

    async commit(changes, cwd) {
      const resolved = changes.map((change) => ({ ...change, at: resolvePath(cwd, change.path) }))
      for (const { at, path, version, content } of resolved) {
        const shown = display(path, cwd)
        refuseOurs(at, shown)
        if (resolved.filter((each) => each.at === at || at.startsWith(`${each.at}/`)).length > 1) {
          throw new ToolError("invalid_input", `${shown} is changed twice, or is below a file of the same change.`)
        }
        tree.requireVersion(at, shown, version)
        if (content === null) tree.fileAt(at, shown)
        else tree.requirePlace(at, shown)
      }
      for (const { at, content } of resolved) {
        if (content === null) tree.files.delete(at)
        else tree.put(at, content)
      }
    },
  }
}

/** The existing files, by absolute path. Folders are the beginnings of paths. */
class FileTree {
  readonly files = new Map<string, { bytes: Uint8Array; modifiedMs: number; version: string }>()
  #writes = 0

  put(path: string, bytes: Uint8Array, modifiedMs = Date.now()): boolean {
    const created = !this.files.has(path)
    this.files.set(path, { bytes: bytes.slice(), modifiedMs, version: String(++this.#writes) })
    return created
  }

  fileAt(path: string, shown: string) {
    const file = this.files.get(path)
    if (file !== undefined) return file
    throw this.isFolder(path) ? new ToolError("invalid_input", `${shown} is a folder.`) : missing(shown)
  }

  isFolder(path: string): boolean {
    return path === "/" || Array.from(this.files.keys()).some((each) => each.startsWith(`${path}/`))
  }

  /** A path that cannot be a file because of the existing files. */
  requirePlace(path: string, shown: string): void {
    if (this.isFolder(path)) throw new ToolError("invalid_input", `${shown} is a folder.`)
    for (let parent = parentOf(path); parent !== "/"; parent = parentOf(parent)) {
      if (this.files.has(parent)) {
        throw new ToolError("invalid_input", `${shown} is below a path that is not a folder.`)
      }
    }
  }

  requireVersion(path: string, shown: string, version: string | null | undefined): void {
    if (version === undefined || version === (this.files.get(path)?.version ?? null)) return
    throw new ToolError(
      "conflict",
      `${shown} ${version === null ? "already exists" : "has changed since it was read"}.`,
    )
  }
}

function display(path: string, cwd: string): string {
  return resolvePath(cwd, path).slice(1) || "."
}

/** As on disk: `..` above the root stays at the root. */
function resolvePath(cwd: string, path: string): string {
  const names: string[] = []
  for (const name of (path.startsWith("/") ? path : `${cwd}/${path}`).split("/")) {
    if (name === "..") names.pop()
    else if (name !== "" && name !== ".") names.push(name)
  }
  return `/${names.join("/")}`
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf("/")))
}

function entriesOf(paths: Iterable<string>, folder: string): readonly FileEntry[] {
  const prefix = folder === "/" ? "/" : `${folder}/`
  const entries = new Map<string, FileEntry>()
  for (const path of paths) {
    if (!path.startsWith(prefix)) continue
    const [name = "", ...rest] = path.slice(prefix.length).split("/")
    if (!isOurs(name)) entries.set(name, { name, kind: rest.length > 0 ? "folder" : "file" })
  }
  return [...entries.values()]
}

function refuseOurs(path: string, shown: string, access: "read" | "write" = "write"): void {
  if (leadsToOurs(path.slice(1).split("/"), access)) throw new ToolError("denied", `${shown} is reserved for longhaul.`)
}

function missing(shown: string): ToolError {
  return new ToolError("not_found", `${shown} does not exist.`)
}
