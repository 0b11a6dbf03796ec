import { mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import type { GuardedFetch } from "../src/contract/env.ts"
import type { RunRecord } from "../src/contract/event.ts"
import type { ExtensionRun } from "../src/contract/extension.ts"
import type { RunResult } from "../src/contract/result.ts"
import type { Runtime } from "../src/contract/runtime.ts"
import type { ToolContext } from "../src/contract/tool.ts"
import { loginKey } from "../src/extensions/mcp/oauth.ts"
import { withOutputFolder } from "../src/extensions/mcp/output-folder.ts"
import { createRuntime, defineTool, fsStore, type NodeRuntimeConfig } from "../src/hosts/node/index.ts"
import { createMetricsObserver } from "../src/index.ts"
import { tenantOf } from "../src/lib/tenant/run-keys.ts"
import { PolicyClient, serviceOf } from "../src/policy/index.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../src/testing/index.ts"
import { taskTools, webFetchTool } from "../src/tools/index.ts"
import { leaveRun } from "./support/approval-scene.ts"
import { countAttacks } from "./support/count-attacks.ts"
import { toolCall } from "./support/tenant-scene.ts"

countAttacks("tenants × every keyed thing")

const base = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-tenants-")))
afterAll(() => rmSync(base, { recursive: true, force: true }))

const RUN = "order-17"

/** Two tenants of one process: the second runtime is made from the first one, as a service with tenants does. */
interface Tenants {
  readonly first: Runtime
  readonly second: Runtime
}

type Pair = readonly [name: string, (config: NodeRuntimeConfig) => Tenants]

const newStores = {
  disk: () => fsStore(mkdtempSync(join(base, "store-"))),
  memory: () => memoryStore(),
}

const pairs: readonly Pair[] = Object.entries(newStores).flatMap(([kind, newStore]): Pair[] => [
  [
    `two workspaces of one store (${kind})`,
    (config) => {
      const first = createRuntime({ ...config, store: newStore(), workspaceId: "acme" })
      return { first, second: first.with({ workspaceId: "globex" }) }
    },
  ],
  [
    `one workspace of two stores (${kind})`,
    (config) => {
      const first = createRuntime({ ...config, store: newStore() })
      return { first, second: first.with({ store: newStore() }) }
    },
  ],
])

/** The same run in both: its results, the contexts of its calls, its records and what its extensions were given. */
async function sameRun({ first, second }: Tenants, steps: readonly ScriptedStep[]): Promise<readonly [Seen, Seen]> {
  return [await oneRun(first, steps), await oneRun(second, steps)]
}

interface Seen {
  readonly result: RunResult
  readonly context: ToolContext
  readonly records: readonly RunRecord[]
  readonly extension: ExtensionRun
}

async function oneRun(runtime: Runtime, steps: readonly ScriptedStep[]): Promise<Seen> {
  let context: ToolContext | undefined
  let extension: ExtensionRun | undefined
  const spy = defineTool({
    name: "spy",
    description: "spy",
    inputSchema: { type: "object" },
    effect: "once",
    run(args, own) {
      context = own
      return JSON.stringify(args)
    },
  })
  const watching = {
    name: "watching",
    open(run: ExtensionRun) {
      extension = run
      return {}
    },
  }
  const result = await runtime.run({
    task: "Go.",
    runId: RUN,
    metadata: { customer: 17 },
    model: scriptedModel([toolCall("spy", {}), ...steps, "Done."]),
    tools: [spy],
    extensions: [watching],
  })
  expect(result.status).toBe("done")
  const records: RunRecord[] = []
  for await (const record of runtime.events(RUN)) records.push(record)
  if (!context || !extension) throw new Error("The run made no call.")
  return { result, context, records, extension }
}

/** A key that must differ between the tenants, and be the same for the same run of the same tenant. */
const keys: readonly (readonly [name: string, config: NodeRuntimeConfig, (seen: Seen) => unknown])[] = [
  ["the idempotency key of a call", {}, ({ context }) => context.idempotencyKey],
  [
    "the key in an intent",
    {},
    ({ records }) => records.flatMap((each) => (each.type === "tool-intent" ? each.key : [])),
  ],
  ["the scope of a run, for tools", {}, ({ context }) => context.runScope],
  ["the tenant, for extensions", {}, ({ extension }) => extension.tenant],
  [
    "the login at an MCP server",
    {},
    ({ extension }) => loginKey({ ...extension, name: "crm", server: { url: "https://crm.example/mcp" } }),
  ],
  ["the folder of a browser's files", {}, ({ context }) => browserFile(context)],
]

function browserFile(context: ToolContext): unknown {
  const shot = defineTool({
    name: "browser_shot",
    description: "A tool.",
    inputSchema: { type: "object", properties: { filename: { type: "string" } } },
    run: (args) => args,
  })
  const definition = {
    server: "b",
    tool: "browser_shot",
    name: "x",
    description: "A tool.",
    inputSchema: {},
    hints: {},
    digest: "",
  }
  return withOutputFolder(shot, definition, "/qa").run({ filename: "page.png" }, context)
}

const long = "SENTINEL ".repeat(20_000)

describe.each(pairs)("of %s", (_, open) => {
  test.each(keys)("%s belongs to one tenant", async (__, config, keyOf) => {
    const tenants = open(config)
    const [mine, other] = (await sameRun(tenants, [])).map(keyOf)
    expect(mine).not.toEqual(other)
    expect(JSON.stringify([mine, other])).not.toMatch(/acme|globex|store-/)
    await Promise.all([tenants.first.close(), tenants.second.close()])
  })

  test("an artifact folder that they share has a folder for each run", async () => {
    const speak = defineTool({
      name: "speak",
      description: "A tool.",
      inputSchema: { type: "object" },
      run: () => long,
    })
    const tenants = open({ toolArtifactDir: mkdtempSync(join(base, "kept-")), tools: [speak], compaction: false })
    const [mine, other] = await sameRun(tenants, [toolCall("speak", {})])
    const folderOf = ({ result }: Seen) => dirname(result.warnings.flatMap(({ paths = [] }) => paths)[0] ?? "")
    expect(folderOf(mine)).toContain(`/tool-output/${RUN}/`)
    expect(folderOf(mine)).not.toBe(folderOf(other))
  })

  test("a policy service gets another session for the run of each tenant", async () => {
    const sessions: unknown[] = []
    const answer = async (_: unknown, init?: RequestInit) => {
      const { sessionId, digest } = JSON.parse(String(init?.body))
      sessions.push(sessionId)
      return Response.json({ decision: "allow", ...(digest && { digest }) })
    }
    const fetch = answer as typeof globalThis.fetch // Safe: the client reads the status and the text of the answer.
    const client = new PolicyClient({ baseUrl: "https://policy.example", apiKey: "k", fetch })
    const tenants = open({ policy: { services: [serviceOf(client)] } })
    await sameRun(tenants, [])
    const [mine, other, ...others] = new Set(sessions)
    expect([mine, other]).toEqual([expect.stringMatching(`^${RUN}/`), expect.stringMatching(`^${RUN}/`)])
    expect(others).toEqual([])
    await Promise.all([tenants.first.close(), tenants.second.close()])
  })

  test("the tasks of one tenant are not those of the other", async () => {
    const tenants = open({ tools: taskTools() })
    await oneRun(tenants.first, [toolCall("TaskCreate", { subject: "SENTINEL" })])
    const { result } = await oneRun(tenants.second, [toolCall("TaskList", {})])
    expect(result.toolCalls.at(-1)?.result).toBe("There are no tasks.")
  })

  test("a page that one tenant has fetched is fetched again for the other", async () => {
    let fetched = 0
    const fetch = {
      post: async () => expect.fail("WebFetch only reads."),
      get: async (url: string) => {
        fetched++
        return {
          url,
          status: 200,
          contentType: "text/plain",
          bytes: new TextEncoder().encode(`Visit ${fetched}`),
          truncated: false,
        }
      },
    } as unknown as GuardedFetch // Safe: WebFetch calls `get` only.
    const tenants = open({ tools: [webFetchTool()], env: { fetch } })
    const look = toolCall("WebFetch", { url: "https://page.example/" })
    const results = (await sameRun(tenants, [look, look])).map(({ result }) =>
      result.toolCalls.slice(1).map((call) => call.result),
    )
    expect(results.map((each) => each.map((text) => /Visit \d/.exec(text ?? "")?.[0]))).toEqual([
      ["Visit 1", "Visit 1"],
      ["Visit 2", "Visit 2"],
    ])
  })

  test("a token that one tenant's model used is not filled in for the same call of the other one's run", async () => {
    const got: string[] = []
    const send = defineTool({
      name: "send",
      description: "A tool.",
      inputSchema: { type: "object" },
      run(args) {
        got.push(JSON.stringify(args))
        return "sent"
      },
    })
    const asks = { rules: [{ ask: { tool: "send" }, via: "pause" as const }] }
    const tokens = ["A1b2C3d4", "E5f6G7h8"].map((part) => `ghp_${part.repeat(5)}`.slice(0, 40))
    const { first, second } = open({ tools: [send], policy: asks })
    const begin = (runtime: Runtime, token = "") =>
      runtime.run({ task: "Go.", runId: RUN, model: scriptedModel([toolCall("send", { token }), "Done."]) })
    const approve = (runtime: Runtime) =>
      runtime.resume({ runId: RUN, decision: "approve", model: scriptedModel(["Done."]) })
    // Both pause before a call whose id and recorded arguments are the same.
    const mine = await begin(first, tokens[0])
    const theirs = await begin(second.with({}), tokens[1])
    expect(mine.pause?.pendingToolCall).toMatchObject({ name: "send" })
    expect(theirs.pause?.pendingToolCall?.args).toEqual(mine.pause?.pendingToolCall?.args)
    // The runtime that goes on with the second run never had its token; only the one of the first had.
    const [call] = (await approve(second)).toolCalls
    expect(call).toMatchObject({ status: "unknown" })
    expect(call?.result).toContain("a secret that only an earlier process had")
    expect(got).toEqual([])
    expect((await approve(first)).toolCalls).toMatchObject([{ status: "ok" }])
    expect(got).toEqual([JSON.stringify({ token: tokens[0] })])
  })

  test("no method of one runtime reaches the run of the other", async () => {
    const { first, second } = open({})
    await oneRun(first, [])
    expect(await second.status(RUN)).toMatchObject({ status: "not_found" })
    expect(await second.runs()).toEqual([])
    for await (const event of second.events(RUN)) expect(event).toBeUndefined()
    for (const reach of ["cancel", "interrupt", "compact", "remove"] as const) {
      expect([reach, await second[reach](RUN)]).toEqual([reach, false])
    }
    expect(await second.steer(RUN, "Go on.")).toBe(false)
    await expect(second.fork(RUN)).rejects.toMatchObject({ code: "not_found" })
    await expect(second.replay(RUN)).rejects.toMatchObject({ code: "not_found" })
    await expect(second.webhookDeliveries(RUN)).rejects.toMatchObject({ code: "not_found" })
    expect((await second.resume({ runId: RUN })).error?.code).toBe("not_found")
    expect((await second.continue(RUN, "And now?")).error?.code).toBe("not_found")
  })

  test("results, summaries and contexts name the tenant and have the metadata", async () => {
    const tenants = open({})
    const seen = await sameRun(tenants, [])
    const expected = seen.map(({ extension }) => ({ workspaceId: extension.workspaceId, metadata: { customer: 17 } }))
    expect(seen.map(({ result }) => result)).toMatchObject(expected)
    expect(seen.map(({ context }) => context)).toMatchObject(expected)
    expect(await tenants.first.runs({ metadata: { customer: 17 } })).toMatchObject([expected[0]])
    expect(await tenants.second.runs()).toMatchObject([expected[1]])
    expect(await tenants.second.status(RUN)).toMatchObject(expected[1] ?? {})
    expect(await tenants.second.runs({ metadata: { customer: 18 } })).toEqual([])
    expect(await tenants.second.runs({ metadata: { customer: 17, toString: null } })).toEqual([])
  })
})

test("an observer that two workspaces share counts a run of the same id twice", async () => {
  const observer = createMetricsObserver()
  const first = createRuntime({ store: memoryStore(), workspaceId: "acme", observers: [observer], env: {}, tools: [] })
  const second = first.with({ workspaceId: "globex" })
  let finish = () => {}
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  const hold = defineTool({
    name: "hold",
    description: "A tool.",
    inputSchema: { type: "object" },
    run: () => finished,
  })
  const begin = (runtime: Runtime) =>
    runtime.stream({ task: "Go.", runId: RUN, tools: [hold], model: scriptedModel([toolCall("hold", {}), "Done."]) })
  const runs = [begin(first), begin(second)]
  for (const run of runs) for await (const event of run) if (event.type === "tool-call") break
  expect(observer.snapshot().runs).toMatchObject({ started: 2, active: 2 })
  finish()
  for (const run of runs) expect(await run.result).toMatchObject({ status: "done" })
})

test("a run that an older version began keeps its idempotency keys", async () => {
  const keys: string[] = []
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    inputSchema: { type: "object" },
    run: (_, { idempotencyKey }) => void keys.push(idempotencyKey),
  })
  const [before, after] = [memoryStore(), memoryStore()]
  const steps = () => scriptedModel([toolCall("pay", {}), "Paid."])
  const first = createRuntime({ store: before, tools: [pay], env: {}, model: steps() })
  const begun = await first.run({ task: "Go.", runId: RUN, slice: { turns: 1 } })
  expect(begun.pause?.reason).toBe("released")
  const records: RunRecord[] = []
  for await (const record of first.events(RUN)) records.push(record)
  await leaveRun(after, RUN, records.map(withoutTenant))

  const second = createRuntime({ store: after, tools: [pay], env: {}, model: steps() })
  expect(await second.resume({ runId: RUN })).toMatchObject({ status: "done" })
  const forked = await second.fork(RUN, { at: records.length - 1 })
  expect(await second.with({ model: steps() }).resume({ ...forked, answer: "Go on." })).toMatchObject({
    status: "done",
  })
  const [own, kept, fork] = keys
  expect(own).toMatch(new RegExp(`^[0-9a-f]{32}/${RUN}/main/1\\.0$`))
  expect(kept).toBe(`${RUN}/main/2.0`)
  expect(fork).toMatch(new RegExp(`^[0-9a-f]{32}/${forked.runId}/main/2\\.0$`))
})

function withoutTenant(record: RunRecord): RunRecord {
  if (record.type !== "run-start") return record
  const { tenant: _, ...before } = record
  return before
}

test("ten tenants that share a limit of two runs have at most two at once", async () => {
  let [atOnce, most] = [0, 0]
  const busy = defineTool({
    name: "busy",
    description: "Works.",
    inputSchema: { type: "object" },
    async run() {
      most = Math.max(most, ++atOnce)
      await new Promise((resolve) => setImmediate(resolve))
      atOnce--
    },
  })
  const shared = createRuntime({ store: memoryStore(), tools: [busy], env: {}, concurrency: 2 })
  const tenants = Array.from({ length: 10 }, (_, index) => shared.with({ workspaceId: `tenant-${index}` }))
  const work = (runtime: Runtime) =>
    runtime.run({ task: "Go.", model: scriptedModel([toolCall("busy", {}), toolCall("busy", {}), "Done."]) })
  for (const { status } of await Promise.all(tenants.map(work))) expect(status).toBe("done")
  expect(most).toBe(2)

  most = 0
  const own = tenants.map((tenant) => tenant.with({ concurrency: 1 }))
  await Promise.all([...own, ...own].map(work))
  expect(most).toBeGreaterThan(2)
})

test("a store has one id, which ten processes create at once", async () => {
  const root = mkdtempSync(join(base, "store-"))
  const tenants = await Promise.all(Array.from({ length: 10 }, () => tenantOf(fsStore(root), "acme")))
  expect(new Set(tenants).size).toBe(1)
  const moved = `${root}-moved`
  renameSync(root, moved)
  expect(await tenantOf(fsStore(moved), "acme")).toBe(tenants[0])
  writeFileSync(join(moved, ".longhaul", "store.json"), "{}")
  await expect(tenantOf(fsStore(moved), "acme")).rejects.toMatchObject({ code: "storage" })
})
