import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, onTestFinished, vi } from "vitest"
import { type CodexOptions, codex } from "../../../src/backends/codex/index.ts"
import type { Backend } from "../../../src/contract/backend.ts"
import type { RunRecord } from "../../../src/contract/event.ts"
import type { Json } from "../../../src/contract/json.ts"
import type { Runtime } from "../../../src/contract/runtime.ts"
import { serve } from "../../../src/hosts/node/http/serve.ts"
import { createRuntime, type NodeRuntimeConfig } from "../../../src/hosts/node/index.ts"
import { fsStore } from "../../../src/hosts/node/store/fs-store.ts"
import {
  createSimulator,
  type SimulatedAnswer,
  type SimulatedRequest,
  type SimulatorOptions,
} from "../../../src/testing/index.ts"
import { codexOptions } from "../codex-bench.ts"

export interface Scene {
  readonly folder: string
  readonly workspace: string
  backend(options?: CodexOptions): Backend
  /** Processes of this scene with this word in their command line. */
  processes(word: string): readonly number[]
  /** Each has its own connections, as another process would. */
  runtime(config?: NodeRuntimeConfig, options?: CodexOptions): Runtime
  /** The lines of a file in the workspace: one for each time that a command has run. */
  lines(name: string): readonly string[]
}

/** A workspace, a store and the simulator for the real program. `answer`: the model. */
export async function createScene(
  answer: (request: SimulatedRequest, index: number) => SimulatedAnswer | Promise<SimulatedAnswer>,
  faults?: SimulatorOptions["faults"],
): Promise<Scene & { readonly requests: readonly SimulatedRequest[] }> {
  const simulator = createSimulator({
    script: (request) => answer(request, simulator.requests.length - 1),
    ...(faults && { faults }),
  })
  const server = await serve(simulator.fetch)
  return { ...sceneAt(server), requests: simulator.requests }
}

/** The same for a model server of another kind. */
export function sceneAt(server: { readonly url: string; close(): Promise<void> }): Scene {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-codex-")))
  const [workspace, home] = ["workspace", "home"].map((name) => {
    mkdirSync(join(folder, name))
    return join(folder, name)
  }) as [string, string]
  vi.stubEnv("LONGHAUL_STORE", join(folder, "store"))
  const runtimes: Runtime[] = []
  onTestFinished(async () => {
    await Promise.all(runtimes.map((runtime) => runtime.close()))
    await server.close()
    // Every process of the test has its folder in its environment or in its command line.
    expect(living(folder)).toEqual([])
    rmSync(folder, { recursive: true, force: true })
  })
  const given = codexOptions({ url: server.url, home, isLoggedOut: false })
  const create = (options: CodexOptions = {}) => codex({ ...given, ...options, env: { ...given.env, ...options.env } })
  return {
    folder,
    workspace,
    backend: create,
    processes: (word) => living(folder, word),
    runtime({ policy, ...config } = {}, options = {}) {
      const backend = create(options)
      const store = fsStore(join(folder, "store"))
      const runtime = createRuntime({
        ...{ backend, model: "gpt-5.5", workspace, store, tools: [] },
        policy: { mode: "auto", ...policy },
        ...config,
      })
      runtimes.push(runtime)
      return runtime
    },
    lines(name) {
      const path = join(workspace, name)
      return existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n") : []
    },
  }
}

/** Processes with the folder in their environment or command line, and the word in the latter. */
function living(folder: string, word = ""): readonly number[] {
  if (process.platform !== "linux") return []
  const pids = readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []))
  return pids.filter((pid) => {
    try {
      const [line = "", environment] = ["cmdline", "environ"].map((name) =>
        readFileSync(`/proc/${pid}/${name}`, "latin1"),
      )
      return pid !== process.pid && line.includes(word) && `${line}${environment}`.includes(folder)
    } catch {
      return false
    }
  })
}

export function call(name: string, args: Json) {
  return { toolCall: { name, args } }
}

export function shell(cmd: string) {
  return call("exec_command", { cmd })
}

/** Makes these calls in one answer, then says what came back. */
export function once(...parts: readonly ReturnType<typeof call>[]) {
  return (request: SimulatedRequest, index: number): SimulatedAnswer =>
    index === 0 ? { parts } : `Results: ${request.lastToolResults.map(({ text }) => text).join("|")}`
}

export async function recordsOf(runtime: Runtime, runId: string): Promise<readonly RunRecord[]> {
  const records: RunRecord[] = []
  for await (const record of runtime.events(runId)) records.push(record)
  return records
}
