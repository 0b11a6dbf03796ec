// Cost of redaction: CPU per KB of text without a hit, per delta, and to build a redactor, for 0, 5 and 50 secrets.
// Usage: node bench/redact.mjs (build first)
import { randomBytes } from "node:crypto"
import { readFileSync } from "node:fs"

const { createRedactor } = await import("../build/policy/redact/redactor.js")

const prose = readFileSync(new URL("../ARCHITECTURE.md", import.meta.url), "utf8")
const code = readFileSync(new URL("../package-lock.json", import.meta.url), "utf8").slice(0, 200_000)
const texts = { prose, JSON: code, base64: randomBytes(100_000).toString("base64") }

const rows = []
for (const count of [0, 5, 50]) {
  const secrets = Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`NAME_${index}`, randomBytes(24).toString("base64url")]),
  )
  const redactor = createRedactor(secrets)
  const perKb = Object.values(texts).map((text) => {
    const each = cpu(() => redactor.text(text))
    return ((each / text.length) * 1024).toFixed(2)
  })
  const deltas = prose.match(/[\s\S]{1,12}/g) ?? []
  const streamed = cpu(() => {
    const stream = redactor.stream()
    for (const delta of deltas) stream.push(delta)
    stream.end()
  })
  const built = cpu(() => createRedactor(secrets))
  rows.push([count, ...perKb, (streamed / deltas.length).toFixed(2), built.toFixed(0)])
}

const titles = ["secrets", ...Object.keys(texts).map((name) => `µs per KB of ${name}`), "µs per delta", "µs to build"]
for (const row of [titles, ...rows])
  console.log(row.map((cell, at) => String(cell).padStart(titles[at].length)).join("  "))

/** CPU microseconds of one call, the median of nine samples after a warm-up. */
function cpu(work) {
  for (let warm = 0; warm < 30; warm++) work()
  const samples = Array.from({ length: 9 }, () => {
    const before = process.cpuUsage()
    for (let call = 0; call < 20; call++) work()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 20
  })
  return samples.toSorted((left, right) => left - right)[4]
}
