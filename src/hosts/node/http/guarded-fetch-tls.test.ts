import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import http from "node:http"
import https from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TLSSocket } from "node:tls"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { build } from "esbuild"
import { afterAll, afterEach, beforeAll, expect, test } from "vitest"
import { certificate, listen, stopServers } from "../../../../test/support/proxy-servers.ts"

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), "longhaul-fetch-"))
const authority = join(folder, "authority.pem")
const client = join(folder, "client.mjs")

/** A separate process, because trusted certificates are fixed at process start. */
beforeAll(async () => {
  writeFileSync(authority, certificate.cert)
  await build({
    stdin: {
      contents: `
        import { nodeFetch } from "./guarded-fetch.ts"
        const { signal } = new AbortController()
        const fetch = nodeFetch({ allow: ["localhost", "127.0.0.1", "other.example"], resolve: async () => ["127.0.0.1"] })
        const answer = await fetch.get(process.argv[2], { signal, maxBytes: 1000, timeoutMs: 10_000 })
          .then(({ url, bytes }) => [url, Buffer.from(bytes).toString()], ({ code, message }) => [code, message])
        console.log(JSON.stringify(answer))`,
      resolveDir: fileURLToPath(new URL(".", import.meta.url)),
    },
    outfile: client,
    bundle: true,
    format: "esm",
    platform: "node",
    logLevel: "error",
  })
})
afterAll(() => rmSync(folder, { recursive: true }))
afterEach(stopServers)

async function fetched(url: string, trusted = true): Promise<[string, string]> {
  const env = { PATH: process.env.PATH, ...(trusted && { NODE_EXTRA_CA_CERTS: authority }) }
  return JSON.parse((await run(process.execPath, [client, url], { env })).stdout) as [string, string]
}

async function secureServer(location?: string) {
  const server = https.createServer(certificate, (request, response) => {
    if (location !== undefined && request.url === "/") response.writeHead(302, { location }).end()
    else response.end(`secure, for ${(request.socket as TLSSocket & { servername?: string | false }).servername}`)
  })
  return `https://localhost:${await listen(server)}`
}

test("https uses the host's name for TLS at the address that was checked", async () => {
  const url = await secureServer()
  expect(await fetched(url)).toEqual([`${url}/`, "secure, for localhost"])
})

test("an untrusted certificate or one for another name is an error", async () => {
  const url = await secureServer()
  expect(await fetched(url, false)).toEqual(["io", expect.stringContaining("SELF_SIGNED")])
  expect(await fetched(url.replace("localhost", "other.example"))).toEqual(["io", expect.stringContaining("ALTNAME")])
})

test("a redirect from https to http is not followed; https to https and http to https are", async () => {
  let plainRequests = 0
  const plain = http.createServer((_, response) => {
    plainRequests++
    response.writeHead(302, { location: secure }).end()
  })
  const plainUrl = `http://127.0.0.1:${await listen(plain)}/`
  const secure = `${await secureServer()}/end`
  expect(await fetched(await secureServer(plainUrl))).toEqual(["denied", expect.stringContaining("from https to http")])
  expect(plainRequests).toBe(0)
  expect(await fetched(await secureServer(secure))).toEqual([secure, "secure, for localhost"])
  expect(await fetched(plainUrl)).toEqual([secure, "secure, for localhost"])
})
