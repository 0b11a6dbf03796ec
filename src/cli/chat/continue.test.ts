import { mkdir, readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { commandLine, takenForTerminal } from "../../../test/support/command-line.ts"
import { until } from "../../../test/support/watchdog.ts"
import type { JsonObject } from "../../contract/json.ts"
import type { RunResult } from "../../contract/result.ts"
import type { SimulatedRequest } from "../../testing/index.ts"

const { place, start, longhaul, json, simulate } = commandLine()

const usage = { inputTokens: 1000, outputTokens: 100, cacheReadTokens: 0, cacheWriteTokens: 0 }

/** Knows the boat only from earlier messages; writes or runs what it is asked to. */
function boatman({ messages, lastUserText, lastToolResults: [result] }: SimulatedRequest) {
  const name = messages.map(({ text }) => /boat is the (\w+)/.exec(text)?.[1]).find((found) => found !== undefined)
  const call = (tool: string, args: JsonObject) => ({ parts: [{ toolCall: { name: tool, args } }], usage })
  if (result) return { parts: [{ text: `It says: ${result.text}` }], usage }
  if (lastUserText.startsWith("Write")) return call("Write", { path: "log.txt", content: "tide\n" })
  if (lastUserText.startsWith("Run")) return call("Bash", { command: "echo out at sea" })
  const text = lastUserText.startsWith("Which") ? `It is ${name ?? "not known to me"}.` : "Aye."
  return { parts: [{ text }], usage }
}

function chat(lines: readonly string[], args: readonly string[] = [], cwd?: string) {
  const running = start(["chat", ...args], {}, cwd)
  running.child.stdin.end(lines.map((line) => `${line}\n`).join(""))
  return running.ended
}

const projects = () => join(place.home, "state/longhaul/workspaces/default/.longhaul/projects")
const written = () => readFile(join(place.workspace, "log.txt"), "utf8").catch(() => undefined)

describe("a conversation", () => {
  test("a conversation is one run whose exchanges do not repeat earlier messages", async () => {
    await simulate({ script: boatman })
    await chat(["My boat is the Petrel.", "Hello.", "Which boat is mine?"], ["--run-id", "c"])
    const nodes = join(projects(), "c/nodes")
    expect((await readdir(nodes)).sort()).toEqual(["main", "main__2", "main__3"])
    const [shard = ""] = await readdir(join(nodes, "main__3"))
    const journal = await readFile(join(nodes, "main__3", shard), "utf8")
    expect(journal).toContain("Which boat is mine?")
    expect(journal).not.toContain("My boat")
  })

  test("another process continues the last conversation of the folder, or the one named by an id prefix", async () => {
    await simulate({ script: boatman })
    await chat(["My boat is the Petrel."], ["--run-id", "petrel-talk"])
    await chat(["My boat is the Tern."], ["--run-id", "tern-talk"])
    const elsewhere = join(place.home, "elsewhere")
    await mkdir(elsewhere)
    await chat(["My boat is the Gull."], ["--run-id", "gull-talk"], elsewhere)
    expect((await chat(["Which boat is mine?"], ["--continue"])).stdout).toBe("It is Tern.\n")
    expect((await chat(["Which boat is mine?"], ["--continue", "pet"])).stdout).toBe("It is Petrel.\n")
    expect((await chat(["Which boat is mine?"], ["--continue"])).stdout).toBe("It is Petrel.\n")
    expect((await chat(["Which boat is mine?"], ["--continue", "--workspace", elsewhere])).stdout).toBe("It is Gull.\n")
    const unknown = await chat(["Hello."], ["--continue", "albatross"])
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining("error not_found:") })
  })

  test("an argument after --continue that cannot be an id is a message", async () => {
    await simulate({ script: boatman })
    await chat(["My boat is the Petrel."])
    expect((await longhaul(["chat", "--continue", "Which boat is mine?"])).stdout).toBe("It is Petrel.\n")
    expect((await longhaul(["chat", "--continue=", "Which"])).stdout).toBe("It is Petrel.\n")
    const none = await longhaul(["chat", "--continue"], {}, place.home)
    expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining("There is no conversation in") })
  })

  test("a chat continues from a run with the run's settings", async () => {
    const { requests } = await simulate({ script: boatman })
    await longhaul(["run", "--system", "Be brief.", "--tools", "Read", "--run-id", "r", "My boat is the Petrel."])
    await chat(["Which boat is mine?"], ["--continue", "r"])
    expect(requests[1]).toMatchObject({ system: "Be brief." })
    expect(requests[1]?.tools.map(({ name }) => name)).toEqual(["Read"])
    await chat(["Hello."], ["--continue", "r", "--bash", "--system", "Be kind."])
    expect(requests[2]).toMatchObject({ system: "Be kind." })
    expect(requests[2]?.tools.map(({ name }) => name)).toEqual(["Read", "Bash"])
  })

  test("a conversation is not continued from a store that only a config file names", async () => {
    await simulate({ script: boatman })
    const store = join(place.workspace, "planted")
    await chat(["My boat is the Petrel."], ["--store", store, "--run-id", "c"])
    const config = join(place.workspace, "own.json")
    await writeFile(config, '{ "store": "planted" }')
    const { code, stderr } = await chat(["Hello."], ["--config", config, "--continue", "c"])
    expect(code).toBe(1)
    expect(stderr).toContain("add: --store")
  })
})

describe("run options in a chat", () => {
  test("--ask pauses in a pipe and ends the chat with 3; after the decision it continues and asks again", async () => {
    await simulate({ script: boatman })
    const args = ["--ask", "Write", "--run-id", "c"]
    const { code, stdout } = await chat(["Hello.", "Write it down.", "Never said."], args)
    expect(code).toBe(3)
    expect(stdout).toContain("approve c")
    expect(stdout).toContain("chat --continue c")
    expect(await chat(["Hello."], ["--continue", "c"])).toMatchObject({ code: 3 })
    expect(await written()).toBeUndefined()
    expect((await longhaul(["approve", "c"])).code).toBe(0)
    expect(await written()).toBe("tide\n")
    expect((await chat(["Write it again."], ["--continue", "c"])).code).toBe(3)
  })

  test("--bash, --read-only, --tools and --max-tokens apply to every message and in the next process", async () => {
    const { requests } = await simulate({ script: boatman })
    const { stdout } = await chat(["Hello.", "Run it."], ["--bash", "--run-id", "c"])
    expect(stdout).toContain("It says: out at sea")
    expect((await chat(["Run it."], ["--continue", "c"])).stdout).toContain("It says: out at sea")
    await chat(["Hello."], ["--read-only", "--run-id", "d"])
    await chat(["Hello."], ["--continue", "d"])
    const names = requests.slice(-2).map(({ tools }) => tools.map(({ name }) => name))
    expect(names).toEqual([
      ["Read", "List", "Glob", "Grep"],
      ["Read", "List", "Glob", "Grep"],
    ])
    const limited = await chat(["Read it.", "Write it."], ["--max-tokens", "1000"])
    expect(limited).toMatchObject({ code: 1, stderr: expect.stringContaining("--max-tokens") })
  })

  test("a paused conversation asks its question when it is continued at a terminal", async () => {
    await simulate({ script: boatman })
    await chat(["Write it down."], ["--ask", "Write", "--run-id", "c"])
    const running = start(["chat", "--continue"], takenForTerminal)
    await until(() => running.shown.stdout.includes("y/n/a/e? "))
    expect(running.shown.stdout).toContain("+ tide")
    running.child.stdin.write("y\r")
    await until(() => running.shown.stdout.includes("It says: Created log.txt"))
    expect(await written()).toBe("tide\n")
    running.child.stdin.end("/exit\r")
    expect((await running.ended).code).toBe(0)
  })

  test("a conversation whose process was killed finishes its last exchange first", async () => {
    let isHeld = true
    await simulate({
      async script(request) {
        if (request.lastUserText === "Take long.") await until(() => !isHeld)
        return boatman(request)
      },
    })
    const killed = start(["chat", "--run-id", "c"])
    killed.child.stdin.write("My boat is the Petrel.\nTake long.\n")
    await until(() => killed.shown.stdout.includes("Aye."))
    while (!(await longhaul(["logs", "c", "--node", "main__2"])).stdout.includes("turn-start"));
    killed.child.kill("SIGKILL")
    await killed.ended
    isHeld = false
    const { code, stdout } = await chat(["Which boat is mine?"], ["--continue", "c"])
    expect(code).toBe(0)
    expect(stdout).toBe("Aye.\nIt is Petrel.\n")
  })
})

describe("commands on a conversation", () => {
  const hold = async () => {
    await simulate({ script: boatman })
    await chat(["My boat is the Petrel.", "Write it down."], ["--ask", "Write", "--run-id", "c"])
  }

  test("runs shows one row per conversation with the status of the last exchange and the number of exchanges", async () => {
    await hold()
    const [row, ...others] = (await json(["runs", "--json"])) as readonly JsonObject[]
    expect(others).toEqual([])
    expect(row).toMatchObject({ runId: "c", status: "paused", exchanges: 2, turns: 2, task: "My boat is the Petrel." })
    expect((await longhaul(["runs"])).stdout).toContain("My boat is the Petrel. (+1)")
    expect(await json(["runs", "--status", "done", "--json"])).toEqual([])
  })

  test("show, logs and replay cover all exchanges, or the named one", async () => {
    await hold()
    const results = (await longhaul(["show", "c", "--json"])).stdout.trimEnd().split("\n")
    expect(results.map((line) => (JSON.parse(line) as RunResult).nodeId)).toEqual(["main", "main__2"])
    expect((await longhaul(["show", "c"])).stdout).toMatch(/My boat is the Petrel\..*Write it down\..*approve c/s)
    expect((await longhaul(["show", "c", "--node", "main"])).stdout).not.toContain("Write it down.")
    const logs = (await longhaul(["logs", "c"])).stdout
    expect(logs.match(/run-start/g)).toHaveLength(2)
    expect((await longhaul(["logs", "c", "--after", "0"])).stdout).not.toContain("My boat")
    expect((await longhaul(["replay", "c"])).stdout).toContain("Aye.")
  })

  test("reject, resume and cancel act on the last exchange", async () => {
    await hold()
    expect((await longhaul(["reject", "c", "--reason", "Not today."])).stdout).toContain("Not today.")
    await chat(["Write it down."], ["--continue", "c"])
    expect((await longhaul(["resume", "c", "--answer", "Written by hand."])).stdout).toContain("Written by hand.")
    await chat(["Write it down."], ["--continue", "c"])
    expect((await longhaul(["cancel", "c"])).stdout).toContain("c is cancelled.")
    expect(await json(["runs", "--json"])).toMatchObject([{ status: "cancelled", exchanges: 4 }])
    expect(await written()).toBeUndefined()
  })

  test("cost counts all exchanges as one run, fork copies the messages, rm deletes all", async () => {
    await hold()
    const cost = await json(["cost", "--by", "run", "--json"])
    expect(cost).toMatchObject({ rows: [{ run: "c", runs: 1, turns: 2 }], total: { runs: 1, turns: 2 } })
    await longhaul(["cancel", "c"])
    await chat(["Hello."], ["--continue", "c"])
    await longhaul(["fork", "c", "--id", "f"])
    expect((await longhaul(["resume", "f", "--answer", "Which boat is mine?", "--quiet"])).stdout).toBe(
      "It is Petrel.\n",
    )
    expect(await json(["rm", "c", "--yes", "--json"])).toEqual({ removed: ["c"], kept: [] })
    expect(await json(["runs", "--json"])).toMatchObject([{ runId: "f" }])
    expect((await longhaul(["show", "c"])).stderr).toContain("not_found")
  })

  test("rm --older-than counts from the last exchange", async () => {
    await hold()
    expect(await json(["rm", "--older-than", "0h", "--status", "done", "--yes", "--json"])).toEqual({
      removed: [],
      kept: [],
    })
    expect(await json(["runs", "--json"])).toMatchObject([{ exchanges: 2 }])
  })
})
