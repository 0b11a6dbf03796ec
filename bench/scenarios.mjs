export const defaultSubjects = ["floor", "durable-floor", "ours"]
const andPolicy = [...defaultSubjects, "ours-policy"]

/**
 * What is measured. Only `first50` and the `atOnce` ones start cold. The others follow a run of the same kind in the same
 * process, so that the first `fetch()` of a process (tens of milliseconds) is not billed to the floors in every row. What
 * is cheap is repeated more often than the default of five, what is not, less.
 *
 * @type {Record<string, import("./child.mjs").Measurement & { reps?: number, subjects?: string[] }>}
 */
export const measurements = {
  first50: { turns: 50, deltas: 20, latencyMs: 0, reps: 9, subjects: andPolicy },
  second50: {
    turns: 50,
    deltas: 20,
    latencyMs: 0,
    warmups: 1,
    reps: 9,
    subjects: [...andPolicy, "ours-fetch"],
  },
  latency50: { turns: 50, deltas: 20, latencyMs: 20, warmups: 1, subjects: andPolicy },
  long400: { turns: 400, deltas: 20, latencyMs: 0, warmups: 1, subjects: andPolicy },
  // Growth: one run of 400 turns against eight of 50, four right before it and four right after it, in a process that has
  // done both so often that next to nothing is left to compile. Before that, V8's bursts of compiling decide, by which of
  // the two they fall into.
  settled400: {
    turns: 400,
    deltas: 20,
    latencyMs: 0,
    warmups: 5,
    bracket: { turns: 50, runs: 8 },
    reps: 15,
    subjects: ["ours"],
  },
  deltas20k: { turns: 1, deltas: 20_000, latencyMs: 0, warmups: 1, listen: true, reps: 9, subjects: andPolicy },
  atOnce200: { turns: 5, deltas: 20, latencyMs: 20, concurrency: 200, listen: true, subjects: andPolicy },
  atOnce1000: { turns: 5, deltas: 20, latencyMs: 20, concurrency: 1000, listen: true },
  packets50: { turns: 5, deltas: 100, latencyMs: 20, paceMs: 2, warmups: 5, concurrency: 50 },
  packets50tls: { turns: 5, deltas: 100, latencyMs: 20, paceMs: 2, warmups: 5, concurrency: 50, tls: true },
}

/**
 * The scenarios of the table, one line for each subject that has a goal. `value` takes a sample's figure, of which the
 * median is shown. A goal is held against ours ÷ durable floor; with `alone`, against our figure itself; with `beside`,
 * against ours ÷ that subject. A goal of Infinity prints the figure only.
 */
export const rows = [
  row("50 turns, first run in a process", "first50", { ours: 0.6 }),
  row("50 turns, second run", "second50", { ours: 1, "ours-fetch": Infinity }),
  row("50 turns, server latency 20 ms", "latency50", { ours: 0.9 }),
  row("400 turns", "long400", { ours: 0.55 }),
  row(
    "CPU per turn at 400 ÷ at 50",
    "settled400",
    { ours: 1.05 },
    { alone: true, unit: "×", value: (sample) => sample.cpuMs / 400 / (sample.shortCpuMs / 50) },
  ),
  row("20,000 deltas in a turn, with a listener (ours joins bursts)", "deltas20k", { ours: 0.95 }),
  row("200 concurrent runs of 5 turns, with listeners, CPU per run", "atOnce200", { ours: 1 }),
  row("1,000 concurrent runs of 5 turns, with listeners, CPU per run", "atOnce1000", { ours: 0.95 }),
  row(
    "1,000 concurrent runs of 5 turns, with listeners, peak RSS",
    "atOnce1000",
    { ours: 190 },
    { alone: true, unit: "MB", value: (sample) => sample.peakRssMb },
  ),
  row("50 at once, one event per packet", "packets50", { ours: Infinity }),
  row("50 at once, one event per packet, TLS", "packets50tls", { ours: Infinity }),
  policyRow("50 turns, first run in a process", "first50", 1.2),
  policyRow("50 turns, second run", "second50"),
  policyRow("50 turns, server latency 20 ms", "latency50"),
  policyRow("400 turns", "long400"),
  policyRow("20,000 deltas in a turn, with a listener", "deltas20k"),
  policyRow("200 concurrent runs of 5 turns, with listeners, CPU per run", "atOnce200"),
].flat()

function policyRow(label, measurement, goal = 1.1) {
  return row(`${label}, 50 rules and 5 secrets, ÷ without`, measurement, { "ours-policy": goal }, { beside: "ours" })
}

function row(label, measurement, goals, more = {}) {
  const how = { unit: "ms", value: (sample) => sample.cpuMs, ...more }
  return Object.entries(goals).map(([subject, goal]) => ({ label, measurement, subject, goal, ...how }))
}
