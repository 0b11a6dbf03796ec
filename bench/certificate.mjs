import { readFile } from "node:fs/promises"
import { transform } from "esbuild"

/** A fresh certificate and its key, created by the module that the tests use. */
export async function selfSigned() {
  const source = await readFile(new URL("../test/support/self-signed.ts", import.meta.url), "utf8")
  const { code } = await transform(source, { loader: "ts" })
  const module = await import(`data:text/javascript,${encodeURIComponent(code)}`)
  return module.selfSigned()
}
