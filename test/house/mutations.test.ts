import { readdirSync, readFileSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { ownCharacters, titlesOf } from "../support/test-titles.ts"

interface Mutation {
  readonly name: string
  readonly edits: readonly { readonly file: string; readonly find: string }[]
  readonly tests: readonly (readonly [file: string, part: string])[]
}

interface Survivor {
  readonly file: string
  readonly check: string
  readonly reason: string
}

const repository = fileURLToPath(new URL("../..", import.meta.url))

/** The sources of a file or folder that mutations look in. */
function sourcesOf(place: string): readonly string[] {
  const path = join(repository, place)
  if (!statSync(path).isDirectory()) return [readFileSync(path, "utf8")]
  const names = readdirSync(path, { recursive: true, encoding: "utf8" })
  const sources = names.filter((name) => name.endsWith(".ts") && !/\.test(-d)?\.ts$/.test(name))
  return sources.map((name) => readFileSync(join(path, name), "utf8"))
}

test("the text that each mutation changes is in the code, in one place", async () => {
  const list = new URL("../../scripts/mutations/index.mjs", import.meta.url).href
  const { mutations }: { readonly mutations: readonly Mutation[] } = await import(list)
  const places = (file: string, find: string) =>
    sourcesOf(file).reduce((count, text) => count + text.split(find).length - 1, 0)
  const stale = mutations.flatMap(({ name, edits }) =>
    edits.filter(({ file, find }) => places(file, find) !== 1).map(() => name),
  )
  expect(mutations.length).toBeGreaterThan(200)
  expect(stale).toEqual([])
})

/** What the names of a file's tests can be made of: its titles, those of cases that it imports, and the rows of its tables. */
function namesOf(file: string): { readonly names: readonly string[]; readonly text: string } {
  const source = readFileSync(join(repository, file), "utf8")
  const imported = Array.from(source.matchAll(/ from "(\..+?\.ts)"/g), ([, path = ""]) => join(dirname(file), path))
  const text = [source, ...imported.map((path) => readFileSync(join(repository, path), "utf8"))].join("\n")
  const titles = [
    ...titlesOf(source),
    ...Array.from(text.matchAll(/\bname: (["'`])(.+?)\1/g), ([, , name = ""]) => name),
  ]
  const inGroups = titles.flatMap((group, index) => titles.slice(index + 1).map((title) => `${group} ${title}`))
  return { names: [...titles, ...inGroups], text }
}

test("each test that a mutation names exists", async () => {
  const list = new URL("../../scripts/mutations/index.mjs", import.meta.url).href
  const { mutations }: { readonly mutations: readonly Mutation[] } = await import(list)
  const files = new Map<string, ReturnType<typeof namesOf>>()
  const exists = (file: string, part: string) => {
    const { names, text } = files.get(file) ?? namesOf(file)
    files.set(file, { names, text })
    // A part of a name may be filled in from the row of a table, but a quarter of it is the title's own.
    return text.includes(part) || names.some((name) => ownCharacters(name, part) * 4 >= part.length)
  }
  const missing = mutations.flatMap(({ name, tests }) =>
    tests
      .filter(([file, part]) => !exists(file, part))
      .map(([file, part]) => `${name}: ${file} has no test like "${part}"`),
  )
  expect(missing).toEqual([])
})

test("each check that may be removed unnoticed is in its file once, and has a reason that can be checked", async () => {
  const list = new URL("../../scripts/mutate/survivors.mjs", import.meta.url).href
  const { survivors }: { readonly survivors: readonly Survivor[] } = await import(list)
  for (const { file, check, reason } of survivors) {
    const source = readFileSync(join(repository, file), "utf8")
    expect(source.split(check).length - 1, `${file}: ${check}`).toBe(1)
    expect(reason, check).toMatch(/^(equivalent|logged|second): \S/)
    if (!reason.startsWith("second: ")) continue
    const [, path = "", name = ""] = /(\S+\.test\.ts) "(.+)"/.exec(reason) ?? []
    expect(readFileSync(join(repository, path), "utf8"), reason).toContain(name || "the name of a test")
  }
  const keys = survivors.map(({ file, check }) => `${file}: ${check}`)
  expect(new Set(keys).size).toBe(keys.length)
})
