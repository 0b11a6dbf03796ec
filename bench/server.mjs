import { once } from "node:events"
import { createServer } from "node:http"
import { createServer as createSecureServer } from "node:https"
import { setTimeout as sleep } from "node:timers/promises"
import { selfSigned } from "./certificate.mjs"
import { finalFrames, textFrames, toolFrames, toolUseId } from "./frames.mjs"
import { glance, historyFault } from "./history.mjs"
import { parseModelName, stepResult } from "./script.mjs"

/**
 * A scripted Anthropic Messages server, forked by run.mjs. Every run must ask for turn 0, 1, 2 … once each, with the result
 * of the turn before at its end; anything else is answered 400 and so fails the measurement.
 */
const counts = { requests: 0, runs: 0, faults: [] }

/** Runs under way: how many turns were asked for. @type {Map<string, number>} */
const turnsAsked = new Map()

const certificate = await selfSigned()
const settings = { keepAliveTimeout: 60_000, requestTimeout: 0 }
const server = createServer(settings, listener)
const secureServer = createSecureServer({ ...settings, ...certificate }, listener)

function listener(request, response) {
  const chunks = []
  request.on("data", (chunk) => chunks.push(chunk))
  request.on("end", () => {
    answer(request, chunks, response).catch((error) => {
      counts.faults.push(String(error))
      response.destroy()
    })
  })
}

async function answer(request, chunks, response) {
  counts.requests++
  const { id, model, lastResult } = glance(chunks)
  const script = parseModelName(model ?? "")
  const turn = turnsAsked.get(id) ?? 0
  const last = script !== undefined && turn === script.turns - 1
  const fault =
    (request.method !== "POST" || request.url !== "/v1/messages" ? `${request.method} ${request.url}` : undefined) ??
    (id === undefined || script === undefined ? `no bench run or model in the request (${model})` : undefined) ??
    (lastResult !== (turn > 0 ? toolUseId(turn - 1) : undefined) ? `turn ${turn} after ${lastResult}` : undefined) ??
    (last ? historyFault(Buffer.concat(chunks), id, script) : undefined)
  if (fault) return refuse(response, `${id}: ${fault}`)

  if (last) {
    turnsAsked.delete(id)
    counts.runs++
  } else turnsAsked.set(id, turn + 1)
  if (script.latencyMs > 0) await sleep(script.latencyMs)
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "request-id": `req_${id}_${turn}` })
  const text = prebuilt(`text ${model}`, () => textFrames(model, script.deltas))
  const rest = last
    ? finalFrames(turn > 0 ? stepResult(id, turn - 1) : undefined)
    : prebuilt(`tool ${turn}`, () => toolFrames(turn))
  const write = script.paceMs > 0 ? writePaced : writeAll
  await write(response, text, script.paceMs)
  await write(response, rest, script.paceMs)
  response.end()
}

/** One HTTP chunk per event, as providers send them; the kernel joins adjacent writes. */
async function writeAll(response, frames) {
  for (const frame of frames) if (!response.write(frame)) await once(response, "drain")
}

/** One packet per event, as live models send them. */
async function writePaced(response, frames, paceMs) {
  for (const frame of frames) {
    response.write(frame)
    await sleep(paceMs)
  }
}

function refuse(response, message) {
  counts.faults.push(message)
  response.writeHead(400, { "content-type": "application/json" })
  response.end(JSON.stringify({ type: "error", error: { type: "invalid_request_error", message } }))
}

const built = new Map()
function prebuilt(key, build) {
  const known = built.get(key)
  if (known) return known
  const frames = build()
  built.set(key, frames)
  return frames
}

process.on("message", () => {
  process.send(counts)
  counts.requests = 0
  counts.runs = 0
  counts.faults = []
  turnsAsked.clear()
})
process.on("disconnect", () => process.exit())
const [port, securePort] = await Promise.all([server, secureServer].map(listen))
process.send({ port, securePort, authority: certificate.cert })

async function listen(server) {
  await once(server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }), "listening")
  return server.address().port
}
