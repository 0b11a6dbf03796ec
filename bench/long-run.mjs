// A run of ten thousand turns in a window of 32,000 tokens: does a turn cost at the end what it cost at the beginning, and does
// memory stay? Needs a build. Usage: node bench/long-run.mjs [turns]
// Peak memory is measured twice. With the default heap, V8 lets garbage lie while memory is free: in ten thousand turns it collects
// its old space about twice, and its young generation grows. With a small heap of the same size for both runs, the peak shows what
// the run needs.
import { fork } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"

const WINDOW = 32_000
const SMALL_HEAP = ["--max-semi-space-size=1", "--max-old-space-size=24"]
const GOAL = { growth: 1.1, memory: 1.2 }
const [role, ...args] = process.argv.slice(2)

if (role === "server") await serveModel()
else if (role === "client") await runTurns(args[0], Number(args[1]), args[2] === "resume")
else await compare(Number(role ?? 10_000))

async function compare(turns) {
  const server = fork(fileURLToPath(import.meta.url), ["server"])
  const [{ url }] = await once(server, "message")
  try {
    const short = await measured(url, 1000)
    const long = await measured(url, turns)
    const shortLimited = await measured(url, 1000, SMALL_HEAP)
    const longLimited = await measured(url, turns, SMALL_HEAP)
    const growth = long.late / long.early
    const peaks = (name, from, to) =>
      `${name}: ${from.peakMb.toFixed(0)} MB after 1,000 turns, ${to.peakMb.toFixed(0)} MB: ${verdict(to.peakMb / from.peakMb, GOAL.memory)}`
    const verdict = (value, goal) => `${value.toFixed(2)} (goal ≤ ${goal}) ${value <= goal ? "met" : "MISS"}`
    console.log(`${turns} turns in a window of ${WINDOW} tokens: ${long.status}, ${long.compactions} compactions`)
    console.log(
      `CPU per turn: ${long.early.toFixed(2)} ms in turns 1,001–2,000, ${long.late.toFixed(2)} ms in the last 1,000`,
    )
    console.log(`growth of CPU per turn: ${verdict(growth, GOAL.growth)}`)
    console.log(peaks("peak RSS, default heap", short, long))
    console.log(peaks(`peak RSS, heap of ${SMALL_HEAP.join(" ")}`, shortLimited, longLimited))
    console.log(
      `live heap at the end, after a collection: ${short.liveMb.toFixed(1)} MB after 1,000 turns, ${long.liveMb.toFixed(1)} MB`,
    )
    console.log(
      `journal: ${(long.journalBytes / turns).toFixed(0)} bytes a turn (${(short.journalBytes / 1000).toFixed(0)} in 1,000 turns)`,
    )
    console.log(
      `resume of all of it: ${long.resumeMs.toFixed(0)} ms CPU (${short.resumeMs.toFixed(0)} for 1,000 turns)`,
    )
  } finally {
    server.kill()
  }
}

async function measured(url, turns, heap = []) {
  const execArgv = ["--expose-gc", ...heap]
  // A whole journal does not fit in a small heap.
  const then = heap.length > 0 ? "end" : "resume"
  const client = fork(fileURLToPath(import.meta.url), ["client", url, String(turns), then], { execArgv })
  const [figures] = await once(client, "message")
  return figures
}

/** One run with a tool call in every turn, then perhaps a resume of it from its journal. */
async function runTurns(url, turns, isResumed) {
  const { anthropic, createRuntime, defineTool, fsStore } = await import(
    pathToFileURL(join(process.env.BENCH_DIST ?? join(import.meta.dirname, "../dist"), "hosts/node/index.js")).href
  )
  const dir = mkdtempSync(join(tmpdir(), "longhaul-bench-long-"))
  const step = defineTool({
    name: "step",
    description: "Does one step of the work.",
    inputSchema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
    effect: "none",
    run: ({ n }) => `Step ${n}: ${"the quick brown fox jumps over the lazy dog. ".repeat(25)}`,
  })
  const cpu = new Map()
  let compactions = 0
  let peakMb = 0
  let liveMb = 0
  const config = {
    store: fsStore(dir),
    model: anthropic({ model: "claude-sonnet-4-6", apiKey: "x", baseUrl: url }),
    tools: [step],
    compaction: { window: WINDOW },
    observers: [
      {
        recordEvent(event) {
          if (event.type === "compaction") compactions++
          if (event.type === "turn-end" && event.turn % 1000 === 0) cpu.set(event.turn, cpuMs())
          if (event.type === "turn-end" && event.turn === turns) {
            peakMb = process.resourceUsage().maxRSS / 1024
            globalThis.gc()
            liveMb = process.memoryUsage().heapUsed / 2 ** 20
          }
        },
      },
    ],
  }
  const runtime = createRuntime(config)
  const { status, error } = await runtime.run({ runId: "long", task: `Do ${turns} steps.`, limits: { turns } })
  await runtime.close()
  const isComplete = status === "failed" && error.code === "max_turns"
  const before = cpuMs()
  const again = createRuntime(config)
  if (isResumed) await again.status("long")
  const resumeMs = cpuMs() - before
  await again.close()
  const journalBytes = sizeOf(dir)
  rmSync(dir, { recursive: true, force: true })
  const per = (from, to) => (cpu.get(to) - cpu.get(from)) / (to - from)
  process.send({
    status: isComplete ? "finished" : `${status} ${JSON.stringify(error)}`,
    early: turns > 2000 ? per(1000, 2000) : 0,
    late: turns > 2000 ? per(turns - 1000, turns) : 0,
    ...{ compactions, peakMb, liveMb, journalBytes, resumeMs },
  })
}

function cpuMs() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

function sizeOf(folder) {
  return readdirSync(folder, { recursive: true })
    .map((name) => statSync(join(folder, name)))
    .reduce((sum, stats) => sum + (stats.isFile() ? stats.size : 0), 0)
}

/** A model that calls the tool in every turn, writes a summary if it is asked for one, and refuses what does not fit. */
async function serveModel() {
  let made = 0
  const server = createServer(async (request, response) => {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const tokens = Math.ceil(body.length / 4)
    if (tokens > WINDOW) return refuse(response, `prompt is too long: ${tokens} tokens > ${WINDOW} maximum`)
    const isSummary = body.includes("Write the summary now")
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.end(isSummary ? summary(tokens) : toolCall(tokens, ++made))
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  process.send({ url: `http://127.0.0.1:${server.address().port}` })
  process.on("disconnect", () => process.exit())
}

function refuse(response, message) {
  response.writeHead(400, { "content-type": "application/json" })
  response.end(JSON.stringify({ type: "error", error: { type: "invalid_request_error", message } }))
}

function toolCall(tokens, n) {
  const block = { type: "tool_use", id: `toolu_${n}`, name: "step", input: {} }
  const delta = { type: "input_json_delta", partial_json: JSON.stringify({ n }) }
  return answer(tokens, block, delta, "tool_use")
}

function summary(tokens) {
  const text = `Goal: do the steps. Done so far: ${"many steps, all without a problem. ".repeat(20)}Next: the next step.`
  return answer(tokens, { type: "text", text: "" }, { type: "text_delta", text }, "end_turn")
}

function answer(tokens, block, delta, stopReason) {
  const usage = { input_tokens: tokens, output_tokens: 1 }
  const message = { id: "msg", type: "message", role: "assistant", model: "claude-sonnet-4-6", content: [], usage }
  const events = [
    { type: "message_start", message: { ...message, stop_reason: null, stop_sequence: null } },
    { type: "content_block_start", index: 0, content_block: block },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: stopReason, stop_sequence: null }, usage: { output_tokens: 40 } },
    { type: "message_stop" },
  ]
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("")
}
