import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { isMain } from "../../../src/testing/backend-bench.ts"
import type { BackendBench, BackendCase, SimulatedRequest } from "../../../src/testing/index.ts"
import { placedCopilot, placedGemini, placedOpencode } from "../../backends/acp-bench.ts"
import { placedClaudeCli } from "../../backends/claude-place.ts"
import { placedCodex } from "../../backends/codex-bench.ts"
import { openPlace, type PlacedBackend } from "../backend-place.ts"
import { Player } from "./player.ts"
import { Recorder } from "./recorder.ts"
import { neutral, type SceneEvent, sceneFile } from "./scene.ts"

export const recordedBackends: readonly PlacedBackend[] = [
  placedClaudeCli,
  placedCodex,
  placedCopilot,
  placedGemini,
  placedOpencode,
]

/** The cases that are recorded and played. */
export const recordedCases: readonly string[] = [
  "a text is answered, with usage, a session and one turn",
  "a tool of the runtime runs once with the exact arguments, and the model gets its output",
  "two calls of one answer both run, and both outputs reach the model",
  "a tool of the backend runs after its intent was recorded",
  "a tool of the backend that the policy denies does not run",
  "an interrupt while the model answers cancels the run, and it can be resumed",
  "a rate limit is a typed failure",
  "an error of the server is a typed failure",
  "a stream that ends in the middle is a typed failure",
  "without credentials the failure is auth, with a fix",
]

/** Runs a case with the real program and writes what was said. */
export async function recordCase(placed: PlacedBackend, each: BackendCase): Promise<void> {
  let scene = ""
  await each.run({
    ...placed,
    open(options) {
      let recorder: Recorder | undefined
      const script = async (request: SimulatedRequest) => {
        recorder?.record({ type: "model", hasTools: isMain(request) })
        const answer = await options.script(request)
        // It streams in pieces, in which a path could not be found.
        return typeof answer === "string" ? answer.replaceAll(recorder?.facts.workspace ?? "", "workspace") : answer
      }
      return openPlace({ ...options, script }, (facts) => {
        const own = placed.configure(facts)
        recorder = new Recorder(facts)
        return { ...own, backend: recorder.wrap(own.backend) }
      }).then((place) => ({
        ...place,
        async close() {
          if (recorder) scene = neutral(recorder.events, recorder.facts)
          await place.close()
        },
      }))
    },
  })
  const file = sceneFile(placed.name, each.name)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, scene)
}

export function readScene(placed: PlacedBackend, caseName: string): readonly SceneEvent[] {
  const lines = readFileSync(sceneFile(placed.name, caseName), "utf8").trim().split("\n")
  return lines.map((line) => JSON.parse(line) as SceneEvent) // Safe: the recorder wrote it.
}

/** Runs a case with the recorded program. Rejects where the backend departs from what was recorded. */
export async function playCase(
  placed: PlacedBackend,
  each: BackendCase,
  events = readScene(placed, each.name),
): Promise<void> {
  let player: Player | undefined
  const bench: BackendBench = {
    ...placed,
    open: (options) =>
      openPlace(options, (facts) => {
        const own = placed.configure(facts)
        const onModel = (hasTools: boolean) => void options.script(requestOf(hasTools))
        player = new Player({ events, facts, onModel })
        // A program that did not end by itself needs no time to do so here.
        return { ...own, deadlines: { stopMs: 50 }, backend: player.wrap(own.backend) }
      }),
  }
  try {
    await each.run(bench)
  } catch (error) {
    // Where the backend departed says more than what became of the run.
    await Promise.race([player?.played, new Promise((resolve) => setTimeout(resolve, 0))])
    throw error
  }
  await player?.finish()
}

/** What a script of a case looks at. */
function requestOf(hasTools: boolean): SimulatedRequest {
  return {
    ...{ index: 0, protocol: "recorded", path: "/", headers: {}, body: null, model: "", messages: [], settings: {} },
    tools: hasTools ? [{ name: "recorded", description: "", inputSchema: {} }] : [],
    ...{ lastToolResults: [], lastUserText: "" },
  }
}
