// Writes docs/api.md: every name that the package exports, by subpath, from the declarations of the last build.
// Usage: node scripts/api-reference.mjs [where to write it]
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const target = resolve(process.argv[2] ?? join(root, "docs/api.md"))
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
const modules = new Map()
const separator = "// ---"
/** Strings and comments, in which brackets mean nothing. */
const skipped = /"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`|\/\*[\s\S]*?\*\/|\/\/.*/g

const entries = Object.entries(manifest.exports)
  // Where Node gets more than others do, that is described.
  .map(([path, target]) => [path, target.node ?? target])
  .filter(([, { types }]) => types !== undefined)
  .map(([path, { types }]) => ({ name: join(manifest.name, path), exported: exportsOf(join(root, types)) }))
const homes = findHomes(entries)
const mentioned = mentionedBy([...homes.keys()])
const code = formatAll([...homes.keys(), ...mentioned])
const text = `${[preface(), ...entries.map(section), lastSection()].join("\n\n")}\n`
writeFileSync(target, formatted(text, "api.md"))

function preface() {
  const links = entries.map(({ name }) => `- [\`${name}\`](#${anchorOf(name)})`)
  return `# Reference

Every name that the package exports, with its type and what is said of it in the code. Written by \`npm run docs\` from the built
declarations; a test fails where it no longer fits them. The [guides](guides) say how things go together.

${links.join("\n")}`
}

function section({ name, exported }) {
  const own = [...exported].filter(([, declaration]) => homes.get(declaration) === name)
  const others = entries.flatMap((home) => borrowed(home, name, exported))
  const values = own.filter(([, { isType }]) => !isType)
  const types = own.filter(([, { isType }]) => isType)
  const described = [...values.toSorted(byName), ...types.toSorted(byName)].map(([, each]) => describe(each))
  return [`## ${name}`, ...(others.length > 0 ? [`Also here: ${others.join("; ")}.`] : []), ...described].join("\n\n")
}

/** What an entry hands on that is described elsewhere. */
function borrowed(home, name, exported) {
  if (home.name === name) return []
  const all = [...home.exported].filter(([, declaration]) => homes.get(declaration) === home.name)
  const here = all.filter(([, declaration]) => [...exported.values()].includes(declaration))
  if (here.length === 0) return []
  const link = `[\`${home.name}\`](#${anchorOf(home.name)})`
  const missing = all.filter((each) => !here.includes(each)).map(([each]) => `\`${each}\``)
  if (missing.length === 0) return [`all of ${link}`]
  if (missing.length < here.length) return [`all of ${link} but its ${missing.join(", ")}`]
  return [`${here.map(([each]) => `\`${each}\``).join(", ")} of ${link}`]
}

function lastSection() {
  const described = mentioned.toSorted((left, right) => compare(left.name, right.name)).map(describe)
  return ["## Named above, not exported", ...described].join("\n\n")
}

function describe(declaration) {
  const { name, doc } = declaration
  return [`### \`${name}\``, ...(doc === "" ? [] : [doc]), `\`\`\`ts\n${code.get(declaration)}\n\`\`\``].join("\n\n")
}

/** Where each declaration is described: at the smallest entry that has it. */
function findHomes(all) {
  const found = new Map()
  for (const { name, exported } of all.toSorted((left, right) => left.exported.size - right.exported.size)) {
    for (const declaration of exported.values()) if (!found.has(declaration)) found.set(declaration, name)
  }
  return found
}

/** The types of ours that signatures speak of although nobody can import them. */
function mentionedBy(shown) {
  const known = new Set(shown)
  const found = []
  for (const { file, text } of known) {
    for (const [word] of text.replaceAll(skipped, " ").matchAll(/\b[A-Z]\w*\b/g)) {
      const declaration = find(file, word)
      if (declaration === undefined || known.has(declaration)) continue
      // A set that grows is walked to its end.
      known.add(declaration)
      found.push(declaration)
    }
  }
  return found
}

/** Name → declaration, for everything that can be imported from a file. */
function exportsOf(file) {
  const { exported, stars } = moduleOf(file)
  const found = new Map(stars.flatMap((star) => [...exportsOf(star)]))
  for (const { name, from, local } of exported) {
    const declaration = find(from ?? file, local)
    if (declaration === undefined) throw new Error(`${file} exports ${name}, which is nowhere`)
    found.set(name, declaration)
  }
  return found
}

/** The declaration that a name means inside a file; undefined where it is none of ours. */
function find(file, name) {
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
    // Overloads are one declaration, under the words of the first.
    const joined = first ? { ...first, text: `${first.text}\n${text}` } : { file, name, isType, doc, text }
    module.declarations.set(name, joined)
    if (isExport && !first) module.exported.push({ name, local: name })
  } else if (star) {
    module.stars.push(beside(file, star[1]))
  } else if (list) {
    const [, keyword, names, from] = list
    for (const [, local, name = local] of names.matchAll(/(?:type )?(\w+)(?: as (\w+))?\s*(?:,|$)/g)) {
      if (keyword === "export") module.exported.push({ name, local, ...(from && { from: beside(file, from) }) })
      // What other packages declare is theirs to describe.
      else if (from.startsWith(".")) module.imports.set(name, { name: local, from: beside(file, from) })
    }
  } else if (!/^import /.test(text)) {
    throw new Error(`${file} has a statement of an unknown kind: ${text.slice(0, 80)}`)
  }
}

function beside(file, specifier) {
  return join(dirname(file), specifier.replace(/\.(ts|js)$/, ".d.ts"))
}

/** The statements of a file of declarations, each with the comment in front of it. */
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

/** A semicolon, or the brace that closes an interface or a class: one in its heading has more behind it. */
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

/** Declaration → its code, laid out in one go. */
function formatAll(declarations) {
  const source = declarations.map(({ text }) => `${text}\n${separator}\n`).join("")
  const texts = formatted(source, "api.d.ts")
    .split(separator)
    .map((text) => text.trim().replace(/^(export )?(declare )?/gm, ""))
  return new Map(declarations.map((declaration, index) => [declaration, texts[index]]))
}

/** In the style of the house. */
function formatted(input, name) {
  const program = join(root, "node_modules/@biomejs/biome/bin/biome")
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, "format", `--stdin-file-path=${name}`], {
    cwd: root,
    input,
    encoding: "utf8",
  })
  if (status !== 0) throw new Error(`Biome cannot format ${name}: ${stderr}`)
  return stdout
}

function anchorOf(name) {
  return name.replace(/[^\w-]/g, "")
}

function byName([left], [right]) {
  return compare(left, right)
}

/** By code unit, whatever the language of the machine. */
function compare(left, right) {
  return left < right ? -1 : left > right ? 1 : 0
}
