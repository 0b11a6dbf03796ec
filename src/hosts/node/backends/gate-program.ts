/**
 * The program of `Loopback.gate`: passes its input to the service and prints the answer. Anything but an answer ends it with 2, which
 * blocks. A text, because it runs in another process and must not depend on how this package is bundled.
 */
export const gateProgram = `
import { readFileSync } from "node:fs"
import { request } from "node:http"
const refuse = () => process.exit(2)
process.on("uncaughtException", refuse)
setTimeout(refuse, ${9 * 60_000}).unref()
const { url, token } = JSON.parse(readFileSync(process.argv[1], "utf8"))
const headers = { authorization: "Bearer " + token, "content-type": "application/json" }
const asked = request(url, { method: "POST", headers }, (answer) => {
  let text = ""
  answer.setEncoding("utf8").on("data", (part) => { text += part }).on("error", refuse)
  answer.on("aborted", refuse).on("end", () => {
    if (answer.statusCode !== 200) return refuse()
    process.stdout.write(text, () => process.exit(0))
  })
})
asked.on("error", refuse)
asked.end(readFileSync(0))
`
