import { spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { Readable } from "node:stream"
import { createRuntime } from "../../hosts/node/index.ts"
import { type CrashVerdict, check } from "./check.ts"
import { BEGUN, type Blow, type ChildPlan, type ChildReport, PLAN_VARIABLE, SAYING } from "./plan.ts"
import type { Receiver } from "./receiver.ts"
import { emptyBucket, trialStore } from "./stores.ts"
import type { Workload } from "./workload.ts"

/** Settings that all trials share. */
export interface Setting {
  /** The script of a child process: this program. */
  readonly program: string
  readonly store: string
  /** Parent of the trials' folders. */
  readonly folder: string
  /** A module with a custom workload. */
  readonly tools?: string | undefined
  readonly workload: Workload
  readonly receiver: Receiver
}

/** How one process is killed: by itself at an operation, or by us after a delay. */
export type Kill = Blow | { readonly afterMs: number }

export interface TrialReport extends CrashVerdict {
  /** Number of planned kills that happened: a process may finish before. */
  readonly kills: number
  readonly resumed: boolean
  readonly operations: readonly string[]
  /** Duration of the process that was not killed. */
  readonly spanMs: number
}

/** One run: killed as planned, then finished by a process that is not killed, then checked. */
export async function runTrial(setting: Setting, kills: readonly Kill[]): Promise<TrialReport> {
  const folder = mkdtempSync(join(setting.folder, "trial-"))
  mkdirSync(join(folder, "workspace"))
  let struck = 0
  let end = await runProcess(setting, folder, kills[struck])
  while (end.killed) end = await runProcess(setting, folder, kills[++struck])
  const { report, reason, spanMs } = end
  if (report === undefined) {
    const violations = [`it did not finish: ${reason.trim().replaceAll(/\s*\n\s*/g, " ")} (${folder})`]
    return { ...unjudged, kills: struck, resumed: false, operations: [], spanMs, violations }
  }
  const { runId, operations } = report
  const store = await trialStore(setting.store, folder)
  const verdict = await check({
    runtime: createRuntime({ store, workspace: join(folder, "workspace"), tools: [], env: {} }),
    folder,
    runId,
    workload: setting.workload,
    kills: struck,
    received: setting.receiver.received(folder),
  })
  if (verdict.violations.length === 0) {
    if (setting.store.startsWith("s3:")) await emptyBucket(store, runId)
    rmSync(folder, { recursive: true, force: true })
  }
  const violations = verdict.violations.map((violation) => `${violation} (${folder})`)
  return { ...verdict, kills: struck, resumed: true, operations, spanMs, violations }
}

const unjudged = { lost: 0, duplicated: 0, unloadable: false, flagged: 0 }

interface ChildEnd {
  /** As planned. */
  readonly killed: boolean
  /** Present if it reached the run's end. */
  readonly report?: ChildReport | undefined
  readonly reason: string
  readonly spanMs: number
}

function runProcess(setting: Setting, folder: string, kill?: Kill): Promise<ChildEnd> {
  const { program, store, tools, receiver } = setting
  const plan: ChildPlan = {
    store,
    folder,
    receiver: receiver.urlFor(folder),
    tools,
    ...(kill && "at" in kill && { blow: kill }),
  }
  const child = spawn(process.execPath, [program, "crashtest"], {
    env: { ...process.env, [PLAN_VARIABLE]: JSON.stringify(plan) },
    stdio: ["ignore", "ignore", "pipe", "pipe"],
  })
  const strike = () => child.kill("SIGKILL")
  let hangs = false
  const tooLong = setTimeout(() => {
    hangs = true
    strike()
  }, TOO_LONG_MS)
  let begunAt = performance.now()
  let killTimer: ReturnType<typeof setTimeout> | undefined
  let said = ""
  let stderr = ""
  // Safe: the child was started with a pipe there.
  const saying = child.stdio[SAYING] as Readable
  saying.setEncoding("utf8").on("data", (text: string) => {
    if (said === "" && text.startsWith(BEGUN)) {
      begunAt = performance.now()
      if (kill && "afterMs" in kill) killTimer = setTimeout(strike, kill.afterMs)
    }
    said += text
  })
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr = `${stderr}${text}`.slice(-STDERR_LENGTH)
  })
  return new Promise((resolve, reject) => {
    child.once("error", reject)
    child.once("close", (code, signal) => {
      clearTimeout(tooLong)
      clearTimeout(killTimer)
      const killed = kill !== undefined && signal === "SIGKILL" && !hangs
      // Safe: a child that ended well wrote its report there, and the child is this program.
      const report = code === 0 ? (JSON.parse(said.split("\n")[1] ?? "") as ChildReport) : undefined
      const ending = hangs ? "it hung" : stderr || `it ended with ${signal ?? code}`
      resolve({ killed, report, reason: ending, spanMs: performance.now() - begunAt })
    })
  })
}

const TOO_LONG_MS = 300_000
const STDERR_LENGTH = 2000
