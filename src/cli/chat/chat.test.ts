import { mkdir, readdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { describe, expect, test } from "vitest"
import { commandLine } from "../../../test/support/command-line.ts"
import { detourTo } from "../../../test/support/detour.ts"
import type { RunResult } from "../../contract/result.ts"
import type { SimulatedRequest } from "../../testing/index.ts"

const { place, start, json, longhaul, simulate } = commandLine()

function chat(
  lines: readonly string[],
  args: readonly string[] = [],
  variables: Readonly<Record<string, string>> = {},
) {
  const running = start(["chat", ...args], variables)
  running.child.stdin.end(lines.map((line) => `${line}\n`).join(""))
  return running.ended
}

const usage = { inputTokens: 1000, outputTokens: 100, cacheReadTokens: 0, cacheWriteTokens: 0 }

/** Knows the boat only from earlier messages. */
function boatman({ messages, lastUserText, lastToolResults: [read] }: SimulatedRequest) {
  const name = messages.map(({ text }) => /boat is the (\w+)/.exec(text)?.[1]).find((found) => found !== undefined)
  const parts =
    lastUserText.startsWith("Read") && !read
      ? [{ toolCall: { name: "Read", args: { path: "tide.txt" } } }]
      : [{ text: lastUserText.startsWith("Which") ? `It is ${name ?? "not known to me"}.` : "Aye." }]
  return { parts, usage }
}

describe("chat in a pipe", () => {
  test("each line of a chat is an exchange that continues from the previous ones", { tags: ["OBS-08"] }, async () => {
    const { requests } = await simulate({ script: boatman })
    const { code, stdout, stderr } = await chat(["My boat is the Petrel.", "", "Read the tide.", "Which boat is mine?"])
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout.replaceAll(/ \d+ms\n/g, "\n")).toBe("Aye.\n✓ Read tide.txt\nAye.\nIt is Petrel.\n")
    const last = requests.at(-1)?.messages ?? []
    expect(last.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
      "tool",
      "assistant",
      "user",
    ])
    expect(last.flatMap(({ toolResults }) => toolResults)).toMatchObject([{ text: "1\tHigh water is at 04:17." }])
    expect(await json(["runs", "--json"])).toMatchObject([
      { task: "My boat is the Petrel.", status: "done", exchanges: 3, turns: 4 },
    ])
  })

  test("/clear starts a new conversation, and /turns counts from there", { tags: ["OBS-08"] }, async () => {
    await simulate({ script: boatman })
    const lines = [
      "My boat is the Petrel.",
      "Read the tide.",
      "/turns",
      "/clear",
      "/turns",
      "Which boat is mine?",
      "/turns",
    ]
    const { stdout } = await chat(lines, ["--max-turns", "7"])
    const told = stdout.split("\n").filter((line) => /turn|Cleared|It is/.test(line))
    expect(told).toEqual([
      "3 turns in this conversation; at most 7 per message.",
      expect.stringContaining("Cleared."),
      "0 turns in this conversation; at most 7 per message.",
      "It is not known to me.",
      "1 turn in this conversation; at most 7 per message.",
    ])
  })

  test("a chat with one message as argument answers it without waiting for more", { tags: ["OBS-08"] }, async () => {
    const { requests } = await simulate({ script: boatman })
    const { code, stdout } = await longhaul(["chat", "--model", "anthropic:claude-haiku-4-5", "Read", "the tide."])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^✓ Read tide\.txt \d+ms\nAye\.\n$/)
    expect(requests.map(({ model, lastUserText }) => [model, lastUserText])).toEqual([
      ["claude-haiku-4-5", "Read the tide."],
      ["claude-haiku-4-5", "Read the tide."],
    ])
  })

  test("a chat uses LONGHAUL_MODEL, LONGHAUL_STORE and LONGHAUL_MAX_TURNS, and --model overrides them", {
    tags: ["OBS-08"],
  }, async () => {
    const { requests } = await simulate({ script: boatman })
    const variables = {
      LONGHAUL_MODEL: "anthropic:from-environment",
      LONGHAUL_STORE: join(place.home, "kept"),
      LONGHAUL_MAX_TURNS: "1",
    }
    const limited = await chat(["/turns", "Read the tide."], [], variables)
    expect(limited.code).toBe(1)
    expect(limited.stdout).toContain("at most 1 per message")
    expect(limited.stderr).toMatch(/^error max_turns: .*\nfix: Raise --max-turns\.\n$/)
    expect(requests.map(({ model }) => model)).toEqual(["from-environment"])
    expect(await readdir(join(place.home, "kept"))).toEqual([".longhaul", "workspaces"])

    await chat(["Read the tide."], ["--model", "anthropic:claude-haiku-4-5", "--max-turns", "2"], variables)
    expect(requests.slice(1).map(({ model }) => model)).toEqual(["claude-haiku-4-5", "claude-haiku-4-5"])
  })

  test("a chat needs only OPENROUTER_API_KEY", { tags: ["OBS-08"] }, async () => {
    const { requests } = await simulate({ script: boatman, apiKey: "key-of-the-router" })
    const detour = join(place.home, "detour.mjs")
    await writeFile(detour, detourTo("new URL(process.env.ANTHROPIC_BASE_URL).port"))
    const { code, stdout } = await chat(["Read the tide."], ["--json"], {
      NODE_OPTIONS: `--import ${pathToFileURL(detour).href}`,
      ANTHROPIC_API_KEY: "",
      OPENROUTER_API_KEY: "key-of-the-router",
    })
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      status: "done",
      text: "Aye.",
      toolCalls: [{ name: "Read", status: "ok" }],
    })
    expect(requests[0]).toMatchObject({
      path: "/api/v1/chat/completions",
      headers: { host: "openrouter.ai" },
    })
  })

  test("--json prints one result per line and the output of slash commands elsewhere", async () => {
    await simulate({ script: boatman })
    const { code, stdout, stderr } = await chat(["My boat is the Petrel.", "/cost", "Which boat is mine?"], ["--json"])
    expect(code).toBe(0)
    const results = stdout
      .trimEnd()
      .split("\n")
      .map((line): RunResult => JSON.parse(line))
    expect(results.map(({ status, data }) => [status, data])).toEqual([
      ["done", "Aye."],
      ["done", "It is Petrel."],
    ])
    expect(stderr).toContain("total: 1 turn · 1100 tokens · $0.0045")
  })

  test("/cost sums up every conversation, including cleared ones; /model shows and changes the model", async () => {
    const { requests } = await simulate({ script: boatman })
    const lines = [
      "Hello.",
      "/clear",
      "Hello.",
      "/cost",
      "/model",
      "/model anthropic:unheard-of",
      "Hello.",
      "/cost",
      "/model x",
    ]
    const { code, stdout } = await chat([...lines, "/cots", "/exit", "Hello."])
    expect(code).toBe(0)
    const told = stdout.split("\n").filter((line) => line !== "Aye.")
    const run = (words: string) => expect.stringMatching(new RegExp(`^run_\\S+  ${words}$`))
    const priced = run("1 turn · 1100 tokens · \\$0\\.0045")
    expect(told).toEqual([
      expect.stringContaining("Cleared."),
      priced,
      priced,
      "total: 2 turns · 2200 tokens · $0.0090",
      "Model: anthropic:claude-sonnet-4-6",
      "Model: anthropic:unheard-of",
      priced,
      run("2 turns · 2200 tokens · cost unknown"),
      "total: 3 turns · 3300 tokens · cost unknown",
      'error config_invalid: "x" is not a valid model name.',
      expect.stringMatching(/^fix: Use provider:model/),
      "Unknown command /cots. Did you mean /cost?",
      "",
    ])
    expect(requests.map(({ model }) => model)).toEqual(["claude-sonnet-4-6", "claude-sonnet-4-6", "unheard-of"])
  })

  test("a line that ends in a backslash continues, and a path is not a slash command", async () => {
    const { requests } = await simulate({ script: boatman })
    await chat(["one \\", "two\\", "three", "/etc/hosts is what?", "last\\"])
    const texts = requests.map(({ lastUserText }) => lastUserText)
    expect(texts).toEqual(["one \ntwo\nthree", "/etc/hosts is what?", "last\n"])
  })

  test.each([
    [["bad", "good"], 0],
    [["good", "bad"], 1],
    [["/help"], 0],
  ])("the exit code after %j is that of the last run: %i", async (lines, exitCode) => {
    await simulate({
      script({ lastUserText }) {
        if (lastUserText.endsWith("bad")) throw new Error("refused")
        return "Aye."
      },
    })
    const { code, stderr } = await chat(lines)
    expect(code).toBe(exitCode)
    expect(stderr.includes("error invalid_request:")).toBe(lines.includes("bad"))
  })

  test("a chat uses the settings of the named config file", async () => {
    const { requests } = await simulate({ script: boatman })
    await mkdir(join(place.home, "settings"))
    const file = join(place.home, "settings/longhaul.config.json")
    await writeFile(file, '{ "system": "Answer as a boatman.", "model": "anthropic:from-file" }')
    await chat(["Hello."], ["--config", file])
    await chat(["Hello."], ["--config", file, "--system", "Be brief."])
    expect(requests.map(({ model, system }) => [model, system])).toEqual([
      ["from-file", "Answer as a boatman."],
      ["from-file", "Be brief."],
    ])
  })
})
