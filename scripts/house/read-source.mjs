// Reads one source file with swc (the parser that dependency-cruiser uses here): its functions, its casts, its lines.
import { parseSync } from "@swc/core"

const FUNCTIONS = new Set([
  "FunctionDeclaration",
  "FunctionExpression",
  "ArrowFunctionExpression",
  "ClassMethod",
  "PrivateMethod",
  "Constructor",
  "MethodProperty",
  "GetterProperty",
  "SetterProperty",
])
const CASTS = new Set(["TsAsExpression", "TsTypeAssertion"]) // `as const` is a type of node of its own

/**
 * The lengths of the functions in lines, the casts with what a comment says about each, the number of import declarations and of
 * conditional spreads, `...(condition && { … })`, and all names.
 */
export function readSource(path, text) {
  const bytes = Buffer.from(text)
  const lineAt = lineFinder(bytes)
  // The positions of swc go on from file to file. A token before the first one says where this file begins.
  const module = parseSync(`;${text.replace(/^#!/, "//")}`, { syntax: "typescript", target: "es2022" })
  const begin = module.span.start + 1
  const lines = text.split("\n")
  const functions = []
  const casts = []
  const names = new Set()
  let imports = 0
  let conditionalSpreads = 0
  visit(module, {}, "", (node, parent, name) => {
    if (FUNCTIONS.has(node.type) && node.body !== undefined && node.body !== null) {
      // A method has its span around its name, its function around the parameters: both begin at the same line.
      const span = node.span ?? node.function.span
      const [first, last] = [lineAt(span.start - begin), lineAt(span.end - begin)]
      functions.push({ path, line: first + 1, name: name || "anonymous", lines: last - first + 1 })
    }
    if (node.type === "ImportDeclaration") imports++
    if (node.type === "Identifier" || node.type === "PrivateName") names.add(node.value)
    if (node.type === "SpreadElement" && isCondition(node.arguments)) conditionalSpreads++
    // `as unknown as X` is one cast.
    if (CASTS.has(node.type) && !CASTS.has(parent.type)) {
      const [first, last] = [lineAt(node.span.start - begin), lineAt(node.span.end - begin)]
      casts.push({ path, line: last + 1, text: lines[last].trim(), first, last })
    }
  })
  const castLines = new Set(casts.flatMap(({ first, last }) => [first, last]))
  for (const cast of casts) cast.isExplained = isExplained(lines, castLines, cast.first, cast.last)
  return { path, lines: lines.length - 1, text, functions, casts, imports, conditionalSpreads, names }
}

function isCondition(spread) {
  const inner = spread.type === "ParenthesisExpression" ? spread.expression : spread
  return inner.type === "ConditionalExpression" || (inner.type === "BinaryExpression" && inner.operator === "&&")
}

/** Walks every node; `name` is the nearest name that the source gives to what stands there. */
function visit(node, parent, name, use) {
  if (Array.isArray(node)) {
    for (const child of node) visit(child, parent, name, use)
    return
  }
  if (typeof node !== "object" || node === null) return
  const own = nameOf(node) ?? name
  if (typeof node.type === "string") use(withBody(node), parent, own)
  for (const [key, child] of Object.entries(node)) if (key !== "span") visit(child, node, own, use)
}

function withBody(node) {
  return node.type === "ClassMethod" || node.type === "PrivateMethod" ? { ...node, body: node.function.body } : node
}

function nameOf(node) {
  if (node.type === "Constructor") return "constructor"
  const named = node.identifier ?? node.id ?? node.key
  if (named?.type === "PrivateName") return `#${named.value ?? named.id?.value}`
  return typeof named?.value === "string" ? named.value : undefined
}

/**
 * A comment on a line of the cast or above it; one comment serves casts on lines that follow one another. A doc comment
 * describes its function, so it must speak of the cast.
 */
function isExplained(lines, castLines, first, last) {
  if ([lines[first], lines[last]].some((line) => /(^|[\s;])\/\/ \S/.test(line))) return true
  let at = first - 1
  while (castLines.has(at)) at--
  const above = []
  for (; at >= 0 && /^\s*(\/\/|\/?\*)/.test(lines[at]); at--) above.unshift(lines[at])
  if (above.length === 0) return false
  return /^\s*\/\//.test(above.at(-1)) || /\b(safe|cast)\b/i.test(above.join(" "))
}

function lineFinder(bytes) {
  const starts = [0]
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) starts.push(at + 1)
  return (offset) => {
    let [low, high] = [0, starts.length - 1]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if (starts[middle] <= offset) low = middle
      else high = middle - 1
    }
    return low
  }
}
