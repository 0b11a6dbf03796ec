// node stdio-server.mjs <settings.json>: the scene's server on standard input and output.
import { appendFileSync, readFileSync } from "node:fs"
import { createInterface } from "node:readline"
import { answers } from "./answers.mjs"

const settings = process.argv[2] ? JSON.parse(readFileSync(process.argv[2], "utf8")) : {}
// Ends neither with its input nor on request.
if (settings.stubborn) process.on("SIGTERM", () => {})
if (settings.stubborn || settings.neverAnswers) setInterval(() => {}, 1000)
if (settings.exitsAtOnce) process.exit(1)
if (settings.starts) appendFileSync(settings.starts, `${process.pid}\n`)
const scene = answers(settings)
const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)

for await (const line of createInterface({ input: process.stdin })) {
  if (settings.neverAnswers) continue
  const message = JSON.parse(line)
  if (message.id === undefined || message.method === undefined) continue
  scene.answer(message, write).then(
    (result) => result && write({ id: message.id, result }),
    (error) => write({ id: message.id, error: { code: error.code ?? -32603, message: error.message } }),
  )
}
