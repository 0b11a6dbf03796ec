/**
 * What is measured. Only `first50` and the concurrent ones start cold. The others follow a run of the same kind in the same
 * process, so that the first `fetch()` of a process (tens of milliseconds) is not billed to the floors in every row. What
 * is cheap is repeated more often than the default of five, what is not, less.
 *
 * @type {Record<string, import("./child.mjs").Measurement & { reps?: number, subjects?: string[] }>}
 */
export const measurements = {
  first50: { turns: 50, deltas: 20, latencyMs: 0, reps: 9 },
  second50: {
    turns: 50,
    deltas: 20,
    latencyMs: 0,
    warmups: 1,
    reps: 9,
    subjects: ["floor", "durable-floor", "ours", "ours-fetch"],
  },
  latency50: { turns: 50, deltas: 20, latencyMs: 20, warmups: 1 },
  long400: { turns: 400, deltas: 20, latencyMs: 0, warmups: 1 },
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
  deltas20k: { turns: 1, deltas: 20_000, latencyMs: 0, warmups: 1, listen: true, reps: 9 },
  atOnce200: { turns: 10, deltas: 20, latencyMs: 20, concurrency: 200 },
  atOnce1000: { turns: 10, deltas: 20, latencyMs: 20, concurrency: 1000, reps: 3 },
}

export const defaultSubjects = ["floor", "durable-floor", "ours"]

/**
 * The rows of the table. `value` takes a sample's figure, of which the median is shown. A goal is held against ours ÷
 * durable floor, or with `alone` against our figure itself.
 */
export const rows = [
  { label: "50 turns, first run in a process", measurement: "first50", goal: 0.45, ...cpu() },
  { label: "50 turns, second run", measurement: "second50", goal: 0.8, ...cpu() },
  { label: "50 turns, server latency 20 ms", measurement: "latency50", goal: 0.7, ...cpu() },
  { label: "400 turns", measurement: "long400", goal: 0.6, ...cpu() },
  {
    label: "CPU per turn at 400 ÷ at 50",
    measurement: "settled400",
    goal: 1.05,
    alone: true,
    unit: "×",
    value: (sample) => sample.cpuMs / 400 / (sample.shortCpuMs / 50),
  },
  {
    label: "20,000 deltas in a turn, with a listener (ours joins bursts)",
    measurement: "deltas20k",
    goal: 0.85,
    ...cpu(),
  },
  { label: "200 concurrent runs, CPU per run", measurement: "atOnce200", goal: 0.6, ...cpu() },
  { label: "1,000 concurrent runs, CPU per run", measurement: "atOnce1000", goal: 0.65, ...cpu() },
  {
    label: "1,000 concurrent runs, peak RSS",
    measurement: "atOnce1000",
    goal: 170,
    alone: true,
    unit: "MB",
    value: (sample) => sample.peakRssMb,
  },
  {
    label: "portable path over global fetch, second run",
    measurement: "second50",
    goal: 1.1,
    subject: "ours-fetch",
    ...cpu(),
  },
]

function cpu() {
  return { unit: "ms", value: (sample) => sample.cpuMs }
}
