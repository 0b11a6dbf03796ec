import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { nodeFiles } from "../src/hosts/node/files/files.ts"
import { filesCases } from "../src/testing/index.ts"
import { memoryFiles } from "../src/tools/memory-files.ts"

let base: string
beforeAll(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-files-cases-")))
})
afterAll(() => rmSync(base, { recursive: true, force: true }))

let count = 0
const kinds = {
  "on disk": () => {
    const workspace = join(base, `ws-${count++}`)
    mkdirSync(workspace)
    return { files: nodeFiles({ roots: [workspace], redoFolder: join(base, "redo") }), cwd: workspace }
  },
  "in memory": () => ({ files: memoryFiles(), cwd: "/" }),
}

describe.each(Object.entries(kinds))("files %s", (_, create) => {
  test.each(filesCases)("$name", async ({ run }) => {
    const { files, cwd } = create()
    await expect(run(files, cwd)).resolves.toBeUndefined()
  })
})
