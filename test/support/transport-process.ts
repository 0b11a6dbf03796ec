import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { build } from "esbuild"
import { afterAll, beforeAll } from "vitest"
import type { Json } from "../../src/contract/json.ts"
import { certificate } from "./proxy-servers.ts"
import { WATCHDOG_MS } from "./watchdog.ts"

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), "longhaul-transport-"))
const authority = join(folder, "authority.pem")

beforeAll(async () => {
  writeFileSync(authority, certificate.cert)
  await build({
    entryPoints: [fileURLToPath(new URL("../../src/hosts/node/http/http-transport.ts", import.meta.url))],
    outfile: join(folder, "transport.mjs"),
    bundle: true,
    format: "esm",
    platform: "node",
    logLevel: "error",
  })
})
afterAll(() => rmSync(folder, { recursive: true }))

/**
 * The result of the code in a separate process that trusts the test certificate and must exit on its own. It has
 * `given` and `ask(url, variables)`, which resolves with status and body, or with the failure's code and message.
 */
export async function inProcess(code: string, given: Json): Promise<unknown> {
  const file = join(folder, `${scripts++}.mjs`)
  writeFileSync(file, `${PRELUDE}console.log(JSON.stringify(await (async () => { ${code} })()))\n`)
  const { stdout } = await run(process.execPath, [file, JSON.stringify(given)], {
    env: { ...process.env, NODE_EXTRA_CA_CERTS: authority },
    timeout: WATCHDOG_MS,
  })
  return JSON.parse(stdout)
}

let scripts = 0

const PRELUDE = `
  import { nodeTransport } from "./transport.mjs"
  const given = JSON.parse(process.argv[2])
  const made = new Map()
  function transportOf(variables) {
    const key = JSON.stringify(variables)
    if (!made.has(key)) made.set(key, nodeTransport({}, variables))
    return made.get(key)
  }
  async function ask(url, variables = {}) {
    let answer = ""
    const head = (status) => { answer += status + " " }
    const chunk = (bytes) => { answer += Buffer.from(bytes).toString("latin1") }
    const request = { url, headers: { "x-kind": "test" }, body: Buffer.from("asked") }
    await transportOf(variables).stream(request, { head, chunk }).catch(({ code, message }) => {
      answer = code + ": " + message
    })
    return answer
  }
`
