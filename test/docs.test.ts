import { execFileSync, spawnSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { transformSync } from "esbuild"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { namedProviders } from "../src/hosts/node/model-names.ts"
import { type ErrorCode, LonghaulError } from "../src/index.ts"
import { WATCHDOG_MS } from "./support/watchdog.ts"

const repository = fileURLToPath(new URL("..", import.meta.url))
const guides = readdirSync(join(repository, "docs/guides")).map((name) => `docs/guides/${name}`)
const blocks = ["README.md", ...guides].flatMap(runnable)

interface Block {
  readonly name: string
  readonly language: string
  readonly code: string
  /** The documented output. */
  readonly output?: string
}

let project: string
beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), "longhaul-docs-"))
  mkdirSync(join(project, "node_modules"))
  mkdirSync(join(project, "bin"))
  symlinkSync(repository, join(project, "node_modules/longhaul"))
  for (const name of ["@types", "@ai-sdk", "miniflare", "zod"]) {
    symlinkSync(join(repository, "node_modules", name), join(project, "node_modules", name))
  }
  symlinkSync(join(repository, "dist/cli/main.js"), join(project, "bin/longhaul"))
  writeFileSync(join(project, "package.json"), '{ "type": "module" }')
})
afterAll(() => rmSync(project, { recursive: true, force: true }))

describe("code in the documentation", () => {
  test("all code blocks compile", () => {
    const snippets = blocks.filter(({ language }) => language === "ts")
    expect(snippets.length).toBeGreaterThan(3)
    const files = snippets.map(({ code }, index) => {
      writeFileSync(join(project, `snippet-${index}.ts`), `${code}\nexport {}\n`)
      return `snippet-${index}.ts`
    })
    // The AI SDK's declarations are not complete; ours are compiled by `npm run test:package`.
    const lenient = { skipLibCheck: true, noEmit: true }
    const compilerOptions = { ...lenient, strict: true, target: "ES2023", module: "NodeNext", types: ["node"] }
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files }))
    const { stdout } = spawnSync(process.execPath, [join(repository, "node_modules/typescript/bin/tsc"), "-p", project])
    expect(stdout.toString()).toBe("")
  })

  test.each(blocks)("$name runs and prints the documented output", ({ name, language, code, output }) => {
    const printed = language === "sh" ? runShell(code, name) : runScript(code)
    if (output !== undefined) expect(printed.trimEnd()).toBe(output.trimEnd())
  })
})

test("no document names a file that does not exist", () => {
  const documents = ["README.md", "ARCHITECTURE.md", "AGENTS.md", "CONTRIBUTING.md", "SECURITY.md", "docs/errors.md"]
  const examples = readdirSync(join(repository, "examples")).map((name) => `examples/${name}/README.md`)
  for (const document of [...documents, ...guides, ...examples, "docs/api.md"]) {
    const text = readFileSync(join(repository, document), "utf8")
    const links = Array.from(text.matchAll(/\]\(([^)#:]+)\)/g), ([, target = ""]) => join(dirname(document), target))
    const paths = Array.from(
      text.matchAll(/`((?:src|test|docs|scripts|bench|examples)\/[\w./-]+)`/g),
      ([, path = ""]) => path,
    )
    for (const path of [...links, ...paths]) {
      expect(() => readdirSync(join(repository, path, "..")), `${document}: ${path}`).not.toThrow()
      const siblings = readdirSync(join(repository, path, ".."))
      expect(siblings, document).toContain(path.replace(/\/$/, "").split("/").at(-1))
    }
  }
})

test("the provider table lists the key and address variables of each provider", () => {
  const guide = readFileSync(join(repository, "docs/guides/models.md"), "utf8")
  const rows = Array.from(guide.matchAll(/^\| `(\w+)` +\|(.*)\|(.*)\|(.*)\|$/gm), ([, name, ...cells]) => ({
    name,
    cells: cells.map((cell) => Array.from(cell.matchAll(/`([^`]+)`/g), ([, word]) => word)),
  }))
  const written = rows.map(({ name, cells: [keys, variable] }) => ({ name, keys, variable }))
  expect(written).toEqual(
    namedProviders.map(({ name, keyNames, baseUrlName }) => ({
      name,
      keys: keyNames,
      variable: baseUrlName === undefined ? [] : [baseUrlName],
    })),
  )
  for (const { name, localUrl } of namedProviders) {
    if (localUrl !== undefined) expect(rows.find((row) => row.name === name)?.cells[2]).toEqual([localUrl])
  }
})

test("the error table lists every code once, with its retryability", { tags: ["FAIL-01", "FAIL-28"] }, () => {
  const source = readFileSync(join(repository, "src/contract/error.ts"), "utf8")
  const union = /export type ErrorCode =([^/]*?)\n\n/.exec(source)?.[1] ?? ""
  const codes = Array.from(union.matchAll(/"(\w+)"/g), ([, code]) => code as ErrorCode)
  expect(codes.length).toBeGreaterThan(40)
  const table = readFileSync(join(repository, "docs/errors.md"), "utf8")
  const rows = Array.from(
    table.matchAll(/^\| `(\w+)` +\| (.+?) +\| (yes|no) +\| (.+) +\|$/gm),
    ([, code, , retryable]) => [code, retryable],
  )
  const expected = codes.map((code) => [code, new LonghaulError(code, "").retryable ? "yes" : "no"])
  expect(rows.toSorted()).toEqual(expected.toSorted())
})

/** Blocks marked `run`, with the following `text output` block. */
function runnable(document: string): Block[] {
  const text = readFileSync(join(repository, document), "utf8")
  const fences = text.matchAll(/^```(ts|js|sh) run\n([\s\S]*?)^```\n(?:\n```text output\n([\s\S]*?)^```)?/gm)
  return Array.from(fences, ([, language = "", code = "", output], index) => ({
    name: `${document} #${index + 1}`,
    language,
    code,
    ...(output !== undefined && { output }),
  }))
}

function runScript(code: string): string {
  const file = join(project, "snippet.mjs")
  writeFileSync(file, transformSync(code, { loader: "ts", format: "esm", target: "node20" }).code)
  return execFileSync(process.execPath, [file], { cwd: project, encoding: "utf8", timeout: WATCHDOG_MS })
}

/** In a copy of the sample notes, the same one for each block of a document, with a home folder of its own. */
function runShell(code: string, block: string): string {
  const document = block.replace(/ #.*/, "").replaceAll("/", "-")
  const workspace = join(project, document, "notes")
  cpSync(join(repository, "examples/field-notes"), workspace, { recursive: true })
  return execFileSync("sh", ["-euc", code], {
    cwd: workspace,
    env: { HOME: join(project, "home"), PATH: `${join(project, "bin")}:${process.env.PATH}` },
    encoding: "utf8",
    timeout: WATCHDOG_MS,
  })
}
