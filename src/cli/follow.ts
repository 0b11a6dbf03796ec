import type { RunResult } from "../contract/result.ts"
import type { RunHandle } from "../contract/run.ts"
import { onSignals } from "./interrupts.ts"
import { mayDraw, type Output } from "./output.ts"
import { createProgress, type Progress, type ProgressOptions } from "./progress.ts"
import { liveScreen, plainScreen } from "./screen.ts"

export interface FollowOptions extends Pick<ProgressOptions, "headless" | "typed"> {
  readonly json: boolean
  readonly quiet: boolean
}

/** Where stdout is not for people, only the status of a run is shown, on stderr. */
export function progressFor(output: Output, { json, quiet, ...rest }: FollowOptions): Progress {
  const { stdout, stderr, colours, errorColours } = output
  const canDraw = mayDraw()
  if (json || quiet) {
    const screen = stderr.isTTY && canDraw && !quiet ? liveScreen(stderr) : plainScreen(stderr)
    return createProgress({ ...rest, screen, colours: errorColours, statusOnly: true })
  }
  const terminal = [stdout, stderr].find(({ isTTY }) => isTTY && canDraw)
  return createProgress({ ...rest, screen: terminal ? liveScreen(terminal, stdout) : plainScreen(stdout), colours })
}

/** Shows a run to its end; signals, and a reader who goes away, stop it. */
export async function follow(handle: RunHandle, progress: Progress, output: Output): Promise<RunResult> {
  const giveBackSignals = onSignals(
    (mode) => handle.interrupt(mode),
    (text) => progress.say(text),
  )
  output.onReaderGone(() => handle.interrupt("immediate"))
  try {
    for await (const event of handle) progress.onEvent(event)
    return await handle.result
  } finally {
    progress.close()
    giveBackSignals()
  }
}
