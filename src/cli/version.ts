import { readFile } from "node:fs/promises"

/** Of this package. Bundled or not, every file that may hold this lies two folders below it. */
export async function version(): Promise<string> {
  const file = await readFile(new URL("../../package.json", import.meta.url), "utf8")
  // Safe: npm refuses a package without a version.
  return (JSON.parse(file) as { readonly version: string }).version
}
