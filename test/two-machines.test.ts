import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { JsonObject } from "../src/contract/json.ts"
import type { Runtime } from "../src/contract/runtime.ts"
import type { Folder, Store } from "../src/contract/store.ts"
import type { Tool } from "../src/contract/tool.ts"
import { createOnlyStore, createRuntime, fsStore } from "../src/hosts/node/index.ts"
import { processOwner } from "../src/hosts/node/owner.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { type ScriptedStep, scriptedModel } from "../src/testing/index.ts"
import { defineTool } from "../src/tools/kernel/define-tool.ts"
import { countAttacks } from "./support/count-attacks.ts"
import { type S3Server, startS3 } from "./support/s3-server.ts"

countAttacks("live runs of another machine")

const scratch = mkdtempSync(join(tmpdir(), "longhaul-machines-"))
const runtimes: Runtime[] = []
let server: S3Server
beforeAll(async () => {
  server = await startS3()
})
afterAll(async () => {
  await Promise.all(runtimes.map((runtime) => runtime.close()))
  await server?.close()
  rmSync(scratch, { recursive: true, force: true })
})

let made = 0
const freshRoot = () => join(scratch, `store-${made++}`)

const shared: readonly (readonly [string, () => Store])[] = [
  ["create-only disk", () => createOnlyStore(freshRoot())],
  ["S3", () => server.freshStore()],
]
const local: readonly (readonly [string, () => Store])[] = [
  ["appending disk", () => fsStore(freshRoot())],
  ["memory", memoryStore],
]

/** Higher than any Linux pid: no process has it. */
const FREE_PID = 2 ** 23
const otherBoot = { ...processOwner(), boot: "other-boot", pid: FREE_PID }
const otherNamespace = { ...processOwner(), pidns: "pid:[1]", pid: FREE_PID }
const elsewhere: readonly (readonly [string, JsonObject])[] = [
  ["a machine with another boot id", otherBoot],
  ["a machine without a boot id", { pid: FREE_PID }],
  ["another pid namespace", otherNamespace],
]

function runtimeOn(store: Store, owner: JsonObject, tools: readonly Tool[]): Runtime {
  const next: ScriptedStep = (messages) =>
    messages.length === 1 ? { parts: [{ toolCall: { name: "work", args: {} } }] } : "Done."
  const model = scriptedModel([next, next])
  const runtime = createRuntime({ store, owner, model, tools, workspace: join(scratch, "workspace"), env: {} })
  runtimes.push(runtime)
  return runtime
}

const working = (run: () => unknown) =>
  defineTool({ name: "work", description: "Works.", inputSchema: { type: "object" }, effect: "repeatable", run })

/** A store, and a promise that resolves when a file of that name is next read through it. */
function watching(store: Store, watchedName: string): { readonly store: Store; read(): Promise<void> } {
  let heard = () => {}
  const folder = (path: string): Folder => {
    const inside = store.folder(path)
    const read = (name: string) => {
      if (name === watchedName) heard()
      return inside.read(name)
    }
    return { ...inside, read }
  }
  const read = () =>
    new Promise<void>((resolve) => {
      heard = resolve
    })
  return { store: { ...store, folder }, read }
}

/** A run in the middle of a call. Its process is alive, and its recorded owner is `owner`. */
async function liveRun(store: Store, owner: JsonObject) {
  let finish = (_: string) => {}
  const result = new Promise<string>((resolve) => {
    finish = resolve
  })
  let ended: ReturnType<Runtime["run"]> | undefined
  await new Promise<void>((begun) => {
    const work = working(() => {
      begun()
      return result
    })
    ended = runtimeOn(store, owner, [work]).run({ task: "x", runId: "r" })
  })
  return { ended, finish: () => finish("worked") }
}

describe.each(shared)("an active run on a shared store: %s", (_, make) => {
  test.each(elsewhere)("a run owned by %s is neither resumed nor marked nor fenced", async (_owner, owner) => {
    const store = make()
    const { ended, finish } = await liveRun(store, owner)
    let reruns = 0
    const watched = watching(store, "state.json")
    const here = runtimeOn(watched.store, processOwner(), [working(() => `rerun ${++reruns}`)])
    expect((await here.resume({ runId: "r" })).error?.code).toBe("run_active")
    expect(await here.remove("r").catch(({ code }) => code)).toBe("run_active")
    const recovered = here.recoverOrphanedRuns()
    // Once it looks for a sign of life it has classified the owner as alive, and would wait for a whole lease.
    await Promise.race([watched.read(), recovered])
    await here.close()
    expect(await recovered).toEqual([])
    finish()
    expect(await ended).toMatchObject({ status: "done", text: "Done.", warnings: [] })
    expect(reruns).toBe(0)
  })
})

describe.each(local)("an active run on a single-machine store: %s", (_, make) => {
  test("a run owned by another boot is taken immediately, because that boot has ended", async () => {
    const store = make()
    const { ended, finish } = await liveRun(store, otherBoot)
    const here = runtimeOn(store, processOwner(), [working(() => "done again")])
    expect(await here.resume({ runId: "r" })).toMatchObject({
      status: "done",
      toolCalls: [{ status: "ok", result: "done again" }],
    })
    finish()
    expect(await ended).toMatchObject({ status: "failed", error: { code: "fenced" } })
  })

  test("a run owned by another pid namespace is not touched", async () => {
    const store = make()
    const { ended, finish } = await liveRun(store, otherNamespace)
    const here = runtimeOn(store, processOwner(), [working(() => "done again")])
    expect((await here.resume({ runId: "r" })).error?.code).toBe("run_active")
    finish()
    expect(await ended).toMatchObject({ status: "done", text: "Done." })
  })
})
