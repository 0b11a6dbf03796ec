import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, expect, test } from "vitest"
import { crc32 } from "../../../lib/crc32.ts"
import { DurableFolders } from "./folders.ts"
import { fsStore } from "./fs-store.ts"

const root = mkdtempSync(join(tmpdir(), "longhaul-folders-"))
afterEach(() => rmSync(root, { recursive: true, force: true }))

test("a folder sync failure is reported only to the callers that need it", async () => {
  mkdirSync(join(root, "there"), { recursive: true })
  const folders = new DurableFolders(root)
  const asked = ["there", "gone", "there", "gone"].map((name) => folders.sync(join(root, name)))
  const outcomes = await Promise.allSettled(asked)
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "rejected"])
  expect(outcomes[1]).toMatchObject({ reason: { code: "ENOENT" } })
  await folders.sync(join(root, "there"))
})

test("concurrent folder creations are all served, in more than one batch", async () => {
  mkdirSync(root, { recursive: true })
  const folders = new DurableFolders(root)
  const paths = Array.from({ length: 600 }, (_, index) => join(root, "shared", `run-${index}`, "main"))
  for (const path of paths) folders.stand(path)
  expect(paths.every((path) => existsSync(path))).toBe(true)
  await Promise.all(paths.map((path) => folders.settle(path, "content")))
})

test("a folder whose sync failed is synced again", async () => {
  mkdirSync(root, { recursive: true })
  const folders = new DurableFolders(root)
  const path = join(root, "one", "two")
  folders.stand(path)
  rmSync(join(root, "one"), { recursive: true })
  await expect(folders.settle(path)).rejects.toMatchObject({ code: "ENOENT" })
  mkdirSync(path, { recursive: true })
  await folders.settle(path)
})

test("a folder on disk brings Node's CRC-32, which agrees with ours on any range", () => {
  mkdirSync(root, { recursive: true })
  const { append } = fsStore(root).folder("run")
  const bytes = new TextEncoder().encode("journal ".repeat(100))
  expect(append?.crc32?.(bytes, 3, 500)).toBe(crc32(bytes, 3, 500))
})
