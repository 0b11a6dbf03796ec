import { spawn } from "node:child_process"
import { ToolError } from "../../../contract/tool.ts"
import { killAtExit } from "../shell/kill-at-exit.ts"

export interface RipgrepRun {
  readonly program: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly signal: AbortSignal
}

export interface RipgrepAnswer {
  /** 0: matches, 1: none, 2: errors. Null: it did not start, or exceeded a limit. */
  readonly code: number | null
  readonly output: string
  readonly stderr: string
}

/** Runs ripgrep to its end; no process is left when this settles. Rejects with a `ToolError`. */
export function runRipgrep({ program, args, cwd, signal }: RipgrepRun): Promise<RipgrepAnswer> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(stopped())
    // An empty environment: nothing in it can configure ripgrep.
    const child = spawn(program, args, { cwd, env: {}, stdio: ["ignore", "pipe", "pipe"] })
    const end = () => void child.kill("SIGKILL")
    const output = gather(child.stdout, mostOutputBytes, end)
    const stderr = gather(child.stderr, maxStderrBytes, end)
    const timer = setTimeout(end, longestMs)
    const forget = killAtExit(end)
    signal.addEventListener("abort", end, { once: true })
    // A process that never started never closes.
    child.on("error", () => child.pid === undefined && settle(null))
    child.on("close", (code) => settle(code))
    const settle = (code: number | null) => {
      clearTimeout(timer)
      forget()
      signal.removeEventListener("abort", end)
      if (signal.aborted) reject(stopped())
      else resolve({ code, output: output(), stderr: stderr() })
    }
  })
}

const longestMs = 30_000
const mostOutputBytes = 16 * 1024 * 1024
const maxStderrBytes = 256 * 1024

function stopped(): ToolError {
  return new ToolError("aborted", "The run is being stopped.")
}

function gather(stream: NodeJS.ReadableStream, most: number, onTooMuch: () => void): () => string {
  const chunks: Buffer[] = []
  let size = 0
  stream.on("data", (chunk: Buffer) => {
    size += chunk.length
    if (size <= most) chunks.push(chunk)
    else onTooMuch()
  })
  return () => Buffer.concat(chunks).toString()
}
