import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, expect, test } from "vitest"

const repository = fileURLToPath(new URL("..", import.meta.url))
const scratch = mkdtempSync(join(tmpdir(), "longhaul-reference-"))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const reference = readFileSync(join(repository, "docs/api.md"), "utf8")

test("the API reference matches the built declarations: npm run build && npm run docs", () => {
  const target = join(scratch, "api.md")
  execFileSync(process.execPath, [join(repository, "scripts/api-reference.mjs"), target])
  expect(reference).toBe(readFileSync(target, "utf8"))
})

const [topics = "", subpaths = ""] = reference.split("\n## By subpath\n")
const headings = Array.from(topics.matchAll(/^### (.*)$/gm), ([, names = ""]) => namesIn(names)).flat()
const rows = Array.from(topics.matchAll(/^\| `(\w+)` +\| `longhaul/gm), ([, name]) => name)
const described = new Set([...headings, ...rows])

test("every exported function and class is listed with its subpath and a description", async () => {
  const { exports } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8"))
  const listed = new Map(
    Array.from(subpaths.matchAll(/^- `([\w/-]+)`: (.*)$/gm), ([, path, names = ""]) => [path, namesIn(names)]),
  )
  const paths = Object.keys(exports).filter((path) => path !== "./package.json")
  expect(listed.size).toBe(paths.length)
  for (const path of paths) {
    const subpath = join("longhaul", path)
    // By its name, so that Node chooses the file as it does for users.
    const names = Object.keys(await import(import.meta.resolve(subpath)))
    expect(listed.get(subpath)?.toSorted(), subpath).toEqual(names.toSorted())
    for (const name of names) expect(described, `${subpath} exports ${name}`).toContain(name)
  }
})

test("members keep their comments, overloads are grouped, and base interfaces are described", () => {
  expect(reference).toContain("  /** Default `run_<uuid>`. */\n  readonly runId?: string\n")
  expect(reference.match(/^function defineTool</gm)).toHaveLength(2)
  const bases = Array.from(reference.matchAll(/^interface \w+(?:<[^>]*>)? extends (\w+)/gm), ([, base = ""]) => base)
  const own = bases.filter((base) => !/^(Async|Omit|Pick)/.test(base))
  expect(own).toContain("ProviderOptions")
  for (const base of own) expect(described).toContain(base)
})

test("topics appear in the order of the list at the top", () => {
  const [top = ""] = reference.split("\n## ")
  const promised = Array.from(top.matchAll(/^- \[(.*?)\]/gm), ([, title]) => title)
  expect(Array.from(reference.matchAll(/^## (.*)$/gm), ([, title]) => title)).toEqual(promised)
  expect(promised[0]).toBe("Create a runtime")
})

function namesIn(text: string): string[] {
  return Array.from(text.matchAll(/`(\w+)`/g), ([, name = ""]) => name)
}
