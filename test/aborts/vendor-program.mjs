// A vendor's program as a test directs it: answers from a table by the method of each message, and then hangs at one method with a
// request to a server that never answers. Usage: node vendor-program.mjs <settings as JSON> [arguments that it ignores]
import { createInterface } from "node:readline"

const { url, hanging, replies } = JSON.parse(process.argv[2])
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, request, request_id, type } = JSON.parse(line)
  const name = method ?? request?.subtype ?? type
  if (name === hanging) fetch(url).catch(() => {})
  else if (name in replies) write(id === undefined ? control(request_id, replies[name]) : rpc(id, replies[name]))
}

function rpc(id, result) {
  return { jsonrpc: "2.0", id, result }
}

function control(request_id, response) {
  return { type: "control_response", response: { subtype: "success", request_id, response } }
}

function write(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`)
}
