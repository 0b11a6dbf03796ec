import { spawn } from "node:child_process"
import { tmpdir } from "node:os"
import type { Variables } from "../../hosts/node/model-names.ts"
import { findProgram } from "../../hosts/node/shell/find-program.ts"
import { isSecretName } from "../../lib/text/credential.ts"
import { clip } from "../format.ts"

/** A program on PATH and its response to `--version`. */
export interface FoundProgram {
  readonly name: string
  readonly path: string | null
  /** `silent`: it succeeded without output. `hung`: it had to be stopped. */
  readonly status: "ok" | "missing" | "silent" | "failed" | "hung"
  readonly version: string | null
}

/** Runs all at once; none runs longer than `deadlineMs`, and none outlives this process. */
export async function probePrograms(
  names: readonly string[],
  variables: Variables,
  deadlineMs = 3_000,
): Promise<readonly FoundProgram[]> {
  const running = new Set<number>()
  const stopAll = () => running.forEach(killGroup)
  process.once("exit", stopAll)
  const probe = async (name: string): Promise<FoundProgram> => {
    const path = findProgram(name, { path: variables.PATH ?? "" }) ?? null
    if (path === null) return { name, path, status: "missing", version: null }
    return { name, path, ...(await askVersion(path, variables, deadlineMs, running)) }
  }
  try {
    return await Promise.all(names.map(probe))
  } finally {
    process.off("exit", stopAll)
  }
}

type Answer = Pick<FoundProgram, "status" | "version">

function askVersion(path: string, variables: Variables, deadlineMs: number, running: Set<number>): Promise<Answer> {
  return new Promise((resolve) => {
    // Its own process group, so that its children can be stopped with it.
    const child = spawn(path, ["--version"], {
      cwd: tmpdir(),
      detached: true,
      stdio: ["ignore", "pipe", "ignore"],
      env: Object.fromEntries(Object.entries(variables).filter(([name]) => !mayHoldSecret(name))),
    })
    const { pid = 0 } = child
    let said = ""
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      said = `${said}${chunk}`.slice(0, longestAnswer)
    })
    const settle = (answer: Answer) => {
      clearTimeout(timer)
      running.delete(pid)
      child.stdout.destroy()
      resolve(answer)
    }
    const ended = () => settle(answerOf(child.exitCode, said))
    const timer = setTimeout(() => {
      killGroup(pid)
      // It may have answered and left a child behind that still holds its output open.
      if (child.exitCode === null) settle({ status: "hung", version: null })
      else ended()
    }, deadlineMs)
    running.add(pid)
    child.on("error", ended)
    child.on("close", ended)
  })
}

function answerOf(code: number | null, said: string): Answer {
  const version = clip(said.trim().split("\n")[0] ?? "", 60)
  if (code !== 0) return { status: "failed", version: null }
  return version === "" ? { status: "silent", version: null } : { status: "ok", version }
}

const longestAnswer = 4_000

/** A version check needs no key, and no address either, which may contain a password. */
function mayHoldSecret(name: string): boolean {
  return isSecretName(name) || /_(proxy|url)$/i.test(name)
}

function killGroup(pid: number): void {
  try {
    // Zero would be our own group.
    if (pid > 0) process.kill(-pid, "SIGKILL")
  } catch {
    // It has already exited.
  }
}
