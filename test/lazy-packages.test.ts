import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { expect, test } from "vitest"

const root = fileURLToPath(new URL("..", import.meta.url))
const { exports, dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
const entries = [...new Set(Object.values<Record<string, unknown>>(exports).flatMap((target) => targetsOf(target)))]

/** The sources of an entry: one for each platform. */
function targetsOf(target: unknown): readonly string[] {
  if (typeof target === "string")
    return target.endsWith(".js") ? [target.replace(/^\.\/dist\/(esm\/)?/, "src/").replace(/js$/, "ts")] : []
  return Object.values(target as Record<string, unknown>).flatMap(targetsOf)
}

test.each(entries)("importing %s loads no package before it is needed", async (entry) => {
  const { metafile } = await build({
    entryPoints: [entry],
    absWorkingDir: root,
    outdir: "dist",
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "node",
    packages: "external",
    logLevel: "silent",
  })
  const loaded = new Set<string>()
  const packages = new Set<string>()
  const follow = (file: string) => {
    loaded.add(file)
    for (const { path, kind, external } of metafile.outputs[file]?.imports ?? []) {
      if (kind !== "import-statement") continue
      if (external) packages.add(path)
      else if (!loaded.has(path)) follow(path)
    }
  }
  for (const [file, { entryPoint }] of Object.entries(metafile.outputs)) if (entryPoint === entry) follow(file)
  expect(loaded.size).toBeGreaterThan(0)
  const names = [...packages].map((path) =>
    path
      .split("/")
      .slice(0, path.startsWith("@") ? 2 : 1)
      .join("/"),
  )
  expect(names.filter((name) => name in dependencies)).toEqual([])
})
