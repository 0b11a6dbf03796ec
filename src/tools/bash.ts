import type { Shell, ShellOutput, ShellResult } from "../contract/env.ts"
import { type Tool, type ToolContext, ToolError } from "../contract/tool.ts"
import { OutputWindow } from "../lib/output-window.ts"
import { checkShape } from "../lib/schema/shape.ts"
import { type Redact, redactOf } from "../lib/text/before-cut.ts"
import { utf8Length } from "../lib/truncate.ts"
import { defineTool } from "./kernel/define-tool.ts"
import { stopIfAborted } from "./shared.ts"
import { bashUses } from "./uses.ts"

export interface BashOptions {
  /** Maximum bytes of output in one result. Default 32 KB. */
  readonly maxOutputBytes?: number
}

/** Command lines in the environment's shell. Not in any default set of tools: the host must add it. */
export function bashTool(options: BashOptions = {}): Tool {
  checkShape<BashOptions>("bashTool", options, { maxOutputBytes: "number" })
  const { maxOutputBytes = defaultOutputBytes } = options
  return defineTool({
    name: "Bash",
    description:
      "Runs a command line with /bin/sh -c in the working directory and returns its output, standard output and " +
      "error in the order they were written. The last line shows how it ended, for example [exit 0 after 0.3 s]; an " +
      "exit code other than 0 is not a tool error. There is no input and no terminal: use options that keep " +
      "programs from prompting. Every call is a new shell: cd and variables do not carry over, files do. Processes it leaves " +
      "running are killed; for servers and long jobs set background, then poll their output by shellId. " +
      `If there are more than ${maxOutputBytes} bytes, only the first and the last part are shown; a line then names the file ` +
      "with the complete output. With containment: best-effort, a process that hides may outlive its command.",
    uses: bashUses,
    effect: "once",
    risk: "high",
    bounded: true,
    inputSchema: {
      type: "object",
      properties: {
        command: { type: "string", minLength: 1, description: "The command line. Not together with shellId." },
        timeoutMs: {
          type: "integer",
          minimum: 1,
          maximum: maxTimeoutMs,
          default: 120_000,
          description: "Kill the command and its child processes after this many milliseconds. Not for background.",
        },
        background: {
          type: "boolean",
          default: false,
          description: "Return immediately with a shellId; the command keeps running until it ends or is stopped.",
        },
        shellId: {
          type: "string",
          minLength: 1,
          description: "Instead of a command: the shellId of a background command.",
        },
        stop: {
          type: "boolean",
          default: false,
          description: "With shellId: stop the command and its child processes.",
        },
      },
      additionalProperties: false,
    },
    run: (args: BashArgs, context) => bash(args, context, maxOutputBytes),
  })
}

interface BashArgs {
  readonly command?: string
  readonly timeoutMs: number
  readonly background: boolean
  readonly shellId?: string
  readonly stop: boolean
}

const defaultOutputBytes = 32 * 1024
const maxTimeoutMs = 600_000

function shellOf(context: ToolContext): Shell {
  if (context.env.shell === undefined) throw new ToolError("denied", "This environment has no shell.")
  return context.env.shell
}

async function bash(args: BashArgs, context: ToolContext, maxOutputBytes: number): Promise<string> {
  const shell = shellOf(context)
  const limits = { maxOutputBytes, redact: redactOf(context) }
  stopIfAborted(context)
  const { command, timeoutMs, background, shellId, stop } = args
  if (shellId !== undefined && command === undefined) return follow(shell, shellId, stop, limits)
  if (command === undefined || shellId !== undefined || stop) {
    throw new ToolError("invalid_input", "Pass either a command, or the shellId of a background command.")
  }
  const { cwd, signal } = context
  if (background) {
    const started = await shell.start({ command, cwd, signal, maxOutputBytes })
    return `Started as shellId ${started.shellId}.\n[containment: ${shell.containment}]`
  }
  const onOutput = (text: string) => context.progress(text)
  const result = await shell.run({ command, cwd, timeoutMs, signal, maxOutputBytes, onOutput })
  const after = `after ${(result.durationMs / 1000).toFixed(1)} s; containment: ${shell.containment}`
  if (result.endedBy === "exit" || result.endedBy === "signal") {
    return report(result, `${endOf(result)} ${after}`, limits)
  }
  const isTimeout = result.endedBy === "timeout"
  const because = result.stoppedBecause === undefined ? "" : ` because ${result.stoppedBecause}`
  const what = isTimeout ? "timed out" : `was stopped${because}`
  const ended =
    shell.containment === "sandbox"
      ? "every process it started was killed"
      : "the processes it started were killed as far as they were found"
  // The reason comes first: a long error message loses its end.
  const reason = `The command ${what} ${after}; ${ended}. Its output so far:`
  throw new ToolError(isTimeout ? "timeout" : "aborted", `${reason}\n${report(result, what, limits)}`)
}

/** The output of a background command since the last poll, or before it was stopped. */
async function follow(shell: Shell, shellId: string, stop: boolean, limits: ReportLimits): Promise<string> {
  if (stop) return report(await shell.stop(shellId), `stopped; containment: ${shell.containment}`, limits)
  const output = await shell.poll(shellId)
  return report(output, output.running ? "still running" : endOf(output), limits)
}

function endOf(output: ShellOutput & Partial<ShellResult>): string {
  if (output.stoppedBecause !== undefined) return `stopped because ${output.stoppedBecause}`
  if (output.exitCode !== null) return `exit ${output.exitCode}`
  return `ended by ${output.signalName ?? "a signal"}`
}

interface ReportLimits {
  readonly maxOutputBytes: number
  /** Applied to an output before it is cut. */
  readonly redact: Redact
}

/** The output within its limits, whatever a shell returns, and the lines about it. */
function report(output: ShellOutput, ending: string, { maxOutputBytes, redact }: ReportLimits): string {
  let { text, leftOutBytes } = output
  if (utf8Length(text) > maxOutputBytes + markerRoom) {
    const window = new OutputWindow(maxOutputBytes)
    window.add(new TextEncoder().encode(redact(text)))
    const cut = window.take(false)
    text = cut.text
    leftOutBytes += cut.leftOutBytes
  }
  const lines: string[] = leftOutBytes === 0 ? [] : [`[${leftOutBytes} bytes omitted; ${whereIs(output)}]`]
  if (output.endedLeftovers !== undefined) {
    lines.push(
      `[before this, ${output.endedLeftovers} processes that an earlier, killed process had left running were ended]`,
    )
  }
  if (output.newRefusedPaths !== undefined) {
    const paths = output.newRefusedPaths.slice(0, mostPaths).join(", ")
    const more = output.newRefusedPaths.length > mostPaths ? " and more" : ""
    lines.push(`[new since the command started, although the policy refuses to write there: ${paths}${more}]`)
  }
  const separator = text === "" || text.endsWith("\n") ? "" : "\n"
  return `${text}${separator}${[...lines, `[${ending}]`].join("\n")}`
}

function whereIs({ bytes, spillPath, spilledBytes = bytes }: ShellOutput): string {
  if (spillPath === undefined) return "no file has them"
  return spilledBytes < bytes
    ? `the first ${spilledBytes} are in ${spillPath}`
    : `the complete output is in ${spillPath}`
}

const mostPaths = 20
/** The notice that a shell inserts for omitted output. */
const markerRoom = 100
