import type { RunResult } from "../contract/result.ts"
import type { RunHandle } from "../contract/run.ts"
import type { OptionTable } from "./arguments.ts"
import { visible } from "./format.ts"
import { onSignals } from "./interrupts.ts"
import { mayDraw, type Output } from "./output.ts"
import { withOptionNames } from "./print-result.ts"
import { createProgress, EXTENSION_MISSING, type Progress, type ProgressOptions } from "./progress.ts"
import { liveScreen, plainScreen } from "./screen.ts"

/** Options for how a run is shown while it works. */
export const watchOptions = {
  "stream-json": {
    type: "boolean",
    help: "Write each event as a JSON line while the run works, and the result as the last line.",
  },
  debug: { type: "boolean", help: "Log to stderr, including exceptions thrown by tools; known secrets are redacted." },
} as const satisfies OptionTable

export interface WatchChoice {
  readonly json?: boolean
  readonly "stream-json"?: boolean
  readonly debug?: boolean
  readonly quiet?: boolean
}

export type FollowOptions = WatchChoice & Pick<ProgressOptions, "headless" | "typed" | "open">

/** True if stdout is for programs only. */
export function printsJson(choice: WatchChoice): boolean {
  return (choice.json || choice["stream-json"]) ?? false
}

/** If stdout is not for people, only the status of a run is shown, on stderr. */
export function progressFor(output: Output, options: FollowOptions): Progress {
  const { json, quiet, debug, "stream-json": streamJson, ...rest } = options
  const { stdout, stderr, colours, errorColours } = output
  if (streamJson) return { onEvent: output.printJson, say: output.complain, close: () => {} }
  // Log lines would break the status line.
  const canDraw = mayDraw() && !debug
  if (json || quiet) {
    const screen = stderr.isTTY && canDraw && !quiet ? liveScreen(stderr) : plainScreen(stderr)
    return createProgress({ ...rest, screen, colours: errorColours, statusOnly: true })
  }
  const terminal = [stdout, stderr].find(({ isTTY }) => isTTY && canDraw)
  return createProgress({ ...rest, screen: terminal ? liveScreen(terminal, stdout) : plainScreen(stdout), colours })
}

/** Shows a run to its end; signals and a closed stdout stop it. */
export async function follow(handle: RunHandle, progress: Progress, output: Output): Promise<RunResult> {
  const removeHandlersSignals = onSignals(
    (mode) => handle.interrupt(mode),
    (text) => progress.say(text),
  )
  const isDrawn = [output.stdout, output.stderr].some(({ isTTY }) => isTTY)
  const tell = (text: string) => (isDrawn ? progress.say(text) : output.complain(text))
  output.onReaderGone(() => handle.interrupt("immediate"))
  try {
    for await (const event of handle) {
      if (event.type === "warning" && event.code === EXTENSION_MISSING) tell(visible(withOptionNames(event.message)))
      progress.onEvent(event)
    }
    return await handle.result
  } finally {
    progress.close()
    removeHandlersSignals()
  }
}
