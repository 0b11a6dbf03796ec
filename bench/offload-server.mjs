import { once } from "node:events"
import { createServer } from "node:http"
import { finalFrames, textFrames, toolFrames } from "./frames.mjs"

/**
 * Answers the requests of one run after another, forked by offload.mjs: a call of the tool in every turn but the last. Says how
 * many bytes each request had.
 */
const turns = Number(process.argv[2])
let sizes = []

const server = createServer((request, response) => {
  let bytes = 0
  request.on("data", (chunk) => {
    bytes += chunk.length
  })
  request.on("end", () => {
    const turn = sizes.push(bytes) - 1
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" })
    const last = turn === turns - 1
    const frames = [...textFrames("bench", 20), ...(last ? finalFrames("done") : toolFrames(turn))]
    for (const frame of frames) response.write(frame)
    response.end()
  })
})

process.on("message", () => {
  process.send(sizes)
  sizes = []
})
process.on("disconnect", () => process.exit())
await once(server.listen({ port: 0, host: "127.0.0.1" }), "listening")
process.send(server.address().port)
