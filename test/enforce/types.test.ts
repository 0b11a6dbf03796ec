import { spawnSync } from "node:child_process"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

function compile(config: string): string {
  const program = at("../../node_modules/typescript/bin/tsc")
  return spawnSync(process.execPath, [program, "-p", config], { encoding: "utf8" }).stdout
}

test("the frameworks' own types accept the wrapped tools, hooks and plugin without casts", () => {
  expect(compile(at("tsconfig.json"))).toBe("")
})

test("the snippets of the guide compile", () => {
  const folder = at("../../.enforce/guide")
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  const guide = readFileSync(at("../../docs/guides/enforce-other-frameworks.md"), "utf8")
  const snippets = Array.from(guide.matchAll(/```ts\n([\s\S]*?)```/g), ([, code = ""]) => code)
  expect(snippets).toHaveLength(5)
  for (const [index, code] of snippets.entries()) {
    writeFileSync(`${folder}/${index}.ts`, `${code.replace('from "ai"', 'from "ai-7"')}\nexport {}\n`)
  }
  const compilerOptions = { typeRoots: [at("../../node_modules/@types")], noEmit: true }
  writeFileSync(
    `${folder}/tsconfig.json`,
    JSON.stringify({ extends: at("tsconfig.json"), compilerOptions, include: ["."] }),
  )
  expect(compile(`${folder}/tsconfig.json`)).toBe("")
})
