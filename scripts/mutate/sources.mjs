import { createHash } from "node:crypto"
import { readdirSync } from "node:fs"
import { join } from "node:path"

/** The paths of all files below a folder of a repository. */
function filesIn(root, folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    return entry.isDirectory() ? filesIn(root, path) : [path]
  })
}

/** Those that are shipped. */
export function sourcesIn(root, folder) {
  return filesIn(root, folder).filter((path) => /\.ts$/.test(path) && !/\.test(-d)?\.ts$/.test(path))
}

/** Other ones each time. For a seed always the same ones: which of them does not depend on what else there is. */
export function sample(items, count, nameOf, seed = Date.now()) {
  const order = (item) =>
    createHash("sha256")
      .update(`${seed} ${nameOf(item)}`)
      .digest("hex")
  const ordered = items.map((item) => ({ item, at: order(item) })).sort((left, right) => (left.at < right.at ? -1 : 1))
  return ordered.slice(0, count).map(({ item }) => item)
}
