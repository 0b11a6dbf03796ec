import type { RunResult } from "../contract/result.ts"
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
import { backendControlCases } from "./backend-control-cases.ts"
import { backendPauseCases } from "./backend-pause-cases.ts"
import type { SimulatedAnswer, SimulatedRequest } from "./simulated.ts"

export type { BackendBench, BackendCase, BackendPlace, OwnWrite, PlaceOptions } from "./backend-bench.ts"

const workCases: readonly BackendCase[] = [
  {
    name: "a text is answered, with usage, a session and one turn",
    run: (bench) =>
      inPlace(bench, { script: (request) => (isMain(request) ? "All is well." : "A title") }, async (place) => {
        const result = await withRuntime(place, { tools: [counting().tool] }, (runtime) =>
          runtime.run({ task: "How is it?" }),
        )
        checkStatus(result, "done")
        check(result.text === "All is well.", "the text must be the model's", result.text)
        check((result.usage.outputTokens ?? 0) > 0, "usage must be reported", result.usage)
        check(result.turns === 1, "one answer is one turn", result.turns)
        check(result.sessionId !== null && result.backend === bench.name, "the session and the backend must be named")
      }),
  },
  {
    name: "a tool of the runtime runs once with the exact arguments, and the model gets its output",
    run: (bench) =>
      inPlace(bench, { script: callsThenTells(bench.ours("send", { to: 'Ada, "π"' })) }, async (place) => {
        const { tool, done } = counting()
        const result = await withRuntime(place, { tools: [tool] }, (runtime) => runtime.run({ task: "Send it." }))
        checkStatus(result, "done")
        check(JSON.stringify(done) === '[{"to":"Ada, \\"π\\""}]', "it must run once, with the exact arguments", done)
        check(result.text.includes("letter 1 to Ada"), "the final text must contain the output", result.text)
        check(
          result.toolCalls.length === 1 && result.toolCalls[0]?.name === "send" && result.toolCalls[0].status === "ok",
          "the result must list the call once",
          result.toolCalls,
        )
      }),
  },
  {
    name: "two calls of one answer both run, and both outputs reach the model",
    run: (bench) =>
      inPlace(
        bench,
        { script: callsThenTells(bench.ours("send", { to: "Ada" }), bench.ours("send", { to: "Bob" })) },
        async (place) => {
          const { tool, done } = counting()
          const result = await withRuntime(place, { tools: [tool] }, (runtime) => runtime.run({ task: "Send both." }))
          checkStatus(result, "done")
          check(done.length === 2, "both must run", done)
          check(/Ada/.test(result.text) && /Bob/.test(result.text), "both outputs must reach the model", result.text)
        },
      ),
  },
  {
    name: "a tool of the runtime that fails is an error for the model, and the run goes on",
    run: (bench) =>
      inPlace(bench, { script: callsThenTells(bench.ours("send", { wrong: "x" })) }, async (place) => {
        const { tool, done } = counting()
        const result = await withRuntime(place, { tools: [tool] }, (runtime) => runtime.run({ task: "Send it." }))
        checkStatus(result, "done")
        check(done.length === 0 && result.toolCalls[0]?.status === "error", "it must not run", result.toolCalls)
      }),
  },
  {
    name: "a tool of the backend runs after its intent was recorded",
    needs: "own",
    run: (bench) =>
      inPlace(bench, { script: callsThenTells(ownWrite(bench, "note.txt", "written")) }, async (place) => {
        await withRuntime(place, { ...allowAll, tools: [] }, async (runtime) => {
          const result = await runtime.run({ task: "Write it." })
          checkStatus(result, "done")
          check((await place.read("note.txt"))?.trim() === "written", "the file must be written")
          const call = result.toolCalls.find(({ name }) => name === bench.own?.tool)
          check(call?.status === "ok", "the call must be listed as ok", result.toolCalls)
          const types: string[] = []
          for await (const record of runtime.events(result.runId))
            if ("callId" in record && record.callId === call.id) types.push(record.type)
          const order = ["tool-call", "tool-intent", "tool-result"].map((type) => types.indexOf(type))
          check(
            order.every((at, index) => at > (order[index - 1] ?? -1)),
            "call, intent and result must be in order",
            types,
          )
        })
      }),
  },
  {
    name: "a tool of the backend that the policy denies does not run",
    needs: "own",
    run: (bench) =>
      whenDenied(bench, async (result, place) => {
        check((await place.read("note.txt")) === null, "the file must not be written")
        check(result.toolCalls[0]?.status === "denied", "the call must be listed as denied", result.toolCalls)
      }),
  },
  {
    name: "the model gets the reason why a tool of the backend was denied",
    needs: "own",
    run: (bench) =>
      whenDenied(bench, async (result) => {
        checkStatus(result, "done")
        check(result.text.includes("letters only"), "the final text must contain the reason", result.text)
      }),
  },
  {
    name: "the policy changes the arguments of a tool of the backend",
    needs: "rewrite",
    run: (bench) =>
      inPlace(bench, { script: callsThenTells(ownWrite(bench, "note.txt", "written")) }, async (place) => {
        const set = bench.own?.rewrite?.("note.txt", "changed") ?? {}
        const rules = [{ allow: { tool: bench.own?.tool ?? "" }, set }]
        const result = await withRuntime(place, { policy: { rules }, tools: [] }, (runtime) =>
          runtime.run({ task: "Write it." }),
        )
        checkStatus(result, "done")
        check(
          (await place.read("note.txt"))?.trim() === "changed",
          "the changed text must be written",
          await place.read("note.txt"),
        )
      }),
  },
  {
    name: "without a policy a tool of the backend with a high risk does not run",
    needs: "own",
    run: (bench) =>
      inPlace(bench, { script: callsThenTells(ownWrite(bench, "note.txt", "written")) }, async (place) => {
        const tiers = { [bench.own?.tool ?? ""]: "high" } as const
        await withRuntime(place, { policy: { tiers }, tools: [] }, (runtime) => runtime.run({ task: "Write it." }))
        check((await place.read("note.txt")) === null, "the file must not be written")
      }),
  },
  {
    name: "an output schema makes the answer data",
    run: (bench) =>
      inPlace(bench, { script: structured }, async (place) => {
        const outputSchema = { type: "object", properties: { tide: { type: "number" } }, required: ["tide"] } as const
        const result = await withRuntime(place, { tools: [counting().tool] }, (runtime) =>
          runtime.run({ task: "The tide?", outputSchema }),
        )
        checkStatus(result, "done")
        check(JSON.stringify(result.data) === '{"tide":4.5}', "the data must match the schema", result.data)
      }),
  },
]

/** A run in which the policy denies the backend's own tool. */
function whenDenied(
  bench: BackendBench,
  examine: (result: RunResult, place: BackendPlace) => Promise<void>,
): Promise<void> {
  const rules = [{ deny: { tool: bench.own?.tool ?? "" }, reason: "letters only" }, { allow: { tool: "*" } }]
  return inPlace(bench, { script: callsThenTells(ownWrite(bench, "note.txt", "written")) }, async (place) => {
    const config = { policy: { rules }, tools: [] }
    await examine(await withRuntime(place, config, (runtime) => runtime.run({ task: "Write it." })), place)
  })
}

/** Some vendors enforce a schema by a tool that the model has to call. */
function structured(request: SimulatedRequest): SimulatedAnswer {
  if (!isMain(request)) return "A title"
  const answer = { tide: 4.5 }
  const tool = request.tools.find(({ name }) => /structured_?output/i.test(name))
  if (tool && request.lastToolResults.length === 0) return { parts: [{ toolCall: { name: tool.name, args: answer } }] }
  return tool ? "Done." : JSON.stringify(answer)
}

/** The requirements for every backend, as data: run each in any test runner, except those that the bench lists as lacking. */
export const backendCases: readonly BackendCase[] = [...workCases, ...backendPauseCases, ...backendControlCases]
