// Generates docs/api.md from the declarations of the last build: the names that users write, by topic (api-topics.mjs).
// Usage: node scripts/api-reference.mjs [output file]
import { spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { topics } from "./api-topics.mjs"
import { exportsOf, find, skipped } from "./declarations.mjs"

const root = fileURLToPath(new URL("..", import.meta.url))
const target = resolve(process.argv[2] ?? join(root, "docs/api.md"))
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
const separator = "// ---"

const entries = Object.entries(manifest.exports)
  .filter(([, { types }]) => types !== undefined)
  .map(([path, { types }]) => ({ name: join(manifest.name, path), exported: exportsOf(join(root, types)) }))
const homes = findHomes()
const described = new Set(
  topics.flatMap(({ shown, listed = [] }) => [...shown.flat(), ...listed].flatMap(declarationsOf)),
)
checkTopics()
const code = formatAll(topics.flatMap(({ shown }) => shown.flat().flatMap(declarationsOf)))
const text = `${[preface(), ...topics.map(section), subpaths()].join("\n\n")}\n`
writeFileSync(target, formatted(text, "api.md"))

function preface() {
  const links = topics.map(({ title, about }) => `- [${title}](#${anchorOf(title)}): ${about}`)
  return `# Reference

The names that a program writes, by topic, with their types and comments. Start with the [guides](guides); look things up here.
Types that programs rarely name are left out; an editor shows them. \`npm run docs\` writes this file from the built declarations,
and a test fails where the two differ.

${[...links, "- [By subpath](#by-subpath): the functions and classes of each entry."].join("\n")}`
}

function section({ title, guides, shown, listed = [] }) {
  const links = guides.map(([name, path]) => `[${name}](${path})`)
  const parts = [`## ${title}`, `Guides: ${links.join(", ")}.`, ...shown.map(describe)]
  return [...parts, ...(listed.length > 0 ? [table(listed)] : [])].join("\n\n")
}

/** A name, or related names, under one heading and in one block; the first one's comment is above it. */
function describe(group) {
  const names = [group].flat()
  const all = names.flatMap(declarationsOf)
  const heading = names.map((name) => `\`${name}\``)
  const [{ doc }] = all
  const blocks = all.map((each, index) => [...importOf(each), ...(index === 0 ? [] : comment(each)), code.get(each)])
  const block = blocks.map((lines) => lines.join("\n")).join("\n\n")
  return [`### ${heading.join(", ")}`, ...(doc === "" ? [] : [doc]), `\`\`\`ts\n${block}\n\`\`\``].join("\n\n")
}

function comment({ doc }) {
  if (doc === "") return []
  return doc.includes("\n") ? ["/**", ...doc.split("\n").map((line) => ` * ${line}`), " */"] : [`/** ${doc} */`]
}

/** How a function or class is imported. Types come from the entry of the functions that take them. */
function importOf(declaration) {
  const { name, isType } = declaration
  return isType ? [] : [`import { ${name} } from "${homes.get(declaration)}"`]
}

function table(names) {
  const rows = names.flatMap((name) =>
    declarationsOf(name).map((each) => `| \`${name}\` | \`${homes.get(each)}\` | ${summary(each)} |`),
  )
  return ["| name | from | what |", "| --- | --- | --- |", ...rows].join("\n")
}

/** The first sentence of a comment, on one line. */
function summary({ name, doc }) {
  const [first = ""] = /^.*?[.:](?= |$)/s.exec(doc.replaceAll(/\s+/g, " ")) ?? []
  if (first === "") throw new Error(`${name} is in a table of docs/api.md and has no comment`)
  return first.replace(/:$/, ".").replaceAll("|", "\\|")
}

function subpaths() {
  const lines = entries.map(({ name, exported }) => {
    const values = [...exported].filter(([, { isType }]) => !isType).map(([each]) => `\`${each}\``)
    return `- \`${name}\`: ${values.toSorted().join(", ")}`
  })
  return `## By subpath\n\n${lines.join("\n")}`
}

/** Every function and class has a topic, and every topic names things that exist. */
function checkTopics() {
  for (const [declaration, home] of homes) {
    if (declaration.isType || described.has(declaration)) continue
    throw new Error(`${home} exports ${declaration.name}, which has no place in scripts/api-topics.mjs`)
  }
}

/** The export with a name, or else a declaration next to an export; there may be more than one. */
function declarationsOf(name) {
  const exported = [...homes.keys()].filter((each) => each.name === name)
  if (exported.length > 0) return exported
  for (const { file, text } of homes.keys()) {
    const found = text.replaceAll(skipped, " ").match(new RegExp(`\\b${name}\\b`)) && find(file, name)
    if (found) return [found]
  }
  throw new Error(`scripts/api-topics.mjs names ${name}, which is declared nowhere`)
}

/** Declaration → the smallest entry that exports it. */
function findHomes() {
  const found = new Map()
  for (const { name, exported } of entries.toSorted((left, right) => left.exported.size - right.exported.size)) {
    for (const declaration of exported.values()) if (!found.has(declaration)) found.set(declaration, name)
  }
  return found
}

/** Declaration → its formatted code. */
function formatAll(declarations) {
  const source = declarations.map(({ text }) => `${text}\n${separator}\n`).join("")
  const texts = formatted(source, "api.d.ts")
    .split(separator)
    .map((text) => text.trim().replace(/^(export )?(declare )?/gm, ""))
  return new Map(declarations.map((declaration, index) => [declaration, texts[index]]))
}

/** In the project's code style. */
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

/** As GitHub makes them. */
function anchorOf(title) {
  return title
    .toLowerCase()
    .replace(/[^\w -]/g, "")
    .replaceAll(" ", "-")
}
