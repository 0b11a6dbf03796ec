import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"

interface Mutation {
  readonly name: string
  readonly edits: readonly { readonly file: string; readonly find: string }[]
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
