import { readFileSync } from "node:fs"
import { join } from "node:path"

/**
 * The checks of a source file: each `if (…) return` and `if (…) throw`, on one line or more, and each block that ends so. Each has its
 * text, which nothing else in the file has.
 */
export function checksIn(repository, file) {
  const lines = readFileSync(join(repository, file), "utf8").split("\n")
  return lines.flatMap((_, index) => {
    const check = checkAt(lines, index)
    if (check === undefined) return []
    const find = onlyText(lines, index, check.end)
    return [{ file, line: index + 1, text: find.trim(), find, condition: check.condition }]
  })
}

/** The edit that gives a check another condition. */
export function withCondition({ file, find, condition }, other) {
  const at = find.lastIndexOf(`(${condition})`)
  return { file, find, replace: `${find.slice(0, at)}(${other})${find.slice(at + condition.length + 2)}` }
}

/** `end`: the line on which the condition ends. */
function checkAt(lines, index) {
  const line = lines[index]
  const [, condition, follows] = /^\s*(?:\} else )?if \((.*)\) (return\b|throw\b|\{$)/.exec(line) ?? []
  if (condition !== undefined) return leaves(lines, index, follows) ? { condition, end: index } : undefined
  const [, indent] = /^(\s*)if \($/.exec(line) ?? []
  if (indent === undefined) return undefined
  const end = lines.findIndex((each, at) => at > index && each.startsWith(`${indent})`))
  const [, after] = /^\s*\) (return\b|throw\b|\{$)/.exec(lines[end]) ?? []
  if (after === undefined || !leaves(lines, end, after)) return undefined
  return { condition: `\n${lines.slice(index + 1, end).join("\n")}\n${indent}`, end }
}

/** True if what follows a condition is, or ends with, a `return` or a `throw`. */
function leaves(lines, index, follows) {
  if (follows !== "{") return true
  const [indent] = /^\s*/.exec(lines[index])
  const end = lines.findIndex((each, at) => at > index && each.startsWith(`${indent}}`))
  const statements = lines
    .slice(index + 1, end)
    .filter((each) => each.startsWith(`${indent}  `) && each[indent.length + 2] !== " ")
  return /^\s*(?:return|throw)\b/.test(statements.findLast((each) => /^\s*\w/.test(each)) ?? "")
}

/** These lines, with as many in front of them as it takes to tell them apart. */
function onlyText(lines, index, end) {
  const whole = lines.join("\n")
  let from = index
  const text = () => lines.slice(from, end + 1).join("\n")
  while (from > 0 && whole.split(text()).length !== 2) from--
  return text()
}
