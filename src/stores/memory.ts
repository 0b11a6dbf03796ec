import type { Folder, Store } from "../contract/store.ts"
import { partOf } from "../lib/list-part.ts"

/** Keeps runs in the memory of this process: for tests, workers and runs that are not needed afterwards. */
export function memoryStore(): Store {
  const files: Files = new Map()
  return {
    location: "memory",
    folder: (path) => memoryFolder(files, path),
    list: async (path, part) => partOf(namesUnder(files, path), part),
  }
}

type Files = Map<string, GrowingBytes>

function memoryFolder(files: Files, path: string): Folder {
  const at = (name: string) => `${path}/${name}`
  return {
    location: `memory:${path}`,
    read: async (name) => files.get(at(name))?.bytes() ?? null,
    exists: async (name) => files.has(at(name)),
    list: async () => namesUnder(files, path),
    create: async (name, bytes) => {
      if (files.has(at(name))) return "exists"
      files.set(at(name), new GrowingBytes(bytes))
      return "created"
    },
    replace: async (name, bytes) => {
      files.set(at(name), new GrowingBytes(bytes))
    },
    delete: async (name) => {
      files.delete(at(name))
    },
    append: {
      open: async (name, first) => {
        if (files.has(at(name))) return null
        const file = new GrowingBytes(first)
        files.set(at(name), file)
        return {
          write: (bytes) => file.write(bytes),
          stands: async () => files.get(at(name)) === file,
          close: async () => {},
        }
      },
      readFrom: async (name, offset) => files.get(at(name))?.bytes(offset) ?? null,
      sync: async () => {},
      syncFolder: async () => {},
    },
  }
}

/** Grows by doubling, so that a long run does not copy its journal at every flush. */
class GrowingBytes {
  #buffer: Uint8Array
  #length: number

  constructor(bytes: Uint8Array = new Uint8Array()) {
    this.#buffer = bytes.slice()
    this.#length = bytes.length
  }

  bytes(from = 0): Uint8Array {
    return this.#buffer.slice(from, this.#length)
  }

  async write(bytes: Uint8Array): Promise<void> {
    const length = this.#length + bytes.length
    if (length > this.#buffer.length) {
      const larger = new Uint8Array(Math.max(length, this.#buffer.length * 2))
      larger.set(this.#buffer.subarray(0, this.#length))
      this.#buffer = larger
    }
    this.#buffer.set(bytes, this.#length)
    this.#length = length
  }
}

function namesUnder(files: Files, path: string): string[] {
  const names = new Set<string>()
  for (const file of files.keys()) {
    if (!file.startsWith(`${path}/`)) continue
    // Safe: a split has a first part.
    names.add(file.slice(path.length + 1).split("/", 1)[0] as string)
  }
  return [...names].sort()
}
