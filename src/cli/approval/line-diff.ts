/** A line of a diff. `gap`: unchanged lines were omitted here; `line` is the number of the next one. */
export type DiffLine =
  | { readonly kind: "same" | "added" | "removed"; readonly text: string }
  | { readonly kind: "gap"; readonly line: number }

/** The line diff of two texts, with a few unchanged lines around each change. */
export function diffLines(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  return withoutFarLines(compare(before, after))
}

type Compared = Exclude<DiffLine, { readonly kind: "gap" }>

function compare(before: readonly string[], after: readonly string[]): readonly Compared[] {
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start++
  let end = 0
  const most = Math.min(before.length, after.length) - start
  while (end < most && before[before.length - 1 - end] === after[after.length - 1 - end]) end++
  return [
    ...before.slice(0, start).map(as("same")),
    ...compareMiddle(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...before.slice(before.length - end).map(as("same")),
  ]
}

function as(kind: Compared["kind"]) {
  return (text: string): Compared => ({ kind, text })
}

/** Uses the longest common subsequence of lines. Texts too long for that are replaced as a whole. */
function compareMiddle(before: readonly string[], after: readonly string[]): readonly Compared[] {
  if (before.length * after.length > mostCells) return [...before.map(as("removed")), ...after.map(as("added"))]
  const width = after.length + 1
  // Length of the longest common subsequence after each pair of positions. The table fits in memory: its size is
  // bounded.
  const common = new Uint16Array((before.length + 1) * width)
  const commonAt = (row: number, column: number) => common[row * width + column] ?? 0
  for (let row = before.length - 1; row >= 0; row--) {
    for (let column = after.length - 1; column >= 0; column--) {
      common[row * width + column] =
        before[row] === after[column]
          ? commonAt(row + 1, column + 1) + 1
          : Math.max(commonAt(row + 1, column), commonAt(row, column + 1))
    }
  }
  const lines: Compared[] = []
  let row = 0
  let column = 0
  while (row < before.length || column < after.length) {
    const [old, fresh] = [before[row], after[column]]
    if (old !== undefined && old === fresh) {
      lines.push({ kind: "same", text: old })
      row++
      column++
    } else if (old !== undefined && (fresh === undefined || commonAt(row + 1, column) >= commonAt(row, column + 1))) {
      lines.push({ kind: "removed", text: old })
      row++
    } else {
      lines.push({ kind: "added", text: fresh ?? "" })
      column++
    }
  }
  return lines
}

const mostCells = 1_000_000

function withoutFarLines(lines: readonly Compared[]): readonly DiffLine[] {
  const isNear = new Uint8Array(lines.length)
  for (const [index, { kind }] of lines.entries()) {
    if (kind !== "same") isNear.fill(1, Math.max(0, index - aroundChange), index + aroundChange + 1)
  }
  const kept: DiffLine[] = []
  let lineNumber = 1
  for (const [index, line] of lines.entries()) {
    if (isNear[index] && !isNear[index - 1] && index > 0) kept.push({ kind: "gap", line: lineNumber })
    if (isNear[index]) kept.push(line)
    if (line.kind !== "removed") lineNumber++
  }
  return kept
}

const aroundChange = 3
