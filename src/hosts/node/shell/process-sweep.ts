import { closeSync, openSync, readdirSync, readSync } from "node:fs"
import { setTimeout as pause } from "node:timers/promises"

/**
 * Which processes: those of a session, those with a marker in their environment, a single one, and all their
 * descendants.
 */
export interface Processes {
  /** The leader of the session and its group. Not a process that ended a while ago: its pid may be reused. */
  readonly leader?: number
  /** The prefix of a marker. */
  readonly mark?: string
  /** No process with the marker started before this one, as identified by `identify`. Default: any may have it. */
  readonly since?: string | undefined
  /** One process, as identified by `identify`. */
  readonly ancestor?: string | undefined
}

/** The variable that carries markers. A shell inside a command adds its own to the inherited one. */
export const markVariable = "LONGHAUL_SHELL"

/**
 * Asks them to end, waits up to `graceMs`, then kills until none is left. `spare` is not asked, only killed. Returns
 * how many there were, as far as the system lists processes.
 */
export async function endProcesses(which: Processes, graceMs: number, spare?: number): Promise<number> {
  const known = new Set<string>()
  if (graceMs > 0) {
    if (!signalAll(which, known, "SIGTERM", spare)) return 0
    const until = performance.now() + graceMs
    while (performance.now() < until && anyLeft(which, known)) await pause(pauseMs)
  }
  for (let pass = 0; pass < mostPasses && signalAll(which, known, "SIGKILL"); pass++) await pause(pauseMs)
  return known.size
}

/** The same for a process that is about to exit and cannot wait. */
export function killProcesses(which: Processes): void {
  signalAll(which, new Set(), "SIGKILL")
}

/** A process by its pid and start time, since a pid may be reused. Undefined if it is not alive. */
export function identify(pid: number): string | undefined {
  return readProcess(pid)?.id
}

/** True if a group has members; zombies count. */
export function groupAnswers(leader: number): boolean {
  return send(-leader, 0)
}

const pauseMs = 10
/** A limit for processes that fork faster than they can be killed. */
const mostPasses = 200

/**
 * Adds the found processes to `known`: one that clears its environment and leaves its session is found only by its
 * parent.
 */
function signalAll(which: Processes, known: Set<string>, signal: NodeJS.Signals, spare?: number): boolean {
  const { leader } = which
  const found = findProcesses(which, known)
  // The whole group first: no member can fork past it.
  const hasGroup = found?.some(({ group }) => group === leader) ?? true
  const inGroup = leader !== undefined && leader !== spare && hasGroup && send(-leader, signal)
  for (const { pid, group, id } of found ?? []) {
    known.add(id)
    if (pid !== spare && !(inGroup && group === leader)) send(pid, signal)
  }
  return found === undefined ? inGroup : found.length > 0
}

function anyLeft({ leader }: Processes, known: ReadonlySet<string>): boolean {
  if (hasProc) return [...known].some((id) => readProcess(Number.parseInt(id, 10))?.id === id)
  return leader !== undefined && groupAnswers(leader)
}

interface Process {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly session: number
  readonly id: string
}

/** Living processes, never this one. Undefined if the system does not list processes. */
function findProcesses(
  { leader, mark, ancestor, since }: Processes,
  known: ReadonlySet<string>,
): readonly Process[] | undefined {
  if (!hasProc) return undefined
  const earliest = since === undefined ? 0 : startOf(since)
  const all = readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? (readProcess(Number(name)) ?? []) : []))
  const found = new Set(
    all.filter(
      ({ pid, group, session, id }) =>
        session === leader ||
        group === leader ||
        id === ancestor ||
        known.has(id) ||
        (mark !== undefined && startOf(id) >= earliest && isMarked(pid, mark)),
    ),
  )
  // A set also iterates elements added during the iteration.
  for (const { pid } of found) for (const each of all) if (each.parent === pid) found.add(each)
  return [...found].filter(({ pid }) => pid !== process.pid)
}

const hasProc = process.platform === "linux"

function readProcess(pid: number): Process | undefined {
  const stat = readOrNothing(`/proc/${pid}/stat`)
  // Fields are counted after the command's name, which may contain spaces and brackets.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  const [state = "", parent, group, session] = fields
  if (stat === "" || "ZX".includes(state)) return undefined
  return { pid, parent: Number(parent), group: Number(group), session: Number(session), id: `${pid}/${fields[19]}` }
}

/** In clock ticks, from the id of a process. */
function startOf(id: string): number {
  return Number(id.slice(id.indexOf("/") + 1))
}

function isMarked(pid: number, mark: string): boolean {
  const variable = readOrNothing(`/proc/${pid}/environ`)
    .split("\0")
    .find((entry) => entry.startsWith(`${markVariable}=`))
  return (
    variable
      ?.slice(markVariable.length + 1)
      .split(":")
      .some((each) => each.startsWith(mark)) ?? false
  )
}

/**
 * Processes may end during the scan, and those of other users are not readable. All files of a scan are read into one buffer:
 * `readFileSync` allocates twice for each file whose size the system does not report.
 */
function readOrNothing(path: string): string {
  let file: number | undefined
  try {
    file = openSync(path, "r")
    let text = ""
    for (let size = readSync(file, buffer); size > 0; size = readSync(file, buffer)) {
      text += buffer.toString("latin1", 0, size)
    }
    return text
  } catch {
    return ""
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

const buffer = Buffer.allocUnsafe(16 * 1024)

function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
