import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import type { Backend } from "../../src/contract/backend.ts"
import type { RuntimeConfig } from "../../src/contract/run.ts"
import { serve } from "../../src/hosts/node/http/serve.ts"
import { createRuntime, fsStore } from "../../src/hosts/node/index.ts"
import {
  type BackendBench,
  type BackendPlace,
  createSimulator,
  type PlaceOptions,
  type SimulatedToolCall,
} from "../../src/testing/index.ts"
import { countIn } from "./shell-scene.ts"

/** Where the programs of a place find their model, their home and their keys. */
export interface PlaceFacts {
  /** Empty: the program gets no address, and cannot reach that of its vendor. */
  readonly url: string
  /** Exists; for the vendor's own files. Not below the folder for temporary files: some programs refuse that. */
  readonly home: string
  readonly workspace: string
  readonly isLoggedOut: boolean
}

/** A backend as it is set up in a place. Several can share one. */
export interface PlacedBackend extends Omit<BackendBench, "open"> {
  /** How its model runs a command, writes and reads a file, and fetches a page. Absent: it does so by a command. */
  readonly speaks: {
    command(line: string): SimulatedToolCall
    /** Its file tools take absolute paths only. */
    readonly isAbsolute?: true
    write?(path: string, text: string): SimulatedToolCall
    read?(path: string): SimulatedToolCall
    fetch?(url: string): SimulatedToolCall
  }
  configure(facts: PlaceFacts): Partial<RuntimeConfig> & { readonly backend: Backend }
}

export function benchOf(backend: PlacedBackend): BackendBench {
  return { ...backend, open: (options) => openPlace(options, backend.configure) }
}

/** A workspace, a store and a simulated model for one backend. */
export async function openPlace(
  { script, faults, isLoggedOut = false }: PlaceOptions,
  configure: (facts: PlaceFacts) => Partial<RuntimeConfig>,
): Promise<BackendPlace> {
  const simulator = createSimulator({
    script,
    ...(faults && { faults }),
    ...(isLoggedOut && { apiKey: "the only key" }),
  })
  const served = await serve(simulator.fetch)
  const base = realpathSync(mkdtempSync(join(homedir(), ".longhaul-test-")))
  const [workspace, home] = [join(base, "workspace"), join(base, "home")]
  for (const folder of [workspace, home]) mkdirSync(folder)
  const state = process.env.LONGHAUL_STORE
  process.env.LONGHAUL_STORE = join(base, "state")
  const own = configure({ url: served.url, home, workspace, isLoggedOut })
  return {
    simulator,
    runtime: (config = {}) => createRuntime({ workspace, store: fsStore(join(base, "state")), ...own, ...config }),
    async read(file) {
      try {
        return readFileSync(join(workspace, file), "utf8")
      } catch {
        return null
      }
    },
    leftovers: async () => countIn(base),
    async close() {
      if (state === undefined) delete process.env.LONGHAUL_STORE
      else process.env.LONGHAUL_STORE = state
      await served.close()
      rmSync(base, { recursive: true, force: true })
    },
  }
}
