import { expect, test } from "vitest"
import { backendHost } from "../../../src/hosts/node/backends/environment.ts"
import { nodeTransport } from "../../../src/hosts/node/http/http-transport.ts"
import { defaultBrand } from "../../../src/lib/brand.ts"
import { until } from "../../support/watchdog.ts"
import { createScene, once, recordsOf, shell } from "./scene.ts"

test.each([
  ["401", { kind: "status", status: 401 }, "auth"],
  ["400", { kind: "status", status: 400 }, "invalid_request"],
] as const)("codex: %s of the provider is one request and a typed failure", async (_, fault, code) => {
  const scene = await createScene(() => "never", [fault])
  const result = await scene.runtime().run({ task: "Go." })
  expect(result).toMatchObject({ status: "failed", error: { code } })
  expect(scene.requests).toHaveLength(1)
})

test.each([
  ["429", { kind: "status", status: 429 }, "rate_limited"],
  ["500", { kind: "status", status: 500 }, "provider_error"],
  ["529", { kind: "status", status: 529 }, "overloaded"],
  ["a dropped connection", { kind: "reset", atByte: 200 }, "stream_incomplete"],
  ["a stream that ends early", { kind: "cut", atByte: 200 }, "stream_incomplete"],
] as const)("codex: %s of the provider is one request, which the runtime repeats", async (_, fault, code) => {
  const scene = await createScene(() => "done", [fault])
  const runtime = scene.runtime()
  expect(await runtime.run({ task: "Go.", runId: "r" })).toMatchObject({ status: "done", text: "done" })
  expect(scene.requests).toHaveLength(2)
  const records = await recordsOf(runtime, "r")
  expect(records.filter(({ type }) => type === "retry")).toMatchObject([{ attempt: 1, failure: { code } }])
})

test("codex: a missing login is auth, with the command that fixes it", async () => {
  const scene = await createScene(() => "never")
  const result = await scene.runtime({}, { config: {} }).run({ task: "Go." })
  expect(result).toMatchObject({ error: { code: "auth", fix: expect.stringContaining("codex login") } })
  expect(scene.requests).toHaveLength(0)
})

test("codex: a missing program is backend_missing, with the command that installs it", async () => {
  const scene = await createScene(() => "never")
  const result = await scene.runtime({}, { command: "no-such-codex" }).run({ task: "Go." })
  expect(result).toMatchObject({ error: { code: "backend_missing", fix: expect.stringContaining("@openai/codex") } })
})

test("codex: a folder of Codex in the temporary folder is rejected, because no command could run", async () => {
  const scene = await createScene(() => "never")
  const result = await scene.runtime({}, { env: { TMPDIR: scene.folder } }).run({ task: "Go." })
  expect(result).toMatchObject({ error: { code: "config_invalid" } })
})

test.each([
  ["prints garbage", "console.log('Welcome!'); setInterval(() => {}, 1000)", "backend_protocol"],
  ["exits at once", "process.stderr.write('no display'); process.exit(7)", "backend_crashed"],
  ["ends without a word", "", "backend_crashed"],
  ["floods its output", "for (;;) require('fs').writeSync(1, 'x'.repeat(65536))", "backend_protocol"],
])("codex: a program that %s is a typed failure", async (_, source, code) => {
  const scene = await createScene(() => "never")
  const fake = { command: process.execPath, args: ["-e", source, "--"] }
  expect(await scene.runtime({}, fake).run({ task: "Go." })).toMatchObject({ status: "failed", error: { code } })
})

test("codex: a program that never replies is a typed failure after the deadline", async () => {
  const scene = await createScene(() => "never")
  const fake = { command: process.execPath, args: ["-e", "setInterval(() => {}, 1000)", "--"] }
  const runtime = scene.runtime({ deadlines: { openMs: 500 } }, fake)
  expect(await runtime.run({ task: "Go." })).toMatchObject({ error: { code: "stream_stalled" } })
})

test("codex: a program that is killed during a command is a typed failure, and the command does not run again", async () => {
  const scene = await createScene(once(shell("echo begun >> begun.txt; sleep 600")))
  const runtime = scene.runtime()
  const handle = runtime.stream({ task: "Go.", runId: "r" })
  await until(() => scene.lines("begun.txt").length > 0)
  for (const pid of scene.processes("app-server")) process.kill(pid, "SIGKILL")
  expect(await handle.result).toMatchObject({ status: "failed", error: { code: "backend_crashed" } })
  const resumed = await runtime.resume({ runId: "r" })
  expect(resumed.toolCalls).toMatchObject([{ status: "unknown" }])
  expect(scene.lines("begun.txt")).toEqual(["begun"])
})

test("codex: the probe reports the version, and whether there is a login", async () => {
  const scene = await createScene(() => "never")
  const env = { transport: nodeTransport(), brand: defaultBrand, deadlines, ...host(scene.workspace) }
  expect(await scene.backend().probe(env)).toMatchObject({ found: true, version: "0.166.0", login: "yes" })
  expect(await scene.backend({ config: {} }).probe(env)).toMatchObject({
    found: true,
    login: "no",
    failure: { code: "auth" },
  })
  expect(await scene.backend({ command: "no-such-codex" }).probe(env)).toMatchObject({
    found: false,
    failure: { code: "backend_missing" },
  })
})

const deadlines = { openMs: 60_000, replyMs: 60_000, stopMs: 3_000 }

function host(workspace: string) {
  return backendHost({ workspace, variables: () => process.env })
}
