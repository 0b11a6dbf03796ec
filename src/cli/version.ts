import { readFile } from "node:fs/promises"

/**
 * The version of this package. Bundled or not, every file that may contain this is two folders below the package root.
 */
export async function version(): Promise<string> {
  const file = await readFile(new URL("../../package.json", import.meta.url), "utf8")
  // Safe: npm refuses a package without a version.
  return (JSON.parse(file) as { readonly version: string }).version
}
