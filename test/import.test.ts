import { execFileSync } from "node:child_process"
import { rmSync } from "node:fs"
import { expect, test } from "vitest"
import { builtPackage } from "./races/built.ts"

test("importing longhaul/node loads none of Node's network modules", () => {
  const { url, temporary } = builtPackage()
  const code = `
    await import(${JSON.stringify(new URL("hosts/node/index.js", url).href)})
    console.log(process.moduleLoadList.filter((name) => /^NativeModule (_?http|_?tls|net$|https$|dgram|internal.deps.undici)/.test(name)).join())`
  const loaded = execFileSync(process.execPath, ["--input-type=module", "-e", code], { encoding: "utf8" })
  if (temporary) rmSync(temporary, { recursive: true })
  expect(loaded.trim()).toBe("")
})
