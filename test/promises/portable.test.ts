import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"

const repository = fileURLToPath(new URL("../..", import.meta.url))
const source = join(repository, "src")
const portable = readdirSync(source, { recursive: true, encoding: "utf8" }).filter(
  (path) => path.endsWith(".ts") && !/\.test(-d)?\.ts$/.test(path) && !/^(hosts|cli)\//.test(path),
)

test("portable code never detects its platform: no process, navigator or platform name", { tags: ["EDG-03"] }, () => {
  expect(portable.length).toBeGreaterThan(50)
  const probing =
    /\b(process\.|navigator\b|globalThis\.\w|Deno\b|Bun\b|WebSocketPair\b|typeof\s+(window|process|self)\b)/
  const found = portable.flatMap((path) => {
    const code = readFileSync(join(source, path), "utf8").replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "")
    const match = probing.exec(code)
    return match ? [`${path}: ${match[0]}`] : []
  })
  expect(found).toEqual([])
})

test("every entry can be required from CommonJS, and has its types", { tags: ["EDG-01"] }, () => {
  const { exports } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8"))
  interface Entry {
    readonly types: string
    readonly node?: string | { readonly default: string }
    readonly default: string
  }
  const entries = (Object.values(exports) as (string | Entry)[]).filter((entry) => typeof entry === "object")
  expect(entries.length).toBeGreaterThan(0)
  const onNode = ({ node, default: other }: Entry) => (typeof node === "object" ? node.default : (node ?? other))
  const files = entries.flatMap((entry) => [onNode(entry), entry.default])
  const script = `for (const file of ${JSON.stringify(files)}) if (!Object.keys(require(file)).length) throw file`
  execFileSync(process.execPath, ["--no-warnings", "--input-type=commonjs", "-e", script], { cwd: repository })
  for (const entry of entries) {
    expect(entry.types).toBe(onNode(entry).replace(/\.js$/, ".d.ts"))
    expect(readFileSync(join(repository, entry.types), "utf8")).toContain("export")
  }
})
