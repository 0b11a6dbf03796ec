import { checkJournals, checkRun } from "./checks.mjs"
import { modelName, stepResult, task } from "./script.mjs"

/**
 * One subject, one measurement, one fresh process; says its figures as a line of JSON on stdout. A pipe and no IPC channel,
 * and nothing here touches fetch, http or sockets: what the subject needs first, the subject pays for.
 *
 * @typedef {import("./script.mjs").Script & {
 *   warmups?: number,       whole runs before the clock starts, each with half a bracket
 *   concurrency?: number,   runs at once
 *   listen?: boolean,       someone hears every delta
 *   tls?: boolean,          over https
 *   bracket?: { turns: number, runs: number },   shorter runs, clocked apart, half of them before and half after
 * }} Measurement
 */
const { subject, measurement, baseUrl, dir } = JSON.parse(process.argv[2])
const { warmups = 0, concurrency = 1, listen = false, bracket } = measurement
const { open } = await import(`./${subject}.mjs`)

const ran = new Map()
const short = bracket ? start({ ...measurement, turns: bracket.turns }) : undefined
let main = warmups > 0 ? start(measurement) : undefined
for (let index = 0; index < warmups; index++) {
  await main.run()
  await runShort()
}

const shortBefore = await clocked(runShort)
const { cpuMs, wallMs } = await clocked(async () => {
  main ??= start(measurement)
  await Promise.all(Array.from({ length: concurrency }, () => main.run()))
  // Deferred work counts.
  await main.close()
})
const shortAfter = await clocked(runShort)
await short?.close()
const peakRssMb = process.resourceUsage().maxRSS / 1024

const runs = [...ran.values()]
for (const run of runs) checkRun(run)
if (subject !== "floor") await checkJournals(dir, runs)

const figures = {
  cpuMs: cpuMs / concurrency,
  wallMs,
  peakRssMb,
  ...(bracket ? { shortCpuMs: (shortBefore.cpuMs + shortAfter.cpuMs) / bracket.runs } : {}),
  checks: { runs: runs.length, requests: runs.reduce((sum, run) => sum + run.script.turns, 0) },
}
process.stdout.write(`${JSON.stringify(figures)}\n`, () => process.exit(0))

/** A client of the subject for one script. Every run of it is kept and checked after the clock has stopped. */
function start(script) {
  const step = (id, n) => {
    ran.get(id).calls.push(n)
    return stepResult(id, n)
  }
  const session = open({ baseUrl, dir, model: modelName(script), step })
  return {
    async run() {
      const id = `run-${process.pid}-${ran.size}`
      const run = { id, script, calls: [], received: listen ? [] : undefined, text: undefined }
      ran.set(id, run)
      run.text = await session.run({
        id,
        task: task(id),
        onDelta: listen ? (text) => run.received.push(text) : undefined,
      })
    },
    close: () => session.close(),
  }
}

async function runShort() {
  for (let index = 0; short && index < bracket.runs / 2; index++) await short.run()
}

async function clocked(work) {
  const wallBefore = performance.now()
  const cpuBefore = process.cpuUsage()
  await work()
  const cpu = process.cpuUsage(cpuBefore)
  return { cpuMs: (cpu.user + cpu.system) / 1000, wallMs: performance.now() - wallBefore }
}
