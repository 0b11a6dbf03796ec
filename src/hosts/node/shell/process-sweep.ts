import { readdirSync, readFileSync } from "node:fs"
import { setTimeout as pause } from "node:timers/promises"

/** Which processes: those of a session, those whose environment holds a mark, one by name, and all that descend from them. */
export interface Processes {
  /** The process that leads the session and its group. Not one that ended a while ago: its pid may be somebody else's. */
  readonly leader?: number
  /** The beginning of a mark. */
  readonly mark?: string
  /** One process, as `identify` names it. */
  readonly ancestor?: string | undefined
}

/** The variable that carries marks. A shell inside a command adds its own to the one that it was given. */
export const markVariable = "LONGHAUL_SHELL"

/**
 * Asks them to end, waits for as long as `graceMs`, then kills until nobody is left. `spare` is not asked, only killed.
 * Returns how many there were, as far as the system lists processes.
 */
export async function endProcesses(which: Processes, graceMs: number, spare?: number): Promise<number> {
  const known = new Set<string>()
  if (graceMs > 0) {
    signalAll(which, known, "SIGTERM", spare)
    const until = performance.now() + graceMs
    while (performance.now() < until && anyLeft(which, known)) await pause(pauseMs)
  }
  for (let pass = 0; pass < mostPasses && signalAll(which, known, "SIGKILL"); pass++) await pause(pauseMs)
  return known.size
}

/** The same for a process that is about to exit, and cannot wait. */
export function killProcesses(which: Processes): void {
  signalAll(which, new Set(), "SIGKILL")
}

/** A process by its pid and when it started, since a later one may have the same pid. Undefined where it does not live. */
export function identify(pid: number): string | undefined {
  return readProcess(pid)?.id
}

/** Whether a group has members; those that are dead but not yet reaped count. */
export function groupAnswers(leader: number): boolean {
  return send(-leader, 0)
}

const pauseMs = 10
/** What forks faster than it can be killed is not chased for ever. */
const mostPasses = 200

/** Adds to `known` whom it found: whoever clears its environment and leaves its session is found only by its parent. */
function signalAll(which: Processes, known: Set<string>, signal: NodeJS.Signals, spare?: number): boolean {
  const { leader } = which
  const found = findProcesses(which, known)
  // As a whole first: nobody can fork past it.
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

/** Living ones, never this process itself. Undefined where the system does not list processes. */
function findProcesses(
  { leader, mark, ancestor }: Processes,
  known: ReadonlySet<string>,
): readonly Process[] | undefined {
  if (!hasProc) return undefined
  const all = readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? (readProcess(Number(name)) ?? []) : []))
  const found = new Set(
    all.filter(
      ({ pid, group, session, id }) =>
        session === leader ||
        group === leader ||
        id === ancestor ||
        known.has(id) ||
        (mark !== undefined && isMarked(pid, mark)),
    ),
  )
  // A set also visits what is added while it is walked.
  for (const { pid } of found) for (const each of all) if (each.parent === pid) found.add(each)
  return [...found].filter(({ pid }) => pid !== process.pid)
}

const hasProc = process.platform === "linux"

function readProcess(pid: number): Process | undefined {
  const stat = readOrNothing(`/proc/${pid}/stat`)
  // Fields are counted behind the command's name, which may hold spaces and brackets.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  const [state = "", parent, group, session] = fields
  if (stat === "" || "ZX".includes(state)) return undefined
  return { pid, parent: Number(parent), group: Number(group), session: Number(session), id: `${pid}/${fields[19]}` }
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

/** Processes end while they are looked at, and those of others are not ours to read. */
function readOrNothing(path: string): string {
  try {
    return readFileSync(path, "latin1")
  } catch {
    return ""
  }
}

function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
