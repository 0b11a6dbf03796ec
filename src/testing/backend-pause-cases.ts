import type { RunResult } from "../contract/result.ts"
import type { ResumeInput, RuntimeConfig } from "../contract/run.ts"
import type { Tool } from "../contract/tool.ts"
import {
  allowAll,
  type BackendBench,
  type BackendCase,
  type BackendPlace,
  callsThenTells,
  check,
  checkStatus,
  counting,
  inPlace,
  isMain,
  ownWrite,
  withRuntime,
} from "./backend-bench.ts"
import type { SimulatedRequest } from "./simulated.ts"

/** Pauses a run on its first call and resumes it from another runtime, as another process would. */
async function pauseAndResume(
  place: BackendPlace,
  config: Partial<RuntimeConfig>,
  decide: (paused: RunResult) => Omit<ResumeInput, "runId">,
): Promise<{ readonly paused: RunResult; readonly result: RunResult }> {
  const paused = await withRuntime(place, config, (runtime) => runtime.run({ task: "Do it." }))
  checkStatus(paused, "paused")
  check((await place.leftovers()) === 0, "a paused run must not keep a program")
  const result = await withRuntime(place, config, (runtime) =>
    runtime.resume({ runId: paused.runId, ...decide(paused) }),
  )
  return { paused, result }
}

const asks = (tool: string): Partial<RuntimeConfig> => ({ policy: { rules: [{ ask: { tool }, via: "pause" }] } })

const ticketOf = ({ pause }: RunResult) => ({ ticket: pause?.pendingToolCall?.ticket ?? "" })

/** How often an output is in the conversation that the model received last. */
function timesSeen({ simulator }: BackendPlace, output: string): number {
  const last = simulator.requests.findLast(({ tools }) => tools.length > 0)
  return JSON.stringify(last?.messages ?? []).split(output).length - 1
}

const approve = (paused: RunResult) => ({ decision: "approve" as const, ...ticketOf(paused) })

function oursCase(
  name: string,
  run: (bench: BackendBench, place: BackendPlace, sent: ReturnType<typeof counting>) => Promise<void>,
): BackendCase {
  return {
    name,
    run: (bench) =>
      inPlace(bench, { script: callsThenTells(bench.ours("send", { to: "Ada" })) }, (place) =>
        run(bench, place, counting()),
      ),
  }
}

function ownCase(name: string, run: (bench: BackendBench, place: BackendPlace) => Promise<void>): BackendCase {
  return {
    name,
    needs: "own",
    run: (bench) => inPlace(bench, { script: againUntilDone(bench) }, (place) => run(bench, place)),
  }
}

/** Writes the file, also again if the first call did not write it, and then reports the output of the tool. */
function againUntilDone(bench: BackendBench) {
  const call = ownWrite(bench, "note.txt", "written")
  const tells = callsThenTells(call)
  return (request: Parameters<typeof tells>[0]) => {
    const text = JSON.stringify(request.messages.at(-1) ?? "")
    return /call it again|may make it again|again with exactly/i.test(text)
      ? { parts: [{ toolCall: call }] }
      : tells(request)
  }
}

export const backendPauseCases: readonly BackendCase[] = [
  oursCase(
    "a paused call of the runtime runs once after its approval elsewhere, and the model gets its result once",
    async (_, place, { tool, done }) => {
      const { result } = await pauseAndResume(place, { ...asks("send"), tools: [tool] }, approve)
      checkStatus(result, "done")
      check(done.length === 1, "it must run once", done)
      check(result.text.includes("letter 1 to Ada"), "the model must get the result", result.text)
      check(
        timesSeen(place, "letter 1 to Ada") === 1,
        "the model must get the result once",
        place.simulator.requests.at(-1)?.messages,
      )
    },
  ),
  oursCase(
    "a paused call of the runtime that is denied does not run, and the model gets the reason",
    async (_, place, { tool, done }) => {
      const { result } = await pauseAndResume(place, { ...asks("send"), tools: [tool] }, (paused) => ({
        decision: "deny",
        answer: "write by hand",
        ...ticketOf(paused),
      }))
      checkStatus(result, "done")
      check(done.length === 0 && result.text.includes("write by hand"), "it must not run", { done, text: result.text })
    },
  ),
  oursCase(
    "a call of the runtime that asks while it runs continues with the answer elsewhere, and acts once",
    async (_, place, { tool, done }) => {
      const run: Tool["run"] = (args, context) =>
        context.answered ? tool.run(args, context) : context.ask?.("Really?", { kept: 1 })
      const { paused, result } = await pauseAndResume(place, { ...allowAll, tools: [{ ...tool, run }] }, (asked) => ({
        answer: "yes",
        ...ticketOf(asked),
      }))
      check(paused.pause?.pendingToolCall?.question === "Really?", "the pause must have the question", paused.pause)
      checkStatus(result, "done")
      check(done.length === 1, "it must act once", done)
      check(timesSeen(place, "letter 1 to Ada") === 1, "the model must get the result once", result.text)
    },
  ),
  ownCase("a paused call of the backend runs once after its approval elsewhere", async (bench, place) => {
    const { paused, result } = await pauseAndResume(place, { ...asks(bench.own?.tool ?? ""), tools: [] }, approve)
    check(paused.pause?.pendingToolCall?.name === bench.own?.tool, "the pause must name the call", paused.pause)
    checkStatus(result, "done")
    check((await place.read("note.txt"))?.trim() === "written", "the file must be written")
    const ran = result.toolCalls.filter(({ status }) => status === "ok")
    check(ran.length === 1, "it must run once", result.toolCalls)
  }),
  ownCase("a paused call of the backend that is denied does not run", async (bench, place) => {
    const { result } = await pauseAndResume(place, { ...asks(bench.own?.tool ?? ""), tools: [] }, (paused) => ({
      decision: "deny",
      answer: "not today",
      ...ticketOf(paused),
    }))
    check((await place.read("note.txt")) === null, "the file must not be written")
    checkStatus(result, "done")
  }),
  ownCase("an approval is used up by one run of the call", async (bench, place) => {
    const config = { ...asks(bench.own?.tool ?? ""), tools: [] }
    const { paused, result } = await pauseAndResume(place, config, approve)
    checkStatus(result, "done")
    const again = await withRuntime(place, config, (runtime) =>
      runtime.resume({ runId: paused.runId, ...approve(paused) }),
    )
    check(again.status === "failed", "a second approval must be refused", again.status)
  }),
  {
    name: "an approval does not cover a call with other arguments: it asks again",
    needs: "own",
    run(bench) {
      let isResumed = false
      const [first, other] = [ownWrite(bench, "note.txt", "written"), ownWrite(bench, "other.txt", "more")]
      const script = (request: SimulatedRequest) =>
        isMain(request) ? { parts: [{ toolCall: isResumed ? other : first }] } : "A title"
      return inPlace(bench, { script }, async (place) => {
        const config = { ...asks(bench.own?.tool ?? ""), tools: [] }
        const paused = await withRuntime(place, config, (runtime) => runtime.run({ task: "Do it." }))
        checkStatus(paused, "paused")
        isResumed = true
        const again = await withRuntime(place, config, (runtime) =>
          runtime.resume({ runId: paused.runId, ...approve(paused) }),
        )
        checkStatus(again, "paused")
        check(ticketOf(again).ticket !== ticketOf(paused).ticket, "the second call must have a ticket of its own")
        check((await place.read("other.txt")) === null, "the second call must not have run")
      })
    },
  },
]
