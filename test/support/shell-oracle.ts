import { execFile } from "node:child_process"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import type { CommandLine, ReadableLine, ShellCommand } from "../../src/policy/shell/command-line.ts"
import { STUBS, shellLines } from "./shell-lines.ts"
import { WATCHDOG_MS } from "./watchdog.ts"

export interface Violation {
  readonly line: string
  readonly shell: string
  /** The arguments of a program that ran, or the name of a file that was written, and was not listed. */
  readonly unlisted: readonly string[]
}

export interface OracleCounts {
  readonly lines: number
  readonly readable: number
  readonly executed: number
  readonly violations: readonly Violation[]
}

const SHELLS = ["dash", "bash", "posix"]
const BATCH = 50
// Real programs that start others. Everything that they can start is a stub.
const STARTERS = ["env", "xargs", "timeout", "nice", "nohup", "stdbuf", "find", "bash", "dash"]
// The characters that separate arguments and records; the reader rejects them in lines.
const [ARGUMENT, RECORD] = ["\x1f", "\x1e"]

/**
 * The shells themselves say what a line runs: dash, bash and `bash --posix` run each readable line, with a PATH of stub
 * programs that only record their arguments. In a sandbox that has no network and can write to its own folder only.
 */
export class ShellOracle {
  readonly #base = mkdtempSync(join(tmpdir(), "longhaul-lines-"))
  readonly #programs = join(this.#base, "programs")
  readonly #driver = join(this.#base, "driver")

  constructor() {
    mkdirSync(this.#programs)
    for (const name of STUBS) writeStub(join(this.#programs, name), name)
    for (const name of STARTERS) symlinkSync(join("/usr/bin", name), join(this.#programs, name))
    symlinkSync("/usr/bin/dash", join(this.#programs, "sh"))
    writeFileSync(this.#driver, driver(this.#programs))
  }

  /** Generates lines until `wanted` of them were readable, and runs those. Stops at the first violation if `isControl`. */
  async check(
    read: (line: string) => CommandLine,
    wanted: number,
    seed: number,
    isControl = false,
  ): Promise<OracleCounts> {
    let [lines, readable, executed] = [0, 0, 0]
    const violations: Violation[] = []
    const source = shellLines(seed)
    const work = async () => {
      while (readable < wanted && !(isControl && violations.length > 0)) {
        const batch: [string, ReadableLine][] = []
        const size = Math.min(BATCH, wanted - readable)
        readable += size
        while (batch.length < size) {
          const line = source.next().value as string // the generator never returns
          const reading = read(line)
          lines++
          if (reading.isReadable) batch.push([line, reading])
        }
        const result = await this.#run(batch)
        executed += result.executed
        violations.push(...result.violations)
      }
    }
    await Promise.all([work(), work()])
    return { lines, readable, executed, violations }
  }

  /** Runs those of the given lines that are readable. */
  async checkLines(read: (line: string) => CommandLine, lines: readonly string[]): Promise<OracleCounts> {
    const batch = lines.flatMap((line): [string, ReadableLine][] => {
      const reading = read(line)
      return reading.isReadable ? [[line, reading]] : []
    })
    return { lines: lines.length, readable: batch.length, ...(await this.#run(batch)) }
  }

  async #run(batch: readonly (readonly [string, ReadableLine])[]): Promise<Omit<OracleCounts, "lines" | "readable">> {
    const folder = mkdtempSync(join(this.#base, "batch-"))
    for (const index of batch.keys()) for (const shell of SHELLS) mkdirSync(join(folder, `${index}.${shell}`))
    await promisify(execFile)(
      "bwrap",
      [
        ...[
          "--ro-bind",
          "/",
          "/",
          "--bind",
          folder,
          folder,
          "--dev",
          "/dev",
          "--proc",
          "/proc",
          "--unshare-all",
          "--die-with-parent",
        ],
        ...["--new-session", "--clearenv", "/usr/bin/bash", this.#driver, folder, ...batch.map(([line]) => line)],
      ],
      { timeout: WATCHDOG_MS, killSignal: "SIGKILL" },
    )
    let executed = 0
    const violations: Violation[] = []
    for (const [index, [line, reading]] of batch.entries()) {
      for (const shell of SHELLS) {
        const found = traced(join(folder, `${index}.${shell}.trace`))
        executed += found.length
        const commands = found.filter((argv) => !reading.commands.some((command) => isMatch(command, argv)))
        const files = readdirSync(join(folder, `${index}.${shell}`)).filter((name) => !isWritten(reading, name))
        for (const unlisted of [...commands, ...files.map((name) => [`> ${name}`])])
          violations.push({ line, shell, unlisted })
      }
    }
    rmSync(folder, { recursive: true, force: true })
    return { executed, violations }
  }

  dispose(): void {
    rmSync(this.#base, { recursive: true, force: true })
  }
}

/** Whether a listed command can have these arguments: a computed word is any number of them. */
function isMatch({ words, isOpen }: ShellCommand, argv: readonly string[]): boolean {
  let ends = new Set([0])
  for (const word of words) {
    const next = new Set<number>()
    for (const at of ends) {
      if (!word.isFixed) for (let to = at; to <= argv.length; to++) next.add(to)
      else if (argv[at] === word.text) next.add(at + 1)
    }
    ends = next
  }
  return isOpen ? ends.size > 0 : ends.has(argv.length)
}

function isWritten({ redirects, changesFolder }: ReadableLine, name: string): boolean {
  if (changesFolder) return true
  return redirects.some(({ access, target }) => access === "write" && (!target.isFixed || target.text === name))
}

function traced(file: string): readonly string[][] {
  if (!existsSync(file)) return []
  const records = readFileSync(file, "utf8").split(RECORD).slice(0, -1)
  return records.map((record) => record.split(ARGUMENT))
}

function writeStub(file: string, name: string): void {
  const output = name === "g" ? "-v a[$(d)] ; d -exec d {} ; $(d) `d`" : `${name}-out`
  const lines = [
    "#!/usr/bin/dash",
    "trap '' XFSZ",
    `record='${name}'`,
    `for argument; do record="$record${ARGUMENT}$argument"; done`,
    `printf '%s${RECORD}' "$record" >> "$LONGHAUL_TRACE" || kill -9 0`,
    `printf '%s\\n' '${output}'`,
    `exit ${name === "f" ? 1 : 0}`,
  ]
  writeFileSync(file, lines.join("\n"))
  chmodSync(file, 0o755)
}

/**
 * Runs each line in each shell, in an empty folder and a process group of its own. Two seconds of processor time and
 * 8 KB of trace end an endless loop.
 */
function driver(programs: string): string {
  return `
set -m
# Values that bash runs if it takes them for an operator, a subscript or a name.
export PATH='${programs}' HOME=. LC_ALL=C.UTF-8 x='a[$(d)]' y=-v y1=x
folder=$1; shift; n=0
run() {
  export LONGHAUL_TRACE="$folder/$n.$1.trace"
  cd "$folder/$n.$1" || exit 1
  shift
  (ulimit -t 2 -f 8; exec "$@" -c -- "$line") < /dev/null > /dev/null 2>&1
}
for line; do
  run dash /usr/bin/dash
  run bash /usr/bin/bash
  run posix /usr/bin/bash --posix
  n=$((n + 1))
done 2> /dev/null
# Commands in the background may still run: only the sandbox and this script remain when they have ended.
tries=0
while set -- /proc/[0-9]*; [ $# -gt 2 ] && [ $tries -lt 400 ]; do
  [ $tries -lt 200 ] || kill -9 -1
  tries=$((tries + 1))
  /usr/bin/sleep 0.01
done 2> /dev/null
exit 0
`
}
