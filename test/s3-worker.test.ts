import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { Miniflare } from "miniflare"
import { afterAll, beforeAll, expect, test } from "vitest"
import { storeCases } from "../src/testing/store-cases.ts"
import { type S3Server, startS3 } from "./support/s3-server.ts"

let server: S3Server
let worker: Miniflare | undefined
beforeAll(async () => {
  server = await startS3()
})
afterAll(async () => {
  await worker?.dispose()
  await server?.close()
})

const source = `
  import { s3Store } from "../src/stores/s3/index.ts"
  import { storeCases } from "../src/testing/store-cases.ts"
  export default {
    async fetch(request) {
      const options = await request.json()
      const kept = []
      for (const { name, needs, run } of storeCases) {
        if (needs === "append") continue
        await run(s3Store({ ...options, prefix: "worker-" + kept.length }))
        kept.push(name)
      }
      return Response.json(kept)
    },
  }`

test("s3Store passes the store cases inside workerd, over its own fetch", async () => {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: fileURLToPath(new URL(".", import.meta.url)) },
    bundle: true,
    write: false,
    format: "esm",
    platform: "neutral",
    target: "es2023",
    conditions: ["worker"],
    mainFields: ["module", "main"],
  })
  const script = outputFiles[0]?.text ?? ""
  worker = new Miniflare({ modules: true, script, compatibilityDate: "2026-01-01", cf: false })
  const response = await worker.dispatchFetch("http://worker/", {
    method: "POST",
    body: JSON.stringify(server.options),
  })
  expect(await response.json()).toEqual(storeCases.filter(({ needs }) => needs !== "append").map(({ name }) => name))
})
