import type { RunEvent } from "../../contract/event.ts"
import { type Command, parseCommandLine } from "../arguments.ts"
import { exchangesOf } from "../exchanges.ts"
import { counted, duration, spending, statusLabel } from "../format.ts"
import { createProgress } from "../progress.ts"
import { openNamedRun, runOptions } from "../read-store.ts"
import { plainScreen } from "../screen.ts"

export const command: Command = {
  summary: "Show a run as it happened, from its journal alone: no model is called and no tool runs.",
  usage: "[options] <runId>",
  options: runOptions,
  completes: "runId",
  notes: ["With --json, each record is a line and the last line is the result."],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("replay", args, runOptions)
    const { opened, runId } = await openNamedRun("replay", values, positionals, output)
    const nodes = await exchangesOf(opened, runId, values.node)
    for (const [index, nodeId] of nodes.entries()) {
      const isLast = index === nodes.length - 1
      const progress = createProgress({ screen: plainScreen(output.stdout), colours: output.colours })
      const onEvent = values.json ? output.printJson : (event: RunEvent) => progress.onEvent(event)
      const state = await opened.runtime.replay(runId, { nodeId, onEvent })
      progress.close()
      if (values.json && isLast) output.printJson(state)
      if (values.json) continue
      const words = [counted(state.turns, "turn"), spending(state.usage), duration(state.durationMs)]
      output.print(`\n${statusLabel(state.status, output.colours)} ${[runId, ...words].join(" · ")}`)
    }
    return 0
  },
}
