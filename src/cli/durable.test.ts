import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { commandLine } from "../../test/support/command-line.ts"
import { until } from "../../test/support/watchdog.ts"
import type { JsonObject } from "../contract/json.ts"
import type { RunResult } from "../contract/result.ts"
import type { RunState } from "../contract/runtime.ts"

const { place, start, longhaul, json, simulate } = commandLine()

const parts = (name: string, args: JsonObject) => ({ parts: [{ toolCall: { name, args } }] })

/** Writes a file, then reports the result. */
const writes = {
  script: ({ lastToolResults: [written] }: { readonly lastToolResults: readonly { readonly text: string }[] }) =>
    written ? `It says: ${written.text}` : parts("Write", { path: "out.txt", content: "tide" }),
}
const paused = () => longhaul(["run", "--ask", "Write", "--run-id", "r", "Write it down"])
const written = () => readFile(join(place.workspace, "out.txt"), "utf8").catch(() => undefined)
const status = async (runId = "r") => (await json(["show", "--json", runId])) as RunState

describe("a paused run", () => {
  test("a paused run prints its pending call and the commands to decide it, and the commands work", async () => {
    await simulate(writes)
    const { code, stdout } = await paused()
    expect(code).toBe(3)
    expect(stdout).toContain("Write needs approval.")
    expect(stdout).toContain('Write {"path":"out.txt","content":"tide"}')
    expect(await written()).toBeUndefined()
    const [, command = ""] = /next +node \S+ (approve .*)/.exec(stdout) ?? []
    expect(command).toBe("approve r")
    const approved = await longhaul(command.split(" "))
    expect(approved.code).toBe(0)
    expect(approved.stdout).toContain("It says: Created out.txt")
    expect(await written()).toBe("tide")
  })

  test("show and both processes report the same paused result", async () => {
    await simulate(writes)
    const { code, stdout } = await longhaul(["run", "--json", "--ask", "Write", "--run-id", "r", "Write it down"])
    expect(code).toBe(3)
    const result = JSON.parse(stdout) as RunResult
    expect(result).toMatchObject({
      status: "paused",
      pause: { reason: "approval", pendingToolCall: { name: "Write" } },
    })
    expect(await status()).toEqual(result)
    expect((await longhaul(["show", "r"])).stdout).toContain("approve r")
  })

  test("a resumed run asks for the same approvals", async () => {
    let calls = 0
    await simulate({ script: () => (++calls > 2 ? "Done." : parts("Write", { path: `${calls}.txt`, content: "x" })) })
    expect((await paused()).code).toBe(3)
    const again = await longhaul(["approve", "r"])
    expect(again.code).toBe(3)
    expect(again.stdout).toContain('"path":"2.txt"')
    expect((await longhaul(["approve", "r", "--quiet"])).stdout).toBe("Done.\n")
  })

  test.each(["--json", "--json --quiet"])(
    "approve %s that leads to a second pause prints one JSON value on one line, and so does the end",
    async (options) => {
      let calls = 0
      await simulate({ script: () => (++calls > 2 ? "Done." : parts("Write", { path: `${calls}.txt`, content: "x" })) })
      expect((await paused()).code).toBe(3)
      for (const [code, status] of [
        [3, "paused"],
        [0, "done"],
      ]) {
        const again = await longhaul(["approve", "r", ...options.split(" ")])
        expect(again).toMatchObject({ code, stderr: "" })
        expect(again.stdout).toMatch(/^[^\n]+\n$/)
        expect(JSON.parse(again.stdout)).toMatchObject({ status })
      }
    },
  )

  test("a paused run continues in its original folder, from any folder", async () => {
    await simulate(writes)
    await paused()
    expect((await longhaul(["approve", "r"], {}, place.home)).code).toBe(0)
    expect(await written()).toBe("tide")
  })

  test("an approved call runs with the edited arguments", async () => {
    await simulate(writes)
    await paused()
    const args = JSON.stringify({ path: "out.txt", content: "ebb" })
    const { code, stdout } = await longhaul(["approve", "r", "--args", args])
    expect(code).toBe(0)
    expect(stdout).toContain("a reviewer changed")
    expect(await written()).toBe("ebb")
    expect((await longhaul(["approve", "r", "--args", "{"])).code).toBe(2)
  })

  test("a denied call returns the reason to the model", async () => {
    await simulate(writes)
    await paused()
    const { code, stdout } = await longhaul(["reject", "r", "--reason", "Not today."])
    expect(code).toBe(0)
    expect(stdout).toContain("Not today.")
    expect(await written()).toBeUndefined()
  })

  test("of two concurrent approvals one resumes the run, the other is rejected with the reason", async () => {
    await simulate(writes)
    await paused()
    const both = await Promise.all([longhaul(["approve", "r", "--json"]), longhaul(["approve", "r", "--json"])])
    expect(both.map(({ code }) => code).sort()).toEqual([0, 1])
    const lost = both.find(({ code }) => code === 1)
    expect(`${lost?.stdout}${lost?.stderr}`).toMatch(/fenced|run_active|invalid_state|approval_stale/)
    expect((await status()).toolCalls.filter(({ status: outcome }) => outcome === "ok")).toHaveLength(1)
  })

  test("a stale ticket, or a decision without a pending call, is rejected", async () => {
    await simulate(writes)
    await paused()
    expect((await longhaul(["approve", "r", "--ticket", "x"])).stderr).toContain("approval_stale")
    await longhaul(["approve", "r"])
    const late = await longhaul(["approve", "r"])
    expect(late.code).toBe(1)
    expect(late.stderr).toContain("is not waiting for a decision")
  })

  test("a question of the model is answered with resume --answer", async () => {
    await simulate({
      script: ({ lastToolResults: [answer] }) =>
        answer ? `You said ${answer.text}` : parts("AskUser", { question: "Which tide?" }),
    })
    const asked = await longhaul(["run", "--run-id", "r", "Ask me"])
    expect(asked.code).toBe(3)
    expect(asked.stdout).toContain("Which tide?")
    expect(asked.stdout).not.toContain("approve")
    expect((await longhaul(["resume", "r"])).stderr).toContain("invalid_state")
    const answered = await longhaul(["resume", "r", "--answer", "The next one."])
    expect(answered.code).toBe(0)
    expect(answered.stdout).toContain("You said The next one.")
  })
})

describe("from another process", () => {
  const slow = { script: () => parts("Bash", { command: "sleep 30" }) }
  const running = async () => {
    const run = start(["run", "--json", "--bash", "--run-id", "r", "Sleep"])
    for (let seen = ""; !seen.includes("tool-intent"); ) seen = (await longhaul(["logs", "r"])).stdout
    return run
  }

  test("cancel stops an active run in another process, with its running command", async () => {
    await simulate(slow)
    const run = await running()
    const told = await longhaul(["cancel", "r"])
    expect(told.code).toBe(0)
    const { code, stdout } = await run.ended
    expect(code).toBe(130)
    expect(JSON.parse(stdout)).toMatchObject({ status: "cancelled" })
    expect(await longhaul(["cancel", "r"])).toMatchObject({ code: 1 })
  })

  test("a run whose process was killed is found by recover and resumed", async () => {
    let asked = 0
    await simulate({ script: () => (++asked > 1 ? "I will check." : parts("Bash", { command: "sleep 30" })) })
    const run = await running()
    run.child.kill("SIGKILL")
    await run.ended
    expect((await status()).status).toBe("running")
    expect((await longhaul(["recover"])).stdout).toContain("r  next:")
    expect(await status()).toMatchObject({ status: "failed", error: { code: "orphaned" } })
    const resumed = await longhaul(["resume", "r", "--json"])
    expect(JSON.parse(resumed.stdout)).toMatchObject({ status: "done", toolCalls: [{ status: "unknown" }] })
  })

  test("a run whose process was killed is resumed without recover, because its owner is known to be dead", async () => {
    let asked = 0
    await simulate({ script: () => (++asked > 1 ? "I will check." : parts("Bash", { command: "sleep 30" })) })
    const run = await running()
    run.child.kill("SIGKILL")
    await run.ended
    expect((await longhaul(["resume", "r"])).code).toBe(0)
  })
})

describe("ended runs", () => {
  test("a forked run continues from the fork point", async () => {
    await simulate(writes)
    await longhaul(["run", "--run-id", "r", "Write it down"])
    const forked = await longhaul(["fork", "r", "--id", "f"])
    expect(forked.stdout).toContain('resume f --answer "…"')
    const { code } = await longhaul(["resume", "f", "--answer", "And once more."])
    expect(code).toBe(0)
    expect(await status("f")).toMatchObject({ status: "done" })
    expect((await longhaul(["fork", "r", "--at", "99999"])).stderr).toContain("has no record")
  })

  test("a run is replayed without model calls", async () => {
    const simulator = await simulate(writes)
    await longhaul(["run", "--run-id", "r", "Write it down"])
    const before = simulator.requests.length
    const { code, stdout } = await longhaul(["replay", "r"])
    expect(code).toBe(0)
    expect(stdout).toContain("It says: Created out.txt")
    const lines = (await longhaul(["replay", "r", "--json"])).stdout.trimEnd().split("\n")
    expect(JSON.parse(lines.at(-1) ?? "")).toEqual(await status())
    expect(simulator.requests).toHaveLength(before)
  })

  test("rm deletes ended runs, but never an active one", async () => {
    await simulate(writes)
    await longhaul(["run", "--run-id", "r", "Write it down"])
    await longhaul(["run", "--run-id", "s", "Write it down"])
    expect((await longhaul(["rm", "r"])).code).toBe(2)
    expect(await json(["rm", "r", "--yes", "--json"])).toEqual({ removed: ["r"], kept: [] })
    expect((await longhaul(["show", "r"])).stderr).toContain("not_found")
    expect(await json(["runs", "--json"])).toMatchObject([{ runId: "s" }])
    expect(await json(["rm", "--older-than", "1h", "--yes", "--json"])).toEqual({ removed: [], kept: [] })
    expect(await json(["rm", "--older-than", "0h", "--status", "done", "--yes", "--json"])).toMatchObject({
      removed: ["s"],
    })
    const folder = join(place.home, "state/longhaul/workspaces/default/.longhaul/projects/r/nodes/main")
    expect(await readdir(folder)).toEqual(["000001.jsonl"])
  })

  test("runs --status filters, and runs --watch shows changes", async () => {
    await simulate(writes)
    await paused()
    expect(await json(["runs", "--status", "done", "--json"])).toEqual([])
    const watch = start(["runs", "--watch"])
    await until(() => watch.shown.stdout.includes("paused"))
    await longhaul(["approve", "r"])
    await until(() => watch.shown.stdout.includes("done"))
    watch.child.kill("SIGINT")
    expect((await watch.ended).code).toBe(130)
  })
})
