// Parses declaration files (.d.ts): the exports of a file, and the declaration of a name.
import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"

const modules = new Map()
/** Strings and comments, in which brackets are ignored. */
export const skipped = /"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`|\/\*[\s\S]*?\*\/|\/\/.*/g

/** Name → declaration, for everything that can be imported from a file. */
export function exportsOf(file) {
  const { exported, stars } = moduleOf(file)
  const found = new Map(stars.flatMap((star) => [...exportsOf(star)]))
  for (const { name, from, local } of exported) {
    const declaration = find(from ?? file, local)
    if (declaration === undefined) throw new Error(`${file} exports ${name}, which is nowhere`)
    found.set(name, declaration)
  }
  return found
}

/** The declaration of a name inside a file; undefined if it is not ours. */
export function find(file, name) {
  const { declarations, imports } = moduleOf(file)
  const imported = imports.get(name)
  return declarations.get(name) ?? (imported ? find(imported.from, imported.name) : reExported(file, name))
}

function reExported(file, name) {
  const { exported, stars } = moduleOf(file)
  const listed = exported.find((each) => each.name === name && each.from !== undefined)
  if (listed) return find(listed.from, listed.local)
  return stars.map((star) => exportsOf(star).get(name)).find((each) => each !== undefined)
}

function moduleOf(file) {
  const known = modules.get(file)
  if (known) return known
  if (!existsSync(file)) throw new Error(`${file} is not there: npm run build`)
  const read = { declarations: new Map(), imports: new Map(), exported: [], stars: [] }
  modules.set(file, read)
  for (const statement of statementsOf(readFileSync(file, "utf8"))) addStatement(read, file, statement)
  return read
}

function addStatement(module, file, { doc, text }) {
  const [, isExport] = /^(export )?/.exec(text)
  const declared = /^(?:export )?(?:declare )?(function|class|const|interface|type) (\w+)/.exec(text)
  const list = /^(import|export) (?:type )?\{([^}]*)\}(?: from "([^"]+)")?;$/.exec(text)
  const star = /^export (?:type )?\* from "([^"]+)";$/.exec(text)
  if (declared && !list) {
    const [, kind, name] = declared
    const isType = kind === "interface" || kind === "type"
    const first = module.declarations.get(name)
    // Overloads are one declaration, under the comment of the first.
    const joined = first ? { ...first, text: `${first.text}\n${text}` } : { file, name, isType, doc, text }
    module.declarations.set(name, joined)
    if (isExport && !first) module.exported.push({ name, local: name })
  } else if (star) {
    module.stars.push(beside(file, star[1]))
  } else if (list) {
    const [, keyword, names, from] = list
    for (const [, local, name = local] of names.matchAll(/(?:type )?(\w+)(?: as (\w+))?\s*(?:,|$)/g)) {
      if (keyword === "export") module.exported.push({ name, local, ...(from && { from: beside(file, from) }) })
      // Declarations of other packages are not described.
      else if (from.startsWith(".")) module.imports.set(name, { name: local, from: beside(file, from) })
    }
  } else if (!/^import /.test(text)) {
    throw new Error(`${file} has a statement of an unknown kind: ${text.slice(0, 80)}`)
  }
}

function beside(file, specifier) {
  return join(dirname(file), specifier.replace(/\.(ts|js)$/, ".d.ts"))
}

/** The statements of a declaration file, each with the comment before it. */
function statementsOf(source) {
  const blank = source.replace(skipped, (text) => " ".repeat(text.length))
  const statements = []
  let depth = 0
  let start = 0
  for (let at = 0; at < blank.length; at++) {
    if ("{([".includes(blank[at])) depth++
    if ("})]".includes(blank[at])) depth--
    if (depth > 0 || !isEnd(blank, start, at)) continue
    const offset = blank.slice(start).search(/\S/)
    const comments = source.slice(start, start + offset).match(/\/\*\*[\s\S]*?\*\//g) ?? []
    statements.push({ doc: words(comments.at(-1) ?? ""), text: source.slice(start + offset, at + 1) })
    start = at + 1
  }
  return statements
}

/** A semicolon, or the brace that closes an interface or class: a brace in its heading is followed by more. */
function isEnd(blank, start, at) {
  if (blank[at] === ";") return true
  const heading = /^\s*(export )?(declare )?(interface|class) /
  return blank[at] === "}" && blank[at + 1] === "\n" && heading.test(blank.slice(start, at))
}

function words(comment) {
  return comment
    .replace(/^\/\*\*|\*\/$/g, "")
    .replace(/^\s*\* ?/gm, "")
    .trim()
}
