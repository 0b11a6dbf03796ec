import { fork } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { afterAll, beforeAll, expect, test } from "vitest"
import type { RunResult } from "../src/contract/result.ts"
import type { Order } from "./secrets/worker.ts"

const scratch = mkdtempSync(join(tmpdir(), "longhaul-secrets-"))
const program = join(scratch, "worker.mjs")

beforeAll(async () => {
  const entryPoints = [fileURLToPath(new URL("secrets/worker.ts", import.meta.url))]
  const external = ["unpdf", "@vscode/ripgrep"]
  await build({ entryPoints, external, bundle: true, platform: "node", format: "esm", outfile: program })
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const value = 'deploy-key "7f3a"/9c1e'
const encoded = Buffer.from(`user:${value}`).toString("base64")
const token = `ghp_${"aB3dE5gH1jK2mN4pQ6rS7tU8vW9xY0zZ".repeat(2).slice(0, 36)}`
const secrets = { DEPLOY_KEY: value }

/** Runs each order in a process of its own, one after another. */
async function inTurn(...orders: readonly Partial<Order>[]) {
  const folder = mkdtempSync(join(scratch, "scene-"))
  const [store, ledger] = [join(folder, "store"), join(folder, "ledger")]
  const results: RunResult[] = []
  for (const order of orders) {
    const given: Order = { what: "begin", store, ledger, secrets, command: `login ${value} ${encoded}`, ...order }
    const child = fork(program, [JSON.stringify(given)], { execArgv: [] })
    const [[result]] = await Promise.all([once(child, "message"), once(child, "exit")])
    results.push(result as RunResult)
  }
  const files = readdirSync(store, { recursive: true }).map((name) => join(store, String(name)))
  const journal = files.flatMap((path) => (statSync(path).isFile() ? [readFileSync(path, "utf8")] : [])).join("\n")
  return { results, last: results.at(-1), ran: ledgerAt(ledger), journal }
}

function ledgerAt(path: string): string {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return ""
  }
}

test("a run whose call holds a declared secret pauses, resumes in another process and runs with the real value", async () => {
  const { results, ran, journal } = await inTurn({}, { what: "approve" })
  expect(results).toMatchObject([
    {
      status: "paused",
      pause: { pendingToolCall: { args: { command: expect.stringMatching(/^login \{\{secret:DEPLOY_KEY\}\}/) } } },
    },
    {
      status: "done",
      toolCalls: [{ status: "ok", result: expect.stringMatching(/^ran login \{\{secret:DEPLOY_KEY\}\}/) }],
    },
  ])
  expect(ran).toBe(`login ${value} ${encoded}\n`)
  for (const leak of [value, JSON.stringify(value).slice(1, -1), encoded]) expect(journal).not.toContain(leak)
})

test("after a rotation the resumed call runs with the new value", async () => {
  const { ran } = await inTurn({}, { what: "approve", secrets: { DEPLOY_KEY: "another-key-0001" } })
  expect(ran).toContain("login another-key-0001 ")
})

test("a call never runs with the masked text if the resuming process does not have the secret: its outcome is unknown", async () => {
  const { last, ran, journal } = await inTurn({}, { what: "approve", secrets: {} })
  expect(last).toMatchObject({ status: "done", toolCalls: [{ status: "unknown" }] })
  expect(ran).toBe("")
  expect(journal).not.toContain("deploy-key")
})

test("a call with an undeclared token runs in the process that received it", async () => {
  const { last, ran, journal } = await inTurn({ what: "begin-and-approve", command: `push ${token}` })
  expect(last).toMatchObject({
    status: "done",
    toolCalls: [{ status: "ok", args: { command: "push {{secret:token/github}}" } }],
  })
  expect(ran).toBe(`push ${token}\n`)
  expect(journal).not.toContain(token)
})

test("a call with an undeclared token ends with an unknown outcome in any other process", async () => {
  const { last, ran, journal } = await inTurn({ command: `push ${token}` }, { what: "approve" })
  expect(last).toMatchObject({ status: "done", toolCalls: [{ status: "unknown" }] })
  expect(ran).toBe("")
  expect(journal).not.toContain(token)
})

test("secrets in arguments that a person wrote are masked in the journal and reach the tool", async () => {
  const edited = `login ${value} with ${token}`
  const { last, ran, journal } = await inTurn({}, { what: "approve", edited })
  expect(last).toMatchObject({ status: "done", toolCalls: [{ status: "ok" }] })
  expect(ran).toBe(`${edited}\n`)
  expect(journal).toContain("login {{secret:DEPLOY_KEY}} with {{secret:token/github}}")
  for (const leak of [value, JSON.stringify(value).slice(1, -1), token]) expect(journal).not.toContain(leak)
})

test("a literal reference in an argument stays literal in another process too", async () => {
  const { ran } = await inTurn({ command: "print {{secret:DEPLOY_KEY}}" }, { what: "approve" })
  expect(ran).toBe("print {{secret:DEPLOY_KEY}}\n")
})
