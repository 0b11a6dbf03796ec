import { describe, expect, test } from "vitest"
import type { Json, JsonObject } from "../src/contract/json.ts"
import type { Policy } from "../src/contract/policy.ts"
import { act, acting, asker, calls, part, pauses, processOver, service, stores } from "./support/approval-scene.ts"
import { countAttacks } from "./support/count-attacks.ts"

countAttacks("approvals beyond their scope")

describe.each(stores)("with a store in %s", (_name, newStore) => {
  describe("an `always` that is stretched", () => {
    const bash = (ran: Json[]) => acting(ran, { name: "Bash" })

    /** Allows `git diff *` for the run, then tries the calls. Returns the calls that ran without another question. */
    async function afterAlways(...tried: ReturnType<typeof part>[]) {
      const ran: Json[] = []
      const { requests, onAsk } = asker({ decision: "always" }, ...tried.map(() => ({ decision: "deny" }) as const))
      const steps = [calls(part("Bash", { command: "git diff" })), ...tried.map((each) => calls(each)), "end"]
      const tools = [bash(ran), acting(ran)]
      const { runtime } = processOver(newStore(), steps, { policy: { onAsk }, tools })
      await runtime.run({ task: "go", limits: { turns: 100 } })
      expect(requests[0]?.always).toEqual({ tool: "Bash", command: "git diff *" })
      return ran.slice(1)
    }

    test.each([
      "git diff; rm -rf x",
      "git diff && rm x",
      "git diff || rm x",
      "git diff | sh",
      "git diff & rm x",
      "git diff\nrm x",
      "git diff $(rm x)",
      "git diff `rm x`",
      "git diff <(rm x)",
      'git diff "$(rm x)"',
      "git diff > /etc/passwd",
      "git diff >> ~/.bashrc",
      "GIT_EXTERNAL_DIFF=rm git diff",
      "git -C /elsewhere diff",
      "git -c diff.external=rm diff",
      "git push",
      "git diffx",
      "git",
      "diff",
      "./git diff",
      "/tmp/git diff",
      "sudo git diff",
      "git\u00a0diff",
      "git diff $X;rm x",
      "git diff $((x[$(rm x)]))",
      "git diff <<< $(rm x)",
    ])("`git diff *` does not cover %j", async (command) => {
      expect(await afterAlways(part("Bash", { command }))).toEqual([])
    })

    test("`git diff *` covers `git diff --stat`, so the attacks above fail for what they add", async () => {
      expect(await afterAlways(part("Bash", { command: "git diff --stat" }))).toHaveLength(1)
    })

    test("an `always` covers no other tool with the same arguments", async () => {
      expect(await afterAlways(part("act", { command: "git diff" }))).toEqual([])
    })

    test("an `always` covers no other run", async () => {
      const store = newStore()
      const first = asker({ decision: "always" })
      await processOver(store, [act(), "end"], { policy: { onAsk: first.onAsk } }).runtime.run({ task: "go" })
      const other = processOver(store, [act(), "end"])
      await other.runtime.run({ task: "go" })
      expect(other.ran).toEqual([])
    })

    test("an `always` covers no other node of the run", async () => {
      const store = newStore()
      const first = asker({ decision: "always" })
      const policy = { onAsk: first.onAsk }
      await processOver(store, [act(), "end"], { policy }).runtime.run({ task: "go", runId: "r" })
      const other = processOver(store, [act(), "end"])
      await other.runtime.run({ task: "go", runId: "r", nodeId: "child" })
      expect(other.ran).toEqual([])
    })

    test("an `always` covers no fork that was made before it", async () => {
      const store = newStore()
      const first = processOver(store, [act({ n: 1 })], pauses)
      await first.runtime.run({ task: "go", runId: "r" })
      const fork = await first.runtime.fork("r")
      await processOver(store, ["end"], pauses).runtime.resume({ runId: "r", decision: "always" })
      const other = processOver(store, [act({ n: 2 }), "end"], pauses)
      const result = await other.runtime.resume({ runId: fork.runId, decision: "approve" })
      expect([other.ran, result.status]).toEqual([[{ n: 1 }], "paused"])
    })

    test("an `always` does not answer the question of a rule or of a service, now or later", async () => {
      for (const asking of [
        { rules: [{ ask: { tool: "act", args: { "/n": "2" } } }] },
        { services: [service({ decision: "ask", reason: "sure?" })] },
      ] satisfies Policy[]) {
        const { requests, onAsk } = asker({ decision: "always" }, { decision: "deny" })
        const policy = { ...asking, onAsk }
        const { ran, runtime } = processOver(newStore(), [act({ n: 1 }), act({ n: 2 }), "end"], { policy })
        await runtime.run({ task: "go" })
        expect([ran, requests.length, requests[1]?.always]).toEqual([[{ n: 1 }], 2, undefined])
      }
    })
  })

  describe("a permission of one stage against another stage", () => {
    async function statusUnder(policy: Policy, args: JsonObject = { usd: 5 }) {
      const { ran, runtime } = processOver(newStore(), [act(args), "end"], { policy })
      const { status, toolCalls } = await runtime.run({ task: "go" })
      return { ran, outcome: status === "paused" ? status : toolCalls[0]?.status }
    }
    const approves = () => ({ decision: "approve" }) as const
    const denyLarge = [{ deny: { tool: "act", args: { "/usd": "5000" } } }]

    test.each<[string, Policy]>([
      ["a pre-approval does not answer an ask rule", { preApproved: ["act"], rules: [{ ask: { tool: "act" } }] }],
      [
        "a pre-approval does not answer a service that asks",
        { preApproved: ["act"], services: [service({ decision: "ask", reason: "sure?" })] },
      ],
      ["a pre-approval does not answer a deny rule", { preApproved: ["act"], rules: [{ deny: { tool: "act" } }] }],
      ["mode auto does not answer an ask rule", { mode: "auto", rules: [{ ask: { tool: "act" } }] }],
      [
        "mode auto does not answer a service that asks",
        { mode: "auto", services: [service({ decision: "ask", reason: "sure?" })] },
      ],
      [
        "a service that allows does not outvote a deny rule",
        { onAsk: approves, services: [service({ decision: "allow" })], rules: [{ deny: { tool: "act" } }] },
      ],
      [
        "a rule that allows does not outvote a service that denies",
        {
          onAsk: approves,
          services: [service({ decision: "deny", reason: "no" })],
          rules: [{ allow: { tool: "act" } }],
        },
      ],
      [
        "a service that allows does not outvote another that denies",
        {
          onAsk: approves,
          services: [service({ decision: "allow" }), service({ decision: "deny", reason: "no" })],
          rules: [{ allow: { tool: "act" } }],
        },
      ],
      [
        "a service cannot rewrite a call into one that a rule denies",
        { onAsk: approves, rules: denyLarge, services: [service({ decision: "allow", args: { usd: 5000 } })] },
      ],
      [
        "two services that rewrite in turn end in a denial",
        {
          onAsk: approves,
          services: [
            service({ decision: "allow", args: { usd: 1 } }),
            service({ decision: "allow", args: { usd: 2 } }),
          ],
        },
      ],
      [
        "a callback cannot approve arguments that a rule denies",
        { rules: denyLarge, onAsk: () => ({ decision: "approve", args: { usd: 5000 } }) },
      ],
      [
        "a callback cannot approve arguments that the tool does not take",
        { onAsk: () => ({ decision: "approve", args: [5] }) },
      ],
      ["a callback is not asked in mode deny", { mode: "deny", onAsk: approves, rules: [{ ask: { tool: "act" } }] }],
      // Safe: a service may be written in JavaScript.
      ["a service that returns nothing", { onAsk: approves, services: [service(() => undefined as never)] }],
      ["a service that returns a text", { onAsk: approves, services: [service(() => "allow" as never)] }],
      [
        "a service with an unknown verdict",
        { onAsk: approves, services: [service(() => ({ decision: "ALLOW" }) as never)] },
      ],
      [
        "a service that throws at once",
        {
          onAsk: approves,
          services: [
            {
              decide: () => {
                throw new Error("down")
              },
              scan: async () => ({ decision: "allow" }),
            },
          ],
        },
      ],
      [
        "a service that is not asynchronous",
        {
          onAsk: approves,
          services: [{ decide: () => "no" as never, scan: async () => ({ decision: "allow" }) }],
        },
      ],
    ])("%s: nothing runs", async (_what, policy) => {
      expect(await statusUnder(policy)).toEqual({ ran: [], outcome: "denied" })
    })

    test("a policy that became stricter between two processes precedes an approval", async () => {
      for (const policy of [
        { rules: [{ deny: { tool: "act" } }] },
        { services: [service({ decision: "deny", reason: "no" })] },
        { default: "deny" },
      ] satisfies Policy[]) {
        const store = newStore()
        await processOver(store, [act()], pauses).runtime.run({ task: "go", runId: "r" })
        const second = processOver(store, ["end"], { policy })
        const result = await second.runtime.resume({ runId: "r", decision: "approve" })
        expect([second.ran, result.toolCalls[0]?.status]).toEqual([[], "denied"])
      }
    })

    test("arguments that a person edited at a pause are denied by a rule that matches them", async () => {
      const store = newStore()
      const policy: Policy = { ask: "pause", rules: denyLarge }
      await processOver(store, [act({ usd: 5 })], { policy }).runtime.run({ task: "go", runId: "r" })
      const second = processOver(store, ["end"], { policy })
      const result = await second.runtime.resume({ runId: "r", decision: "approve", args: { usd: 5000 } })
      expect([second.ran, result.toolCalls[0]?.status]).toEqual([[], "denied"])
    })
  })
})
