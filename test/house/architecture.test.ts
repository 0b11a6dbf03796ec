import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"

const repository = fileURLToPath(new URL("../..", import.meta.url))
/** Behind it, paths are those of a user's store. */
const [code = ""] = read("ARCHITECTURE.md").split("## The journal")
const [, walks = ""] = code.split("## Three walks")

function read(file: string): string {
  return readFileSync(join(repository, file), "utf8")
}

function pathsIn(part: string): readonly string[] {
  const files = part.match(/(?<![\w./])(?:[\w.-]+\/)+[\w.-]+\.(?:ts|mjs|md)/g) ?? []
  const folders = part.match(/(?<=`)(?:\w[\w.-]*\/)+(?=`)/g) ?? []
  return [...new Set([...files, ...folders])]
}

function isThere(path: string): boolean {
  return existsSync(join(repository, path)) || existsSync(join(repository, "src", path))
}

test.each([
  ["ARCHITECTURE.md", code, 100],
  ["AGENTS.md", read("AGENTS.md"), 30],
  ["CONTRIBUTING.md", read("CONTRIBUTING.md"), 3],
])("every path that %s names exists", (_, part, atLeast) => {
  const paths = pathsIn(part)
  expect(paths.length).toBeGreaterThan(atLeast)
  expect(paths.filter((path) => !isThere(path))).toEqual([])
})

test("every file of a run's room is named in ARCHITECTURE.md", () => {
  const files = readdirSync(join(repository, "src/run"), { recursive: true, encoding: "utf8" })
  const shipped = files.filter((file) => file.endsWith(".ts") && !/\.test(-d)?\.ts$/.test(file))
  expect(shipped.length).toBeGreaterThan(50)
  const table = code.split("## The room of a run")[1] ?? ""
  expect(shipped.filter((file) => !table.includes(`\`run/${file}\``))).toEqual([])
})

test("each walk names a file once", () => {
  const blocks = (walks.split("## The room of a run")[0] ?? "").split("```").filter((_, index) => index % 2 === 1)
  expect(blocks).toHaveLength(3)
  for (const block of blocks) {
    const first = block.split("\n").flatMap((line) => line.trim().match(/^[\w./-]+\.ts/) ?? [])
    expect(first.length).toBeGreaterThan(5)
    expect(new Set(first).size).toBe(first.length)
  }
})
