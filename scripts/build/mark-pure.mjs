import { parseAst } from "rolldown/parseAst"

/**
 * Marks what a module computes when it is loaded as droppable: package.json says that no module has side effects, but a
 * bundler sees that of separate modules only, and ours are shipped as one. A whole initial value becomes a marked call, since a mark before a
 * chain of calls applies to one of them only.
 */
export function markPure(code) {
  const values = parseAst(code)
    .body.map((statement) => (statement.type === "ExportNamedDeclaration" ? statement.declaration : statement))
    .flatMap((statement) => (statement?.type === "VariableDeclaration" ? statement.declarations : []))
    .flatMap(({ init }) => (init && calls(init) ? [init] : []))
  return values
    .reverse()
    .reduce(
      (text, { start, end }) =>
        `${text.slice(0, start)}/* @__PURE__ */ (() => (${text.slice(start, end)}))()${text.slice(end)}`,
      code,
    )
}

/** True if a value is computed by calls when the module is loaded, not only when a function in it is called. */
function calls(node) {
  if (node === null || typeof node !== "object") return false
  if (Array.isArray(node)) return node.some(calls)
  const { type = "" } = node
  if (/Function|MethodDefinition/.test(type) || (type === "PropertyDefinition" && !node.static)) return false
  if (/^(Call|New|TaggedTemplate)Expression$|^StaticBlock$/.test(type)) return true
  return Object.values(node).some(calls)
}
