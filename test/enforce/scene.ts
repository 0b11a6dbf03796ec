import { serve } from "longhaul/node"
import { PolicyClient, type ToolPolicy, type ToolUse, toolPolicy } from "longhaul/policy"
import { createSimulator, type SimulatedRequest } from "longhaul/testing"
import { describe, expect, test } from "vitest"

/** A call that the simulated model makes, one per answer. */
export interface ModelCall {
  readonly tool: string
  readonly args: Record<string, string>
}

/** Two tools that record the arguments with which they ran, as text. */
export interface Tools {
  readonly echo: (args: unknown) => string
  readonly search: (args: unknown) => string
}

export interface Framework {
  readonly name: string
  /** The name of a tool as the framework's model calls it. */
  readonly modelName?: (tool: string) => string
  /** The ids of calls as the policy receives them. Default: those of the model. */
  readonly callIds?: RegExp
  /** What the model sees of an exception that the policy allows. */
  readonly ofException: string
  /** False: the framework ends the run before the model sees anything of a failed call that the policy blocks. */
  readonly goesOnAfterBlockedFailure?: boolean
  /** Runs an agent with both tools until its model is done. `url`: the simulator. */
  run(options: { readonly url: string; readonly policy: ToolPolicy; readonly tools: Tools }): Promise<unknown>
}

export interface Outcome {
  /** The tools that ran, with their arguments. */
  readonly ran: readonly string[]
  /** The results that the model received, in the order of the calls. */
  readonly seen: readonly string[]
  /** Everything that was sent to the model. */
  readonly sent: string
  readonly error: unknown
}

/** In order; or, for several agents, those of the agent that asks. */
export type Calls = readonly ModelCall[] | ((request: SimulatedRequest) => readonly ModelCall[])

export async function runScene(framework: Framework, policy: ToolPolicy, calls: Calls): Promise<Outcome> {
  const { modelName = (name: string) => name } = framework
  const ran: string[] = []
  const requests: SimulatedRequest[] = []
  const simulator = createSimulator({
    script: (request) => {
      // Claude Code also asks for titles and the like.
      if (request.tools.length === 0) return "Title"
      requests.push(request)
      if (requests.length > 10) throw new Error("The framework asks without end.")
      const planned = typeof calls === "function" ? calls(request) : calls
      const call = planned[request.messages.flatMap(({ toolCalls }) => toolCalls).length]
      if (call === undefined) return "Done"
      const id = `toolu_${request.index}_${request.messages.length}`
      return { parts: [{ toolCall: { id, name: modelName(call.tool), args: call.args } }] }
    },
  })
  const served = await serve(simulator.fetch)
  const record = (name: string, args: unknown) => ran.push(`${name} ${JSON.stringify(args)}`)
  const tools: Tools = {
    echo(args) {
      record("echo", args)
      const { text } = args as { readonly text: string }
      if (text.startsWith("throw")) throw new Error(`failed: ${text}`)
      return `echo ${text}`
    },
    search(args) {
      record("search", args)
      return "found SECRET-7"
    },
  }
  let error: unknown
  try {
    await framework.run({ url: served.url, policy, tools })
  } catch (thrown) {
    error = thrown
  }
  await served.close()
  const last = requests.at(-1)
  return {
    ran,
    seen: last?.messages.flatMap(({ toolResults }) => toolResults.map(({ text }) => text)) ?? [],
    sent: simulator.requests.map(({ body }) => JSON.stringify(body)).join("\n"),
    error,
  }
}

const named = (tool: string) => [tool, `mcp:desk/${tool}`]

/** Rules in this process: allow, rewrite, deny and block, by the text of the call. */
export const rules = (): ToolPolicy =>
  toolPolicy(
    {
      default: "allow",
      rules: [
        { deny: { tool: named("echo"), args: { "/text": "forbidden" } }, reason: "That word is not allowed." },
        { allow: { tool: named("echo"), args: { "/text": "change me" } }, set: { "/text": "changed \u2713" } },
      ],
      output: [{ block: { tool: "*", pattern: "SECRET-\\d" }, reason: "That is a secret." }],
    },
    { workspace: "/work" },
  )

/** The same policy, with what it was asked and what it allowed. */
export function recorded(policy: ToolPolicy) {
  const asked: ToolUse[] = []
  const allowed: string[] = []
  const recording: ToolPolicy = {
    ...policy,
    async preTool(use) {
      asked.push(use)
      const verdict = await policy.preTool(use)
      if (verdict.decision === "allow") allowed.push(JSON.stringify(verdict.args ?? use.toolInput))
      return verdict
    },
  }
  return { policy: recording, asked, allowed }
}

type Fault = (signal: AbortSignal | null | undefined) => Promise<Response>

/** The faults of a policy service. */
const faults: Readonly<Record<string, Fault>> = {
  "refuses the connection": async () => {
    throw new TypeError("fetch failed")
  },
  "does not answer": (signal) =>
    new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason), { once: true })),
  "answers with status 500": async () => new Response('{"decision":"allow"}', { status: 500 }),
  "answers with malformed JSON": async () => new Response('{"decision":"allow"'),
  "answers with an unknown verdict": async () => new Response('{"decision":"permit"}'),
  "answers with nothing": async () => new Response(""),
  "answers with 2 MB": async () => new Response(`{"decision":"allow","reason":"${"x".repeat(2 << 20)}"}`),
}

/** A client of a service that fails in one stage and allows everything in the other. */
function faulty(fault: Fault, stage: "pre-tool" | "post-tool"): ToolPolicy {
  return new PolicyClient({
    baseUrl: "https://policy.test",
    apiKey: "key-of-the-test",
    // Short only where it is awaited, so that a busy machine fails nothing else.
    timeoutMs: fault === faults["does not answer"] ? 1000 : 10_000,
    fetch: async (input, init) =>
      String(input instanceof Request ? input.url : input).endsWith(stage)
        ? fault(input instanceof Request ? input.signal : init?.signal)
        : new Response('{"decision":"allow"}'),
  })
}

export const echo = (text: string): ModelCall => ({ tool: "echo", args: { text } })
export const search: ModelCall = { tool: "search", args: { query: "x" } }

/** What every framework must do. */
export function enforceCases(framework: Framework): void {
  const { callIds = /^toolu_\d+_\d+$/ } = framework
  describe(framework.name, () => {
    test("a call is allowed, one rewritten, one denied, and one output is blocked, in one run", async () => {
      const { policy, asked, allowed } = recorded(rules())
      const calls = [echo("hello"), echo("change me"), echo("forbidden"), search]
      const { ran, seen, sent, error } = await runScene(framework, policy, calls)
      expect(error).toBeUndefined()
      expect(ran).toEqual([`echo ${allowed[0]}`, `echo ${allowed[1]}`, `search ${allowed[2]}`])
      expect(ran[1]).toBe('echo {"text":"changed \u2713"}')
      expect(seen).toHaveLength(4)
      expect(seen[0]).toContain("echo hello")
      expect(seen[1]).toContain("echo changed \u2713")
      expect(seen[2]).toContain("That word is not allowed.")
      expect(seen[3]).toContain("That is a secret.")
      expect(sent).not.toContain("SECRET-7")
      expect(asked.every(({ toolUseId }) => callIds.test(toolUseId ?? ""))).toBe(true)
    })

    test("an exception is shown if its message may be passed on", async () => {
      const { ran, sent } = await runScene(framework, rules(), [echo("throw plainly")])
      expect(ran).toHaveLength(1)
      expect(sent).toContain(framework.ofException)
    })

    test("an exception with a blocked message is not shown", async () => {
      const { ran, sent, seen } = await runScene(framework, blockingFailures(), [echo("throw plainly")])
      expect(ran).toHaveLength(1)
      expect(sent).not.toContain("failed: throw")
      if (framework.goesOnAfterBlockedFailure !== false) expect(seen.join()).toContain("is withheld")
    })

    test.each(Object.entries(faults))("a service that %s before the call: nothing runs", async (_name, fault) => {
      const { ran, seen } = await runScene(framework, faulty(fault, "pre-tool"), [echo("hello"), search])
      expect(ran).toEqual([])
      expect(seen).toHaveLength(2)
    })

    test.each(Object.entries(faults))("a service that %s after the call: no output is shown", async (_name, fault) => {
      const { ran, sent } = await runScene(framework, faulty(fault, "post-tool"), [search])
      expect(ran).toEqual(['search {"query":"x"}'])
      expect(sent).not.toContain("SECRET-7")
    })

    test("a policy with an unknown verdict: nothing runs", async () => {
      // Safe: the test is about a policy that does not keep its type.
      const wrong = { decision: "ALLOW", reason: "" } as unknown as Awaited<ReturnType<ToolPolicy["preTool"]>>
      const policy: ToolPolicy = { preTool: async () => wrong, postTool: async () => wrong }
      const { ran, seen } = await runScene(framework, policy, [echo("hello")])
      expect(ran).toEqual([])
      expect(seen).toHaveLength(1)
    })
  })
}

/** Blocks what failed tools say. The model's own arguments contain nothing of it. */
const blockingFailures = (): ToolPolicy => ({
  preTool: async () => ({ decision: "allow" }),
  postTool: async (_use, { toolOutput = "" }) =>
    toolOutput.includes("failed: throw")
      ? { decision: "block", reason: "The failure is withheld." }
      : { decision: "allow" },
})
