import fs, { closeSync, mkdtempSync, openSync, rmSync } from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, onTestFinished, test, vi } from "vitest"
import { writeWhole } from "./disk.ts"
import { fsStore } from "./fs-store.ts"

test("a write of only a part of the bytes has failed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "longhaul-disk-"))
  const fd = openSync(join(folder, "f"), "w")
  const write = fs.write
  type Done = (error: NodeJS.ErrnoException | null, written: number) => void
  const partly = (at: number, bytes: Uint8Array, from: number, length: number, place: null, done: Done) =>
    write(at, bytes, from, length - 1, place, done)
  vi.spyOn(fs, "write").mockImplementation(partly as typeof write) // One of its overloads.
  syncBuiltinESMExports()
  onTestFinished(() => {
    vi.restoreAllMocks()
    syncBuiltinESMExports()
    closeSync(fd)
    rmSync(folder, { recursive: true })
  })
  await expect(writeWhole(fd, new TextEncoder().encode("four"), "write a file")).rejects.toMatchObject({
    code: "storage",
    message: "Only 3 of 4 bytes could be written.",
  })
})

/** File systems of every Linux machine: one in memory, and one that is no disk. Stores create their folders on first use. */
test.runIf(process.platform === "linux").each([
  ["/dev/shm/longhaul-never-created", true, 0],
  ["/proc/longhaul-never-created", false, 1],
])("a store on %s appends only where a new name is seen at once", (root, appends, warnings) => {
  const warn = vi.fn()
  expect(fsStore(root, { warn }).folder("x").append !== undefined).toBe(appends)
  expect(warn).toHaveBeenCalledTimes(warnings)
})
