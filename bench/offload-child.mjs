/** One run of one subject in a fresh process, in which the first call of the tool returns much. Says its CPU as JSON. */
const { subject, baseUrl, dir, bytes } = JSON.parse(process.argv[2])
const { open } = await import(subject === "ours-offload" ? "./ours.mjs" : `./${subject}.mjs`)

const row = JSON.stringify({ id: 1, name: "a row of the table", text: "x".repeat(60) })
const long = `[${Array.from({ length: Math.ceil(bytes / (row.length + 1)) }, () => row).join(",")}]`
const step = (_id, n) => (n === 0 ? long : `step ${n} is done`)

const before = process.cpuUsage()
// The hard cap would cut a result that is not stored, so the runtime is measured only with offloading.
const session = open({ baseUrl, dir, model: "bench", step }, { compaction: { offload: true } })
const text = await session.run({ id: `run-${process.pid}`, task: "Call step until you are done." })
await session.close()
const { user, system } = process.cpuUsage(before)
if (!text.includes("The last result was: done")) throw new Error(`the run ended with ${text.slice(-100)}`)
const figures = { cpuMs: (user + system) / 1000, resultBytes: long.length }
process.stdout.write(`${JSON.stringify(figures)}\n`, () => process.exit(0))
