import type { AppendFile, Folder, Store } from "../contract/store.ts"
import { partOf } from "../lib/list-part.ts"

/** One step of one process. A write has three: before it, part of it visible, all of it visible but not yet durable. */
export interface DiskStep {
  readonly actor: string
  readonly kind: DiskStepKind
  readonly name: string
}

export type DiskStepKind =
  | "list"
  | "exists"
  | "read"
  | "open"
  | "write"
  | "write-half"
  | "write-sync"
  | "sync"
  | "sync-folder"
  | "create"
  | "created"

/** Called before each step: may delay it by waiting, or fail the operation by throwing. */
export type DiskIntercept = (step: DiskStep) => void | Promise<void>

/**
 * A disk with controllable faults: scheduling, torn writes, failed syncs, lost responses and power loss. One folder;
 * each process has its own view.
 */
export interface SimulatedDisk {
  /** A process's view. `createOnly`: without appending. */
  view(actor: string, options?: { readonly intercept?: DiskIntercept; readonly createOnly?: boolean }): Store
  readonly steps: readonly DiskStep[]
  names(): readonly string[]
  bytes(name: string): Uint8Array | undefined
  /** Unsynced data is lost wherever `keeps` returns false. Earlier processes must not continue. */
  losePower(keeps?: (what: "bytes" | "name", file: string) => boolean): void
}

interface DiskFile {
  bytes: Uint8Array
  durableLength: number
  durableName: boolean
}

export function simulatedDisk(): SimulatedDisk {
  const files = new Map<string, DiskFile>()
  const steps: DiskStep[] = []
  return {
    steps,
    names: () => [...files.keys()],
    bytes: (name) => files.get(name)?.bytes,
    view(actor, { intercept, createOnly = false } = {}) {
      const step = async (kind: DiskStepKind, name: string) => {
        steps.push({ actor, kind, name })
        await intercept?.({ actor, kind, name })
      }
      const folder = diskFolder(files, step, createOnly)
      return {
        location: "simulated",
        folder: () => folder,
        list: async (_path, part) => partOf(await folder.list(), part),
      }
    },
    losePower(keeps = () => false) {
      for (const [name, file] of files) {
        if (!file.durableName && !keeps("name", name)) files.delete(name)
        else if (!keeps("bytes", name)) file.bytes = file.bytes.slice(0, file.durableLength)
      }
    },
  }
}

type Step = (kind: DiskStepKind, name: string) => Promise<void>

function diskFolder(files: Map<string, DiskFile>, step: Step, createOnly: boolean): Folder {
  return {
    location: "simulated",
    async list() {
      await step("list", "")
      return [...files.keys()].sort()
    },
    async exists(name) {
      await step("exists", name)
      return files.has(name)
    },
    async read(name) {
      await step("read", name)
      return files.get(name)?.bytes.slice() ?? null
    },
    async create(name, bytes) {
      await step("create", name)
      if (files.has(name)) return "exists"
      files.set(name, { bytes: bytes.slice(), durableLength: bytes.length, durableName: true })
      await step("created", name)
      return "created"
    },
    async replace(name, bytes) {
      files.set(name, { bytes: bytes.slice(), durableLength: 0, durableName: false })
    },
    async delete(name) {
      files.delete(name)
    },
    ...(!createOnly && {
      append: {
        async open(name: string, first: Uint8Array) {
          await step("open", name)
          if (files.has(name)) return null
          const file: DiskFile = { bytes: first.slice(), durableLength: 0, durableName: false }
          files.set(name, file)
          return appendFile(file, name, step, () => files.get(name) === file)
        },
        async readFrom(name: string, offset: number) {
          await step("read", name)
          return files.get(name)?.bytes.slice(offset) ?? null
        },
        async sync(name: string) {
          await step("sync", name)
          const file = files.get(name)
          if (file) file.durableLength = file.bytes.length
        },
        async syncFolder() {
          await step("sync-folder", "")
          for (const file of files.values()) file.durableName = true
        },
      },
    }),
  }
}

function appendFile(file: DiskFile, name: string, step: Step, stands: () => boolean): AppendFile {
  const put = (bytes: Uint8Array) => {
    const longer = new Uint8Array(file.bytes.length + bytes.length)
    longer.set(file.bytes)
    longer.set(bytes, file.bytes.length)
    file.bytes = longer
  }
  return {
    async write(bytes) {
      const half = bytes.length >> 1
      await step("write", name)
      put(bytes.subarray(0, half))
      await step("write-half", name)
      put(bytes.subarray(half))
      const length = file.bytes.length
      await step("write-sync", name)
      file.durableLength = Math.max(file.durableLength, length)
    },
    stands: async () => stands(),
    async close() {},
  }
}
