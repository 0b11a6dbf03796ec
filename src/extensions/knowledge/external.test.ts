import { afterEach, describe, expect, test } from "vitest"
import { stopServers } from "../../../test/support/proxy-servers.ts"
import { startWeb } from "../../../test/support/web-servers.ts"
import type { RunInput } from "../../contract/run.ts"
import { nodeFetch } from "../../hosts/node/http/guarded-fetch.ts"
import { createRuntime } from "../../index.ts"
import { memoryStore } from "../../stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../../testing/index.ts"
import { type ExternalDocument, knowledge } from "./index.ts"

afterEach(stopServers)

const SECRET = "sentinel-of-the-header-0123456789"
const read = (ref: string): ScriptedStep => ({ parts: [{ toolCall: { name: "ReadKnowledge", args: { ref } } }] })

async function runWith(external: readonly ExternalDocument[], refs: readonly string[], allow: readonly string[]) {
  const store = memoryStore()
  const model = scriptedModel([...refs.map(read), "ok"])
  const runtime = createRuntime({ model, store, env: { fetch: nodeFetch({ allow }) } })
  const input: RunInput = { task: "x", runId: "r", extensions: [knowledge({ external })] }
  const result = await runtime.run(input)
  const records = []
  for await (const record of runtime.events("r")) records.push(record)
  const everything = JSON.stringify([result, records, model.calls, await runtime.status("r"), await contentOf(store)])
  return { result, everything, results: result.toolCalls.map((call) => String(call.result)) }
}

/** All that the store holds of the run. */
async function contentOf(store: ReturnType<typeof memoryStore>): Promise<readonly string[]> {
  const path = "workspaces/default/.longhaul/projects/r/nodes/main"
  const names = await store.list(path)
  const files = await Promise.all(names.map((name) => store.folder(path).read(name)))
  return files.map((bytes) => new TextDecoder().decode(bytes ?? undefined))
}

describe("an external document", { tags: ["KB-05", "KB-07"] }, () => {
  test("an external document is read over the guarded fetch, once per run, as a whole and by section", async () => {
    const web = await startWeb((_, response) => {
      response.setHeader("content-type", "text/html; charset=utf-8")
      response.end("<h1>Prices</h1><p>Chair &euro; 10</p><h2>Old</h2><p>9</p>")
    })
    const document = { name: "prices", description: "Current prices.", url: `${web.url}/prices` }
    const { result, results } = await runWith([document], ["ext:prices", "ext:prices#old"], [`127.0.0.1:${web.port}`])
    expect(result.status).toBe("done")
    expect(results).toEqual(["# Prices\n\nChair € 10\n\n## Old\n\n9", "## Old\n\n9"])
    expect(web.seen).toHaveLength(1)
  })

  test("an external document alone brings ReadKnowledge and its description, and no search", async () => {
    const seen: unknown[] = []
    const step: ScriptedStep = (_, { system, tools }) => {
      seen.push(
        system,
        tools.map(({ name }) => name),
      )
      return "ok"
    }
    const extension = knowledge({
      external: [{ name: "prices", description: "Current\nprices.", url: "https://a.example" }],
    })
    await createRuntime({ model: scriptedModel([step]), extensions: [extension] }).run({ task: "x" })
    expect(seen).toEqual([expect.stringContaining("- ext:prices: Current prices."), ["ReadKnowledge"]])
  })

  test("an external document in a private network is denied, unless the host allows it", async () => {
    const web = await startWeb((_, response) => response.end("internal"))
    const { results } = await runWith([{ name: "a", description: "d", url: web.url }], ["ext:a"], [])
    expect(results[0]).toContain('"denied"')
    expect(web.seen).toEqual([])
  })

  test.each([
    ["format", "/a", "text/plain", { format: "json" }, '{\n "a": 1\n}'],
    ["media type", "/a", "application/json", {}, '{\n "a": 1\n}'],
    ["address", "/a.json", "text/plain", {}, '{\n "a": 1\n}'],
    ["nothing else", "/a", "application/octet-stream", {}, '{"a":1}'],
  ] as const)("an external document has the format that its %s says", async (_, path, type, more, text) => {
    const web = await startWeb((_, response) => response.setHeader("content-type", type).end('{"a":1}'))
    const document = { name: "a", description: "d", url: `${web.url}${path}`, ...more }
    const { results } = await runWith([document], ["ext:a"], [`127.0.0.1:${web.port}`])
    expect(results[0]).toBe(text)
  })
})

describe("the headers of an external document", { tags: ["KB-11"] }, () => {
  test("the headers of an external document reach its server, and no model, record, result or state, also if the server repeats them", async () => {
    const web = await startWeb((request, response) => {
      response.end(`You sent ${request.headers.authorization} and ${request.headers["x-api-key"]} to ${request.url}`)
    })
    const document = {
      name: "a",
      description: "d",
      url: `${web.url}/a?key=${SECRET}-in-the-address`,
      headers: { authorization: `Bearer ${SECRET}`, "x-api-key": `${SECRET}-2` },
    }
    const { result, everything } = await runWith([document], ["ext:a"], [`127.0.0.1:${web.port}`])
    expect(result).toMatchObject({ status: "done", toolCalls: [{ status: "ok" }] })
    expect(web.seen[0]?.headers).toMatchObject({ authorization: `Bearer ${SECRET}`, "x-api-key": `${SECRET}-2` })
    expect(everything).toContain("You sent")
    expect(everything).not.toContain(SECRET)
  })

  test.each([500, 401, 404])(
    "the headers of an external document are not in the message of a failure with status %i",
    async (status) => {
      const web = await startWeb((_, response) => response.writeHead(status).end(SECRET))
      const document = { name: "a", description: "d", url: `${web.url}/?key=${SECRET}`, headers: { "x-key": SECRET } }
      const { results, everything } = await runWith([document], ["ext:a"], [`127.0.0.1:${web.port}`])
      expect(results[0]).toContain(`its server responded with status ${status}`)
      // The address itself may be a secret in a form that is not recognised.
      expect(results[0]).not.toContain(String(web.port))
      expect(everything).not.toContain(SECRET)
    },
  )

  test("the headers of an external document do not follow a redirect to another origin", async () => {
    const other = await startWeb((_, response) => response.end("other"))
    const web = await startWeb((_, response) => response.writeHead(302, { location: other.url }).end())
    const document = { name: "a", description: "d", url: web.url, headers: { "x-key": SECRET } }
    const allow = [`127.0.0.1:${web.port}`, `127.0.0.1:${other.port}`]
    const { results } = await runWith([document], ["ext:a"], allow)
    expect(results[0]).toBe("other")
    expect(JSON.stringify(other.seen)).not.toContain(SECRET)
  })
})
