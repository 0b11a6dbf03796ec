import { median } from "./measure.mjs"

/** A row with its figures and result. */
export function evaluate(row, { samples, failures }) {
  const { label, unit, goal, subject, beside = "durable-floor" } = row
  const of = (name) => (samples[name]?.length > 0 ? median(samples[name].map(row.value)) : undefined)
  const [floor, durable, ours] = [of("floor"), of("durable-floor"), of(subject)]
  const held = row.alone ? ours : divide(ours, of(beside))
  const verdict = failures.length > 0 ? "FAILED" : held === undefined ? "not run" : held <= goal ? "met" : "MISS"
  return { label, subject, unit, floor, durable, ours, timesDurable: divide(ours, durable), held, goal, verdict }
}

export function table(lines) {
  const head = ["scenario", "subject", "floor", "durable floor", "ours", "× durable", "held", "goal", ""]
  return layOut([
    head,
    ...lines.map((line) => [
      line.label,
      line.subject,
      figure(line.floor, line.unit),
      figure(line.durable, line.unit),
      figure(line.ours, line.unit),
      figure(line.timesDurable),
      figure(line.held, line.unit === "MB" ? "MB" : undefined),
      line.goal === Infinity ? "print" : `≤ ${line.unit === "MB" ? `${line.goal} MB` : line.goal.toFixed(2)}`,
      line.verdict,
    ]),
  ])
}

/** First column to the left, the others to the right. */
export function layOut(cells) {
  const widths = cells[0].map((_, column) => Math.max(...cells.map((row) => row[column].length)))
  const pad = (cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]))
  const [head, ...body] = cells.map((row) => row.map(pad).join(" | "))
  return [head, widths.map((width) => "-".repeat(width)).join("-|-"), ...body].join("\n")
}

export function figure(value, unit) {
  if (value === undefined) return "–"
  if (unit === "MB") return `${value.toFixed(0)} MB`
  if (unit === "ms") return `${value.toFixed(value < 10 ? 2 : 1)} ms`
  return value.toFixed(2)
}

const divide = (a, b) => (a === undefined || b === undefined ? undefined : a / b)
