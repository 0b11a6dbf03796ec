import { spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import type { RunResult } from "../../../src/contract/result.ts"
import { serve } from "../../../src/hosts/node/http/serve.ts"
import { createSimulator, type SimulatorOptions } from "../../../src/testing/index.ts"
import type { Order } from "./worker.ts"

/** A simulated model and a folder that several processes work on. */
export async function openHunt(script: SimulatorOptions["script"]) {
  // Two folders below the root of the repository, like the test itself: it finds the programs by that.
  const program = fileURLToPath(new URL("../../../.tmp/processes/worker.mjs", import.meta.url))
  const entryPoints = [fileURLToPath(new URL("worker.ts", import.meta.url))]
  await build({ entryPoints, bundle: true, packages: "external", platform: "node", format: "esm", outfile: program })
  const base = realpathSync(mkdtempSync(join(homedir(), ".longhaul-test-")))
  const simulator = createSimulator({ script })
  const served = await serve(simulator.fetch)
  const [workspace, home] = [join(base, "workspace"), join(base, "home")]
  for (const each of [workspace, home]) mkdirSync(each, { recursive: true })
  return {
    base,
    workspace,
    simulator,
    /** Starts a process. `first`: its result, as soon as it prints one. */
    start(order: Pick<Order, "backend"> & Partial<Order>) {
      const whole: Order = { base, url: served.url, home, workspace, isLoggedOut: false, ...order }
      const child = spawn(process.execPath, [program, JSON.stringify(whole)], { stdio: ["ignore", "pipe", "inherit"] })
      let said = ""
      const first = new Promise<RunResult | undefined>((resolve) => {
        child.stdout.setEncoding("utf8").on("data", (text: string) => {
          said += text
          if (said.includes("\n")) resolve(JSON.parse(said) as RunResult)
        })
        child.once("exit", () => resolve(undefined))
      })
      const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()))
      return { first, exited, kill: (signal: NodeJS.Signals) => child.kill(signal) }
    },
    async close() {
      await served.close()
      rmSync(base, { recursive: true, force: true })
    },
  }
}
