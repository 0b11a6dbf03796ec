import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { commandLine, statusOnStderr } from "../../test/support/command-line.ts"
import { until } from "../../test/support/watchdog.ts"
import type { RunResult } from "../contract/result.ts"
import type { SimulatorOptions } from "../testing/index.ts"

const { place, start, longhaul, json, simulate } = commandLine()

describe("run --json", () => {
  test("a done run prints one result on stdout, nothing on stderr, exit code 0", async () => {
    await simulate({
      script: ({ lastToolResults: [read] }) =>
        read ? `I read: ${read.text}` : { parts: [{ toolCall: { name: "Read", args: { path: "tide.txt" } } }] },
    })
    const { code, stdout, stderr } = await longhaul(["run", "--json", "When is high water?"])
    expect(code).toBe(0)
    expect(stderr).toBe("")
    expect(stdout.trimEnd()).not.toContain("\n")
    const result = JSON.parse(stdout) as RunResult
    expect(result).toMatchObject({ status: "done", turns: 2, toolCalls: [{ name: "Read", status: "ok" }] })
    expect(result.data).toBe("I read: 1\tHigh water is at 04:17.")
  })

  test.each([
    ["max_turns", ["--max-turns", "2"], {}],
    ["run_timeout", ["--timeout", "0.4"], { faults: () => ({ kind: "stall", atByte: 40 }) }],
    ["auth", [], { apiKey: "another" }],
    ["rate_limited", [], { faults: () => ({ kind: "status", status: 429, retryAfter: "0.01" }) }],
    ["stream_malformed", [], { faults: () => ({ kind: "malformed" }) }],
    // The run fails with the last of six attempts; the first five must not cost their delays here.
    [
      "stream_incomplete",
      [],
      {
        faults: [
          ...Array.from({ length: 5 }, () => ({ kind: "status", status: 429, retryAfter: "0" }) as const),
          { kind: "cut", atByte: 300 },
        ],
      },
    ],
  ] as const satisfies readonly (readonly [string, readonly string[], Partial<SimulatorOptions>])[])(
    "%s: run --json prints a failed result with its error, exit code 1",
    async (errorCode, options, behaviour) => {
      await simulate({ script: () => ({ parts: [{ toolCall: { name: "List", args: {} } }] }), ...behaviour })
      const { code, stdout } = await longhaul(["run", "--json", ...options, "Go on forever"])
      expect(code).toBe(1)
      expect(JSON.parse(stdout)).toMatchObject({ status: "failed", data: null, error: { code: errorCode } })
    },
  )

  test.each([
    ["a model that does not exist", ["--model", "nosuch", "hi"], 1],
    ["a workspace that does not exist", ["--workspace", "/nowhere/at/all", "hi"], 1],
    ["an unusable run id", ["--model", "offline", "--run-id", "../x", "hi"], 1],
    ["an unknown option", ["--modle", "offline", "hi"], 2],
    ["no task", [], 2],
  ])("%s: run --json still prints a result", async (_, options, exitCode) => {
    const { code, stdout } = await longhaul(["run", "--json", ...options])
    expect(code).toBe(exitCode)
    expect(JSON.parse(stdout)).toMatchObject({ status: "failed", turns: 0, error: { code: "config_invalid" } })
  })
})

describe("an interrupted run", () => {
  test("one SIGINT finishes the step and starts nothing new: cancelled, 130", async () => {
    let mayAnswer = false
    const { requests } = await simulate({
      async script() {
        await until(() => mayAnswer)
        return { parts: [{ text: "All said." }, { toolCall: { name: "Write", args: { path: "x", content: "x" } } }] }
      },
    })
    const running = start(["run", "--json", "Take your time"])
    await until(() => requests.length === 1)
    running.child.kill("SIGINT")
    await until(() => running.shown.stderr.includes("press again to stop now"))
    mayAnswer = true
    const { code, stdout } = await running.ended
    expect(code).toBe(130)
    expect(JSON.parse(stdout)).toMatchObject({
      status: "cancelled",
      text: "All said.",
      toolCalls: [{ name: "Write", status: "denied" }],
      error: { code: "cancelled" },
    })
  })

  test.each([
    ["SIGINT twice", ["SIGINT", "SIGINT"]],
    ["SIGTERM", ["SIGTERM"]],
  ] as const)("%s stops a run immediately and keeps the text so far: 130", async (_, signals) => {
    const text = "This much came before the line went quiet."
    await simulate({ script: () => text, faults: () => ({ kind: "stall", atByte: 700 }) })
    const running = start(["run", "--run-id", "stalled", "Take your time"], statusOnStderr)
    await until(() => running.shown.stderr.includes("writing"))
    for (const [index, each] of signals.entries()) {
      if (index > 0) {
        await until(() => running.shown.stdout.includes("press again to stop now"))
        // Two signals in quick succession count as one.
        await new Promise((resolve) => setTimeout(resolve, 60))
      }
      running.child.kill(each)
    }
    const { code, stdout, stderr } = await running.ended
    expect(code).toBe(130)
    expect(stdout).toContain("cancelled stalled")
    expect(stderr).toContain("error cancelled:")
    const kept = await json(["show", "--json", "stalled"])
    expect(kept).toMatchObject({ status: "cancelled", text: expect.stringMatching(/^This much/) })
  })
})

test("no control characters from a model or tool reach a pipe", async () => {
  await writeFile(join(place.workspace, "evil.txt"), "\u001b[2Jgone\u0007")
  await simulate({
    script: ({ lastToolResults: [read] }) =>
      read
        ? `\u001b[31mred\u001b[0m ${read.text}`
        : { parts: [{ toolCall: { name: "Read", args: { path: "evil.txt" } } }] },
  })
  const { stdout, stderr } = await longhaul(["run", "--run-id", "evil", "Read it"], { CI: "1" })
  const shown = await longhaul(["show", "evil"], { CI: "1" })
  expect(stdout).toContain("␛[31mred")
  expect(`${stdout}${stderr}${shown.stdout}`).not.toMatch(/(?![\n\t])\p{Cc}/u)
})

test("the program exits quietly when the reader of its output closes", async () => {
  const running = start(["run", "--model", "offline", "Read tide.txt"])
  running.child.stdout.destroy()
  const { stderr } = await running.ended
  expect(stderr).toBe("")
})

describe("usage errors", () => {
  test.each([
    [["shwo"], "Did you mean show?"],
    [["run", "--modle", "x", "hi"], "Did you mean --model?"],
    [["run", "--max-turns", "none", "hi"], "a whole number from 1"],
    [["runs", "extra"], "longhaul runs --help"],
    [["show"], "show <runId>"],
    [["simulate", "--fault", "gremlins"], "Use a status such as 429"],
  ])("%j exits with 2 and prints a fix", async (args, advice) => {
    const { code, stdout, stderr } = await longhaul(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
    expect(stderr.replaceAll(/node \S+main\.js/g, "longhaul")).toContain(advice)
  })

  test("an unknown run is not_found with a fix, exit code 1", async () => {
    const { code, stderr } = await longhaul(["show", "nothing"])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^error not_found: .*\nfix: .* runs/)
    expect(await json(["show", "--json", "nothing"])).toMatchObject({ error: { code: "not_found" } })
  })

  test("an empty store prints a hint how to start", async () => {
    expect((await longhaul(["runs"])).stdout).toMatch(/No runs yet.*\nStart one: .* run "/)
    expect(await json(["runs", "--json"])).toEqual([])
  })

  test("every command has help, and --version works", async () => {
    expect((await longhaul(["--help"])).stdout).toContain("Exit codes: 0 done, 1 failed")
    for (const name of ["run", "chat", "runs", "show", "logs", "cost", "simulate"]) {
      const { code, stdout } = await longhaul([name, "--help"])
      expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(`Usage: longhaul ${name} `) })
    }
    expect((await longhaul(["--version"])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })
})

test("simulate serves a provider that calls the client's tools, logs requests, injects faults and stops", async () => {
  const server = start(["simulate", "--json", "--fault", "429"])
  await until(() => server.shown.stdout.includes("\n"))
  const { environment } = JSON.parse(server.shown.stdout) as { environment: Record<string, string> }
  const { code, stdout } = await longhaul(["run", "--model", "anthropic:simulated", "Read tide.txt"], environment)
  expect(code).toBe(0)
  expect(stdout).toContain("↻ rate_limited")
  expect(stdout).toContain("High water is at 04:17.")
  server.child.kill("SIGINT")
  const ended = await server.ended
  expect(ended.code).toBe(0)
  const log = ended.stdout
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => JSON.parse(line))
  expect(log.map(({ status }) => status)).toEqual([429, 200, 200])
  expect(log[0]).toMatchObject({ type: "request", fault: "status", text: "Read tide.txt" })
})

describe("in a home folder that contains the state folder", () => {
  const atHome = { XDG_STATE_HOME: "" }

  test("a run works and stores its journal there, hidden from its tools", async () => {
    const looks = [
      ["Glob", { pattern: "**/*" }],
      ["List", { path: ".local/state/longhaul" }],
    ] as const
    await simulate({
      script: ({ messages }) => {
        const [name, args] = looks[messages.filter(({ role }) => role === "assistant").length] ?? []
        return name ? { parts: [{ toolCall: { name, args } }] } : "Done."
      },
    })
    const { stdout, stderr } = await longhaul(["run", "--json", "Look around"], atHome, place.home)
    expect(stderr).toBe("")
    const { status, transcript, toolCalls } = JSON.parse(stdout) as RunResult
    expect({ status, isThere: transcript.path.startsWith(join(place.home, ".local/state")) }).toEqual({
      status: "done",
      isThere: true,
    })
    expect(toolCalls[0]?.result).not.toContain("longhaul")
    expect(toolCalls[1]).toMatchObject({ status: "error", result: expect.stringContaining("denied") })
  })

  test("Bash without a sandbox is rejected with a fix", async () => {
    const { code, stderr } = await longhaul(["run", "--bash", "--model", "offline", "List"], atHome, place.home)
    expect(code).toBe(1)
    expect(stderr).toContain("commands without a sandbox could change them")
    expect(stderr).toMatch(/^fix: .*sandbox/m)
  })
})
