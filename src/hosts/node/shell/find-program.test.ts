import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { afterAll, expect, test } from "vitest"
import { findProgram, pathOutside } from "./find-program.ts"

const folder = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-find-")))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const at = (...names: string[]) => join(folder, ...names)
const [workspace, link, bin] = [at("workspace"), at("link"), at("bin")]
for (const each of [bin, join(workspace, "bin")]) {
  mkdirSync(each, { recursive: true })
  writeFileSync(join(each, "tool"), "#!/bin/sh\n", { mode: 0o755 })
}
symlinkSync(workspace, link)
symlinkSync(join(workspace, "bin"), at("linked-bin"))

const inside = [join(workspace, "bin"), join(link, "bin"), at("linked-bin")]

test.each([workspace, link, join(link, ".")])("no program is found in the workspace %s, by whatever path", (given) => {
  for (const path of inside) expect(findProgram("tool", { path, outside: [given] })).toBeUndefined()
  const path = [...inside, bin].join(delimiter)
  expect(findProgram("tool", { path, outside: [given] })).toBe(join(bin, "tool"))
  expect(pathOutside(path, [given])).toBe(bin)
})

test("a PATH of which nothing is left is undefined, since an empty one means the current folder", () => {
  for (const path of ["", ".", delimiter, ...inside, at("missing")]) {
    expect(pathOutside(path, [workspace])).toBeUndefined()
  }
})
