import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { afterAll, expect, test } from "vitest"

const repository = fileURLToPath(new URL("..", import.meta.url))
const scratch = mkdtempSync(join(tmpdir(), "longhaul-reference-"))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const reference = readFileSync(join(repository, "docs/api.md"), "utf8")

test("the reference is what the built declarations say: npm run build && npm run docs", () => {
  const target = join(scratch, "api.md")
  execFileSync(process.execPath, [join(repository, "scripts/api-reference.mjs"), target])
  expect(reference).toBe(readFileSync(target, "utf8"))
})

test("every value that a subpath exports is described there, or where it says", async () => {
  const { exports } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8"))
  const sections = new Map(
    reference
      .split(/^## /m)
      .slice(1)
      .map((section) => [section.slice(0, section.indexOf("\n")), section]),
  )
  const described = (name: string, section = "") => section.includes(`\n### \`${name}\`\n`)
  for (const [path, given] of Object.entries<{ default?: string; node?: { default: string } }>(exports)) {
    const target = given.node ?? given
    if (target.default === undefined) continue
    const subpath = join("longhaul", path)
    const section = sections.get(subpath) ?? ""
    const named = Array.from(section.matchAll(/\[`([\w/-]+)`\]\(#/g), ([, other = ""]) => sections.get(other))
    const names = Object.keys(await import(pathToFileURL(join(repository, target.default)).href))
    expect(names.length, subpath).toBeGreaterThan(0)
    for (const name of names) {
      const places = [section, ...named].filter((each) => described(name, each))
      expect(places.length, `${subpath} exports ${name}`).toBeGreaterThan(0)
    }
  }
})

test("members carry their words, overloads stand together, and whatever an interface builds on is described too", () => {
  expect(reference).toContain("  /** Default `run_<uuid>`. */\n  readonly runId?: string\n")
  const overloads = /### `defineTool`[^#]*?```ts\n(function defineTool<[^`]*)```/.exec(reference)?.[1] ?? ""
  expect(overloads.match(/^function defineTool</gm)).toHaveLength(2)
  const bases = Array.from(reference.matchAll(/^interface \w+ extends (\w+)/gm), ([, base]) => base)
  const own = bases.filter((base) => base !== "AsyncIterable" && base !== "AsyncDisposable")
  expect(own).toContain("ProviderOptions")
  for (const base of own) expect(reference).toContain(`\n### \`${base}\`\n`)
})
