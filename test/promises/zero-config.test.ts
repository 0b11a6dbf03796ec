import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { promisify } from "node:util"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { type Served, serve } from "../../src/hosts/node/http/serve.ts"
import { createRuntime, native } from "../../src/hosts/node/index.ts"
import type { Brand, RuntimeConfig } from "../../src/index.ts"
import { anthropic } from "../../src/providers/anthropic/index.ts"
import { resolveConfig } from "../../src/settings/config/config.ts"
import { memoryStore } from "../../src/stores/memory.ts"
import { createSimulator, scriptedModel } from "../../src/testing/index.ts"
import { detourTo } from "../support/detour.ts"
import { until } from "../support/watchdog.ts"
import { startReceiver } from "../webhooks/receiver.ts"

const repository = fileURLToPath(new URL("../..", import.meta.url))
const execFileAsync = promisify(execFile)
let home: string
let server: Served | undefined
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "longhaul-home-"))
  for (const name of Object.keys(process.env)) {
    if (/^(LONGHAUL_|ANTHROPIC_|XDG_)/.test(name)) vi.stubEnv(name, undefined)
  }
  vi.stubEnv("HOME", home)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await server?.close()
  rmSync(home, { recursive: true, force: true })
})

test("with only ANTHROPIC_API_KEY in the environment createRuntime() runs a task", { tags: ["BK-18"] }, async () => {
  const simulator = createSimulator({ script: ({ model }) => `This is ${model}.`, apiKey: "key-from-env" })
  server = await serve(simulator.fetch)
  const { result, hosts } = await runAlone(
    `${detourTo(server.port)}
    const { createRuntime } = await import(${built("hosts/node/index.js")})
    const result = await createRuntime().run({ task: "Who are you?" })
    console.log(JSON.stringify({ result, hosts }))
    process.exit()`,
    { HOME: home, ANTHROPIC_API_KEY: "key-from-env" },
  )
  expect(result).toMatchObject({ status: "done", text: "This is claude-sonnet-4-6." })
  expect(hosts).toEqual(["api.anthropic.com:443"])
  expect(simulator.requests.map(({ path }) => path)).toEqual(["/v1/messages"])
  expect(result.transcript.path.startsWith(join(home, ".local/state/longhaul/"))).toBe(true)
  expect(readFileSync(join(result.transcript.path, "000000.jsonl"), "utf8")).not.toContain("key-from-env")
})

test("no configuration key is required, and each can be set", { tags: ["BK-19", "HOST-01"] }, async () => {
  const nothing: RuntimeConfig = {}
  expect(createRuntime(nothing)).toHaveProperty("run")
  const everything: Required<RuntimeConfig> = {
    workspace: home,
    store: memoryStore(),
    workspaceId: "acme",
    schemas: { invoice: { type: "object" } },
    model: scriptedModel(["fine"]),
    backend: native(),
    backends: [native()],
    chain: ["native"],
    selection: { strategy: "cost_optimized", preferred: "native", requires: ["tools"] },
    mcpServers: {},
    extensions: [],
    deadlines: { openMs: 1000, replyMs: 1000, stopMs: 1000, idleMs: 1000 },
    tools: [],
    policy: { mode: "ask" },
    allowedTools: [],
    disabledTools: ["Bash"],
    agents: { depth: 1, atOnce: 2, total: 3, gates: "deny" },
    limits: { turns: 3, tokens: 1_000_000, usd: 5, timeMs: 60_000 },
    compaction: { at: 0.7, window: 200_000, offload: { thresholdBytes: 4096 } },
    resolvePricing: () => ({ input: 1, output: 2 }),
    unknownPrice: "warn",
    unknownOutcome: "pause",
    recover: "mark",
    executor: { run() {} },
    webhook: { url: "https://example.com/hook", secretRef: "ANTHROPIC_API_KEY" },
    webhookAllow: ["127.0.0.1:9000"],
    concurrency: 2,
    hooks: {},
    observers: [],
    secrets: { ANTHROPIC_API_KEY: () => "key-of-test" },
    env: {},
    artifacts: { save: async () => null },
    persistArtifact: () => null,
    transport: { stream: () => Promise.reject(new Error("not needed")) },
    fetch,
    brand: { serviceName: "acme" },
    logger: { warn() {} },
    owner: { pid: 1 },
  }
  expect(await createRuntime(everything).run({ task: "x" })).toMatchObject({ status: "done", text: "fine" })
})

const defaults = { store: memoryStore, backend: native, again: createRuntime }

test("the brand has nine strings with defaults, each of which can be changed", { tags: ["HOST-11"] }, () => {
  const { brand } = resolveConfig({}, defaults)
  const expected: Brand = {
    schemaPrefix: "longhaul",
    mcpClientName: "longhaul",
    mcpClientVersion: "0.1.0",
    tempdirPrefix: "longhaul-",
    providerModelPrefix: "",
    doctorCommand: "longhaul doctor",
    serviceName: "longhaul",
    clientInfoName: "longhaul",
    clientInfoTitle: "Longhaul",
  }
  expect(brand).toEqual(expected)
  expect(Object.keys(brand)).toHaveLength(9)
  for (const name of Object.keys(expected)) {
    expect(resolveConfig({ brand: { [name]: "acme" } }, defaults).brand).toEqual({ ...expected, [name]: "acme" })
  }
})

test("a runtime with a brand shows it to web servers and receivers of webhooks", { tags: ["HOST-11"] }, async () => {
  const receiver = await startReceiver(() => 200)
  try {
    const runtime = createRuntime({
      model: scriptedModel(["fine"]),
      store: memoryStore(),
      workspace: home,
      brand: { serviceName: "acme" },
      webhookAllow: [receiver.host],
    })
    const { runId } = await runtime.start({ task: "x", webhook: { url: receiver.url } })
    await runtime.waitFor(runId)
    await until(() => receiver.got.length > 0)
    await runtime.close()
    expect(receiver.got.map(({ headers }) => headers["user-agent"])).toEqual(["acme"])
  } finally {
    await receiver.close()
  }
})

test("any compatible server is reached by model, key and address", { tags: ["BK-16"] }, async () => {
  const simulator = createSimulator({ script: ({ model }) => `I am ${model}.`, apiKey: "proxy-key" })
  server = await serve(simulator.fetch)
  const model = anthropic({ model: "vendor/some-model", apiKey: "proxy-key", baseUrl: server.url })
  const result = await createRuntime({ model, store: memoryStore(), workspace: home }).run({ task: "Who are you?" })
  expect(result).toMatchObject({ status: "done", text: "I am vendor/some-model." })
})

test("a fetch passed to the runtime carries every request and may rewrite its headers", {
  tags: ["BK-17"],
}, async () => {
  const simulator = createSimulator({ script: () => "through" })
  const rewriting: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers)
    headers.delete("x-api-key")
    headers.set("authorization", "Bearer rewritten")
    return simulator.fetch(input as string, { ...init, headers } as RequestInit)
  }
  const model = anthropic({ model: "claude-test", apiKey: "secret" })
  const runtime = createRuntime({ model, fetch: rewriting, store: memoryStore(), workspace: home })
  expect(await runtime.run({ task: "x" })).toMatchObject({ status: "done", text: "through" })
  expect(simulator.requests[0]?.headers).toMatchObject({ authorization: "Bearer rewritten" })
  expect(simulator.requests[0]?.headers).not.toHaveProperty("x-api-key")
})

test("Node 20 is enough: a run needs no program on PATH", { tags: ["BK-12"] }, async () => {
  const { engines } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8"))
  expect(engines.node).toBe(">=20.19")
  const { status, text, call } = await runAlone(
    `const { createRuntime } = await import(${built("hosts/node/index.js")})
    const { scriptedModel } = await import(${built("testing/index.js")})
    const model = scriptedModel([{ parts: [{ toolCall: { name: "List", args: { path: "." } } }] }, "listed"])
    const { status, text, toolCalls } = await createRuntime({ model }).run({ task: "x" })
    console.log(JSON.stringify({ status, text, call: toolCalls[0].status }))`,
    { HOME: home, PATH: join(home, "empty") },
  )
  expect({ status, text, call }).toEqual({ status: "done", text: "listed", call: "ok" })
})

function built(path: string): string {
  return JSON.stringify(pathToFileURL(join(repository, "dist", path)).href)
}

/** The JSON output of a script, in a separate process with exactly this environment. */
async function runAlone(script: string, env: Readonly<Record<string, string>>) {
  const cwd = mkdtempSync(join(home, "work-"))
  const { stdout } = await execFileAsync(process.execPath, ["--input-type=module", "-e", script], { cwd, env })
  return JSON.parse(stdout)
}
