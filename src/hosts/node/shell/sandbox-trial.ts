import { type ChildProcess, spawn } from "node:child_process"
import { createSocket } from "node:dgram"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { mkdir, rm } from "node:fs/promises"
import { type AddressInfo, createServer } from "node:net"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { setTimeout as pause } from "node:timers/promises"
import { commandEnvironment } from "./command-environment.ts"
import { endProcesses } from "./process-sweep.ts"
import { sandboxArguments, withoutInput } from "./sandbox.ts"
import { sandboxProbe } from "./sandbox-probe.ts"

export interface SandboxTrial {
  /** The command line that starts it. */
  readonly bubblewrap: readonly string[]
  readonly network: "none" | "all"
  /** Our own folder for the self-test. */
  readonly folder: string
  /** Identifies the processes of the self-test. */
  readonly mark: string
}

/**
 * Lets a program inside try to escape, and checks from outside whether it did. Returns the problem, or undefined. An
 * untested sandbox is not trusted.
 */
export async function findSandboxFault(trial: SandboxTrial): Promise<string | undefined> {
  const inside = join(trial.folder, "inside")
  const outside = join(trial.folder, "outside")
  await mkdir(inside, { recursive: true })
  await mkdir(outside, { recursive: true })
  const listener = await listenOnLoopback()
  try {
    const { report, error, survived } = await probe(trial, { inside, outside, tcp: listener.tcp, udp: listener.udp })
    // A sent datagram has arrived, but may not have been read yet.
    await pause(20)
    if (report === undefined) return `a program could not be run in it (${error || "no output"})`
    if (!existsSync(join(inside, "probe"))) return "a program in it could not write to its own folder"
    if (existsSync(join(outside, "probe"))) return "a program in it wrote outside its folder"
    if (report.faults.length > 0) return `a program in it ${report.faults.join(", ")}`
    if (survived) return "a process in it outlived it"
    if (trial.network === "none" && listener.reached.length > 0)
      return `a program in it reached the network (${listener.reached[0]})`
    return undefined
  } finally {
    listener.close()
    await endProcesses({ mark: trial.mark }, 0)
    await rm(trial.folder, { recursive: true, force: true })
  }
}

interface Report {
  /** Successful escapes, each completing "a program in it …". */
  readonly faults: readonly string[]
}

async function probe(
  { bubblewrap, network, mark }: SandboxTrial,
  task: { readonly inside: string; readonly outside: string; readonly tcp: number; readonly udp: number },
): Promise<{ report?: Report; error: string; survived: boolean }> {
  const view = { root: task.inside, readOnly: [task.outside, process.execPath], hidden: [], network, cwd: task.inside }
  const command = [process.execPath, "-e", sandboxProbe, JSON.stringify(task)]
  const [program = "", ...args] = [...bubblewrap, ...sandboxArguments(view), ...withoutInput, ...command]
  const child = spawn(program, args, {
    stdio: "pipe",
    env: commandEnvironment({}, { mark }),
    timeout: longestMs,
    killSignal: "SIGKILL",
  })
  child.stdin.on("error", () => {}).end()
  const said = Promise.all([text(child.stdout), text(child.stderr)])
  const exited = await ending(child)
  // The survivor holds the output open, which cannot be missed by checking at the wrong moment.
  const answer = await Promise.race([said, pause(survivalMs, undefined, { ref: false })])
  if (answer === undefined) {
    child.stdout.destroy()
    child.stderr.destroy()
    await said.catch(() => {})
    return { report: { faults: [] }, error: exited, survived: true }
  }
  const [output, errorOutput] = answer
  return { ...parseReport(output), error: errorOutput.trim().slice(0, 300) || exited, survived: false }
}

const longestMs = 10_000
const survivalMs = 1000

function ending(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve(error.message))
    child.once("exit", (code, signal) => resolve(signal ?? `exit ${code}`))
  })
}

function parseReport(output: string): { report?: Report } {
  try {
    return { report: JSON.parse(output) as Report } // Written by the probe.
  } catch {
    return {}
  }
}

/** Receives connections that reach the machine's loopback. */
async function listenOnLoopback() {
  const reached: string[] = []
  const tcp = createServer((socket) => {
    reached.push("TCP")
    socket.destroy()
  })
  const udp = createSocket("udp4", () => reached.push("UDP"))
  tcp.listen(0, "127.0.0.1")
  udp.bind(0, "127.0.0.1")
  await Promise.all([once(tcp, "listening"), once(udp, "listening")])
  return {
    reached,
    tcp: (tcp.address() as AddressInfo).port, // Safe: it listens on a port.
    udp: udp.address().port,
    close() {
      tcp.close()
      udp.close()
    },
  }
}
