import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { Webhook as Reference } from "standardwebhooks"
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest"
import { createRuntime, fsStore } from "../src/hosts/node/index.ts"
import { type Receiver, startReceiver } from "./webhooks/receiver.ts"

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
const scratch = mkdtempSync(join(tmpdir(), "longhaul-webhooks-"))
const program = join(scratch, "worker.mjs")
const children: ChildProcess[] = []
let root: string
let workspace: string

beforeAll(async () => {
  const entryPoints = [fileURLToPath(new URL("webhooks/worker.ts", import.meta.url))]
  const external = ["unpdf", "@vscode/ripgrep"]
  await build({ entryPoints, external, bundle: true, platform: "node", format: "esm", outfile: program })
})
beforeEach(() => {
  const scene = mkdtempSync(join(scratch, "scene-"))
  root = join(scene, "store")
  workspace = join(scene, "workspace")
  mkdirSync(workspace)
})
afterEach(async () => {
  for (const child of children.splice(0)) await kill(child)
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

function startProcess(what: "start" | "deliver", { url }: Receiver): ChildProcess {
  const child = spawn(process.execPath, [program, what, root, workspace, url, secret], { stdio: "inherit" })
  children.push(child)
  return child
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, "exit")
  child.kill("SIGKILL")
  await exited
}

/** The recorded state, read by a process that sends nothing. */
async function attempts() {
  const runtime = createRuntime({ store: fsStore(root), workspace })
  const deliveries = await runtime.webhookDeliveries("r").catch(() => [])
  return deliveries.flatMap((delivery) => delivery.attempts)
}

async function untilTried(count: number): Promise<void> {
  while ((await attempts()).length < count) await pause(20)
}

function check(got: Receiver["got"]): void {
  for (const { body, headers } of got) {
    expect(new Reference(secret).verify(body, headers)).toMatchObject({ runId: "r", status: "done", text: "Done." })
  }
  expect(new Set(got.map(({ headers }) => headers["webhook-id"])).size).toBe(1)
  expect(new Set(got.map(({ headers }) => headers["longhaul-delivery"])).size).toBe(got.length)
}

test("a receiver that fails twice gets a validly signed third attempt after the process was killed", async () => {
  const hook = await startReceiver((index) => (index < 2 ? 500 : 200))
  const first = startProcess("start", hook)
  await untilTried(2)
  await kill(first)
  expect(hook.got).toHaveLength(2)
  startProcess("deliver", hook)
  await untilTried(3)
  expect((await attempts()).map(({ attempt, status }) => [attempt, status])).toEqual([
    [1, "retry"],
    [2, "retry"],
    [3, "delivered"],
  ])
  expect(hook.got).toHaveLength(3)
  check(hook.got)
  await hook.close()
})

test("after a kill between sending and recording, the next process sends again under the same id", async () => {
  let first: ChildProcess | undefined
  const hook = await startReceiver((index, response) => {
    if (index > 0 || first === undefined) return 200
    // It has sent everything and received nothing yet.
    return kill(first).then(() => void response.end())
  })
  first = startProcess("start", hook)
  while (first.signalCode === null) await pause(20)
  expect(hook.got).toHaveLength(1)
  expect(await attempts()).toEqual([])
  startProcess("deliver", hook)
  await untilTried(1)
  expect(await attempts()).toMatchObject([{ attempt: 1, status: "delivered" }])
  expect(hook.got).toHaveLength(2)
  check(hook.got)
  await hook.close()
})
