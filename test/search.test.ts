import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { rgPath } from "@vscode/ripgrep"
import fc from "fast-check"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { Environment, Files } from "../src/contract/env.ts"
import type { JsonObject } from "../src/contract/json.ts"
import { nodeFiles, nodeSearch } from "../src/hosts/node/index.ts"
import { isOurs } from "../src/lib/own-names.ts"
import { createDispatcher, globTool, grepTool } from "../src/tools/index.ts"
import { createToolContext } from "../src/tools/kernel/tool-context.ts"
import { onOneLine } from "../src/tools/shared.ts"
import { ignoreLines, numbers, plantTree } from "./search/tree.ts"

const base = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-search-")))
afterAll(() => rmSync(base, { recursive: true, force: true }))

const dispatcher = createDispatcher([grepTool(), globTool()], { maxOutputBytes: 1e9, maxCharacters: 1e9 })

async function call(name: string, args: JsonObject, cwd: string, env: Environment): Promise<string> {
  const context = createToolContext({ cwd, env })
  return (await dispatcher.callTool(name, args, context)).text
}

/** The same search with both, and whether ripgrep was really used. */
function engines(root: string) {
  const files = nodeFiles({ roots: [root] })
  const ripgrep = nodeSearch({ roots: [root], ripgrepPath: rgPath })
  let served = 0
  const search: typeof ripgrep = {
    async find(request) {
      const found = await ripgrep.find(request)
      if (found !== undefined) served++
      return found
    },
  }
  return {
    served: () => served,
    async both(args: JsonObject) {
      return {
        walker: await call("Grep", args, root, { files }),
        ripgrep: await call("Grep", args, root, { files, search }),
      }
    },
  }
}

const huge = process.env.LONGHAUL_SEARCH_FILES
const size = { files: Number(huge ?? 200), perFolder: huge ? 40 : 6 }

const questions: readonly (readonly [string, JsonObject])[] = [
  ["lines", { pattern: "alpha" }],
  ["many lines", { pattern: "a", limit: 10_000 }],
  ["few lines of very many", { pattern: ".", limit: 3 }],
  ["lines without regard to case", { pattern: "gAMMA|STRASSE|ſ|k", ignoreCase: true, limit: 10_000 }],
  ["line ends", { pattern: "end\\.$|^$", limit: 10_000 }],
  ["what is not ASCII", { pattern: "[^\\x00-\\x7f]\\s", limit: 10_000 }],
  ["bytes that are no text", { pattern: "caf.|\\x{fffd}", limit: 10_000 }],
  ["words", { pattern: "\\bx1\\b|\\Bta\\b", limit: 10_000 }],
  ["beyond what is searched of a line", { pattern: "b$|alpha", limit: 10_000 }],
  ["lines around", { pattern: "delta", context: 2, limit: 10_000 }],
  ["lines before, few", { pattern: "return", before: 3, limit: 5 }],
  ["lines after", { pattern: "function", after: 1, limit: 10_000 }],
  ["files", { pattern: "beta", mode: "files", limit: 10_000 }],
  ["few files", { pattern: "beta", mode: "files", limit: 2 }],
  ["counts", { pattern: "[aeiou]", mode: "count", limit: 10_000 }],
  ["a kind of file", { pattern: "a", type: "ts", limit: 10_000 }],
  ["files by name", { pattern: "a", glob: "*.{js,md}", limit: 10_000 }],
  ["files by path", { pattern: "a", glob: "**/src/*", limit: 10_000 }],
  ["names that mean something else to others", { pattern: "a", glob: "?[!a]*", mode: "files", limit: 10_000 }],
  ["a kind and a path", { pattern: "a", glob: "d1/**", type: "md", limit: 10_000 }],
  ["below a folder", { pattern: "alpha|beta", path: "d0", limit: 10_000 }],
  ["in one file", { pattern: "a", path: "d0/linked/hidden-by-link.txt" }],
  ["across lines", { pattern: "alpha[\\s\\S]*?beta", multiline: true, limit: 10_000 }],
  ["across line ends", { pattern: "\\w$\\n^\\w", multiline: true, mode: "count", limit: 10_000 }],
  ["what a flag in the pattern says", { pattern: "(?i)GAMMA|(?-i:x1)", limit: 10_000 }],
  ["letters of a kind", { pattern: "\\p{Lu}\\p{Ll}+", limit: 10_000 }],
  ["classes by name", { pattern: "[[:upper:]][[:^alpha:]]|[[:punct:]]{2}", limit: 10_000 }],
  ["what is far before", { pattern: ".{0,400}end\\.", limit: 10_000 }],
  ["quoted text", { pattern: "\\Qfoo()\\E", limit: 10_000 }],
  ["nowhere", { pattern: "not to be found \\d{9}" }],
]

describe.each(huge ? [11] : [1, 2])("a generated tree (seed %i)", (seed) => {
  const root = join(base, `tree-${seed}`)
  const asked = { ...({} as ReturnType<typeof engines>) }
  beforeAll(() => {
    plantTree(root, seed, size)
    Object.assign(asked, engines(root))
  })

  test.each(questions)("ripgrep and the built-in search find the same: %s", { tags: ["TOOL-12"] }, async (_, args) => {
    const { walker, ripgrep } = await asked.both(args)
    expect(walker).not.toContain("invalid_input")
    expect(ripgrep).toBe(walker)
  })

  test("a substantial part of the tree was searched, by ripgrep", async () => {
    const before = asked.served()
    const { ripgrep } = await asked.both({ pattern: "^", mode: "files", limit: 10_000 })
    expect(asked.served()).toBe(before + 1)
    expect(ripgrep.split("\n").length).toBeGreaterThan(Math.min(size.files, 10_000) / 3)
  })

  test("ripgrep and the built-in search agree on arbitrary patterns and options", async () => {
    const runs = fc.asyncProperty(pattern, options, async (source, args) => {
      const { walker, ripgrep } = await asked.both({ ...args, pattern: source })
      expect(walker).not.toContain("invalid_input")
      expect(ripgrep).toBe(walker)
    })
    await fc.assert(runs, { numRuns: 10, seed })
  }, 600_000)

  test("Glob lists the same files as ripgrep", { tags: ["TOOL-12"], timeout: 600_000 }, async () => {
    const files = nodeFiles({ roots: [root] })
    const tops = readdirSync(root).filter((name) => /^d\d+$/.test(name))
    expect(await listed({ pattern: "*.ts" }, root, files)).toEqual(
      listedByRipgrep(root, ".").filter((path) => path.endsWith(".ts")),
    )
    for (const path of tops)
      expect(await listed({ pattern: "**", path }, root, files)).toEqual(listedByRipgrep(root, path))
  })
})

async function listed(args: JsonObject, root: string, files: Files): Promise<readonly string[]> {
  const text = await call("Glob", { ...args, limit: 10_000 }, root, { files })
  return text === "No files found." ? [] : text.split("\n").toSorted()
}

const leaf = fc.oneof(
  fc.constantFrom(
    "a",
    "e",
    "B",
    "é",
    "中",
    "K",
    "ſ",
    "İ",
    "😀",
    "\\x{1d4b3}",
    "x1",
    "alpha",
    "ﬁ",
    "\\x{fffd}",
    "\\r",
    "\\n",
    "\\t",
  ),
  fc.constantFrom(
    ".",
    "\\w",
    "\\W",
    "\\s",
    "\\S",
    "\\d",
    "\\D",
    "\\b",
    "\\B",
    "^",
    "$",
    "(?s:.)",
    "[^\\x00-\\x{10ffff}]",
    "\\A",
    "\\z",
    "(?i)b",
    "\\p{Lu}",
    "\\PL",
    "[[:alpha:]]",
    "[[:^space:]]",
    "[\\s,.]",
    "[^\\S\\n]",
    "[a-z]",
    "[^a-z]",
    "[^é]",
  ),
)
const { node: pattern } = fc.letrec<{ node: string }>((tie) => ({
  node: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    fc.tuple(tie("node"), tie("node")).map((pair) => pair.join("")),
    fc.tuple(tie("node"), tie("node")).map(([left, right]) => `(?:${left}|${right})`),
    fc
      .tuple(tie("node"), fc.constantFrom("*", "+", "?", "{2}", "{1,2}", "*?", "{0,}"))
      .map(([inner, many]) => `(?:${inner})${many}`),
  ),
}))
const options = fc.record({
  ignoreCase: fc.boolean(),
  multiline: fc.boolean(),
  mode: fc.constantFrom("content", "files", "count"),
  limit: fc.constantFrom(1, 20, 10_000),
  context: fc.constantFrom(0, 0, 2),
  path: fc.constantFrom(".", ".", "d0", "d1/"),
})

function listedByRipgrep(root: string, path: string): readonly string[] {
  const flags = "--files --null --hidden --no-config --no-require-git --no-ignore-global --no-ignore-exclude".split(" ")
  const folders = ["--glob=!.git/", "--glob=!node_modules/"]
  const { stdout } = spawnSync(rgPath, [...flags, ...folders, "--no-ignore-messages", "--", path], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 1e9,
  })
  const paths = stdout.split("\0").filter((each) => each !== "" && !each.split("/").some(isOurs))
  return paths.map((each) => onOneLine(each.replace(/^\.\//, ""))).toSorted()
}

test("both searches skip the same files, whatever an ignore file contains", { tags: ["TOOL-12"] }, async () => {
  const next = numbers(5)
  for (let round = 0; round < (huge ? 40 : 20); round++) {
    const root = join(base, `rules-${round}`)
    plantTree(root, round, { files: 60, perFolder: 4, isPlain: true })
    for (const folder of ["", "d0/", "d1/"]) {
      mkdirSync(join(root, folder), { recursive: true })
      const rules = Array.from({ length: 1 + next(3) }, () => ignoreLines[next(ignoreLines.length)])
      writeFileSync(join(root, `${folder}${[".gitignore", ".ignore", ".rgignore"][next(3)]}`), rules.join("\n"))
    }
    const files = nodeFiles({ roots: [root] })
    expect(await listed({ pattern: "**" }, root, files), `round ${round}`).toEqual(listedByRipgrep(root, "."))
  }
})
