import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"

test("the frameworks' own types accept the wrapped tools, hooks and plugin without casts", () => {
  const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))
  const arguments_ = [at("../../node_modules/typescript/bin/tsc"), "-p", at("tsconfig.json")]
  const { stdout, status } = spawnSync(process.execPath, arguments_, { encoding: "utf8" })
  expect(stdout).toBe("")
  expect(status).toBe(0)
})
