import { expect, test } from "vitest"
import type { RunEvent } from "../src/contract/event.ts"
import { api } from "../src/extensions/api/index.ts"
import { skills } from "../src/extensions/skills/index.ts"
import { createRuntime, nodeFetch } from "../src/hosts/node/index.ts"
import { knowledge } from "../src/hosts/node/knowledge/index.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { scriptedModel } from "../src/testing/index.ts"
import { serveScene } from "./mcp-client/http-server.mjs"
import { serveApi } from "./support/api-scene.ts"

const tenants = ["acme", "bolt", "crab", "dune"]
const tokenOf = (tenant: string) => `token-of-${tenant}-5566778899`
const tenantIn = (authorization: unknown) => tenants.find((tenant) => String(authorization).includes(tokenOf(tenant)))

test("each request has the token of its own run if four customers run at once, on one runtime with one server each for all", async () => {
  const served = await serveScene({})
  const service = await serveApi()
  const pages = await serveApi(({ headers }, response) => {
    // Slow, so that the requests of all runs overlap. The page says whose token asked for it.
    setTimeout(() => response.end(`# Page\n\nsecret of ${tenantIn(headers.authorization)}`), 20)
  })
  const part = (name: string, args = {}) => ({ toolCall: { name, args } })
  const steps = [
    {
      parts: [
        part("mcp__scene__echo", { text: "hi" }),
        part("ApiCall", { service: "s", method: "GET", path: "/x" }),
        part("SkillPage", { skill: "web" }),
        part("SkillPage", { skill: "web" }),
        part("ReadKnowledge", { ref: "ext:page" }),
        part("ReadKnowledge", { ref: "ext:page" }),
      ],
    },
    "Done.",
  ]
  const runtime = createRuntime({
    store: memoryStore(),
    tools: [],
    env: { fetch: nodeFetch({ allow: ["127.0.0.1"] }) },
  })
  const events = new Map<string, RunEvent[]>()
  const run = (tenant: string) => {
    const headers = { authorization: `Bearer ${tokenOf(tenant)}` }
    const seen: RunEvent[] = []
    events.set(tenant, seen)
    return runtime.run({
      runId: tenant,
      task: "x",
      model: scriptedModel(steps),
      mcpServers: { scene: { url: served.url, headers } },
      extensions: [
        api({
          services: { s: { baseUrl: service.url, auth: { type: "bearer", tokenRef: "T" } } },
          env: { T: tokenOf(tenant) },
        }),
        skills({ skills: [{ name: "web", description: "d", url: `${pages.url}/skill`, headers }] }),
        knowledge({ external: [{ name: "page", description: "d", url: `${pages.url}/kb.md`, format: "md", headers }] }),
      ],
      onEvent: (event) => seen.push(event),
    })
  }
  const results = await Promise.all(tenants.map(run))
  for (const [index, tenant] of tenants.entries()) {
    const { status = "", toolCalls = [] } = results[index] ?? {}
    expect([status, toolCalls.map((call) => call.status)]).toEqual(["done", Array(6).fill("ok")])
    const read = toolCalls.slice(2).map(({ result }) => /secret of (\w+)/.exec(String(result))?.[1])
    expect(read).toEqual([tenant, tenant, tenant, tenant])
    expect(JSON.stringify([results[index], events.get(tenant)])).not.toContain("5566778899")
  }
  // A skill is fetched once per run, however often it is read.
  const counted = (requests: readonly { readonly headers: Readonly<Record<string, unknown>> }[]) =>
    tenants.map((tenant) => requests.filter(({ headers }) => tenantIn(headers.authorization) === tenant).length)
  expect(counted(service.requests)).toEqual([1, 1, 1, 1])
  expect(counted(pages.requests.filter(({ url }) => url === "/skill"))).toEqual([1, 1, 1, 1])
  const echoes = served.requests.filter(({ message }) => message?.method === "tools/call")
  expect(counted(echoes)).toEqual([1, 1, 1, 1])
  expect(served.requests.every(({ headers }) => tenantIn(headers.authorization))).toBe(true)
  await runtime.close()
  await served.close()
})
