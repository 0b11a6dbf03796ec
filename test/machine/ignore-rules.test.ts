import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import fc from "fast-check"
import { expect, test } from "vitest"
import { filesBelow } from "../../src/tools/find/walk.ts"
import { createToolContext } from "../../src/tools/kernel/tool-context.ts"
import { memoryFiles } from "../../src/tools/memory-files.ts"

// Without braces and open brackets, which ripgrep and git parse differently: we follow ripgrep there.
const name = fc.constantFrom("a", "b", "ab", "a.b", "c d", "x+y", "[z]")
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join("/"))
const segment = fc.constantFrom("a", "b", "*", "a*", "?", "**", "[ab]", "[!a]", "*.b", "\\[z\\]", "x+y", "c d", "a\\*")
const rule = fc
  .tuple(
    fc.constantFrom("", "!"),
    fc.constantFrom("", "/"),
    fc.array(segment, { minLength: 1, maxLength: 3 }),
    fc.constantFrom("", "/", "  "),
  )
  .map(([negation, start, segments, end]) => negation + start + segments.join("/") + end)
const tree = fc.record({
  paths: fc.uniqueArray(path, { minLength: 3, maxLength: 14 }),
  above: fc.array(rule, { maxLength: 4 }),
  below: fc.array(rule, { maxLength: 3 }),
})

test("ignore files exclude exactly what git excludes, from the root and from a subfolder", async () => {
  for (const { paths, above, below } of fc.sample(tree, { numRuns: 250, seed: 7 })) {
    const files = paths.filter((each) => !paths.some((other) => other !== each && other.startsWith(`${each}/`)))
    const content: Record<string, string> = { ".gitignore": above.join("\n") }
    for (const each of files) content[each] = "x"
    if (files.some((each) => each.startsWith("a/"))) content["a/.gitignore"] = below.join("\n")
    const expected = askGit(content)
    const rules = { above, below }
    expect({ rules, found: await walk(".", content) }).toEqual({ rules, found: expected })
    const folder = files.find((each) => each.includes("/"))?.split("/")[0]
    const inFolder = expected.filter((each) => each.startsWith(`${folder}/`))
    // A folder given by name is searched even if it is ignored itself.
    if (folder !== undefined && inFolder.length > 0) expect(await walk(folder, content)).toEqual(inFolder)
  }
})

function askGit(content: Readonly<Record<string, string>>): string[] {
  const folder = mkdtempSync(join(tmpdir(), "longhaul-ignore-"))
  try {
    for (const [each, text] of Object.entries(content)) {
      mkdirSync(dirname(join(folder, each)), { recursive: true })
      writeFileSync(join(folder, each), text)
    }
    const env = { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_NOSYSTEM: "1" }
    execFileSync("git", ["init", "--quiet"], { cwd: folder, env })
    const listed = execFileSync("git", ["ls-files", "-z", "--others", "--exclude-standard"], { cwd: folder, env })
    return listed.toString().split("\0").filter(Boolean).sort()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function walk(from: string, content: Readonly<Record<string, string>>): Promise<string[]> {
  const files = memoryFiles(content)
  const context = createToolContext({ env: { files } })
  const found: string[] = []
  const wanted = () => true
  const steps = filesBelow(from, { files, context, wanted, skippedFolders: [".git"], ignoreFiles: true })
  for await (const each of steps) found.push(each)
  return found.sort()
}
