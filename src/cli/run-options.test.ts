import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { commandLine } from "../../test/support/command-line.ts"
import { namedProviders } from "../hosts/node/model-names.ts"
import type { AnswerInParts } from "../testing/index.ts"

const { place, longhaul, json, simulate } = commandLine()

/** $0.0045 at the price of claude-sonnet-4-6, and never done. */
const dear = (): AnswerInParts => ({
  parts: [{ toolCall: { name: "List", args: {} } }],
  usage: { inputTokens: 1000, outputTokens: 100 },
})

const file = async (name: string, content: string | Uint8Array) => {
  const path = join(place.home, name)
  await writeFile(path, content)
  return path
}

describe("run options", () => {
  test("--max-cost and --max-tokens end the run with the amount spent and the option to raise", async () => {
    const { requests } = await simulate({ script: dear })
    const cost = await longhaul(["run", "--max-cost", "0.008", "Go on forever"])
    expect(cost.code).toBe(1)
    expect(cost.stdout).toMatch(/failed run_\S+ · 2 turns · 2200 tokens · \$0\.0090 · /)
    expect(cost.stderr).toMatch(/^error budget_exceeded: .*\nfix: Raise --max-cost\.\n$/)
    expect(requests).toHaveLength(2)

    const tokens = await longhaul(["run", "--max-tokens", "1000", "Go on forever"])
    expect(tokens.code).toBe(1)
    expect(tokens.stderr).toMatch(/^error budget_exceeded: .*\nfix: Raise --max-tokens\.\n$/)
    expect(requests).toHaveLength(3)
  })

  test("a dollar limit on a model without a price is rejected with a CLI-specific fix", async () => {
    const { requests } = await simulate({ script: dear })
    const { code, stderr } = await longhaul(["run", "--model", "anthropic:unheard-of", "--max-cost", "1", "Go"])
    expect(code).toBe(1)
    expect(stderr).toMatch(/fix: .*resolvePricing in a config file, or set unknownPrice/)
    expect(requests).toEqual([])
  })

  test("run and show report an unknown price in their summary", async () => {
    await simulate({ script: () => "Done." })
    const ran = await longhaul(["run", "--model", "anthropic:unheard-of", "--run-id", "free", "Go"])
    expect(ran.stdout).toMatch(/done free · 1 turn · \d+ tokens · cost unknown · /)
    expect((await longhaul(["show", "free"])).stdout).toMatch(/done 1 turn · \d+ tokens · cost unknown · /)
  })

  test("--max-output, --temperature and --effort reach the model", async () => {
    const { requests } = await simulate({ script: () => "Done." })
    await longhaul(["run", "--max-output", "4321", "--temperature", "0.5", "Go"])
    await longhaul(["run", "--effort", "low", "Go"])
    expect(requests[0]?.settings).toMatchObject({ maxOutputTokens: 4321, temperature: 0.5 })
    expect(requests[1]?.settings.effort).toBe("low")
  })

  test("--schema structures the answer; with --quiet only its data is printed as JSON", async () => {
    const schema = await file(
      "form.json",
      JSON.stringify({ type: "object", properties: { high: { type: "string" } }, required: ["high"] }),
    )
    const answers = ['{"high":"04:17"}', "At 04:17.", "Still at 04:17.", "At 04:17.", "At 04:17.", "Still."]
    const { requests } = await simulate({ script: ({ index }) => answers[index] ?? "" })
    const fits = await longhaul(["run", "--quiet", "--schema", schema, "When?"])
    expect(fits).toEqual({ code: 0, stdout: '{"high":"04:17"}\n', stderr: "" })
    expect(requests[0]?.outputSchema).toMatchObject({ required: ["high"] })

    const strict = await longhaul(["run", "--schema", schema, "When?"])
    expect(strict.code).toBe(1)
    expect(strict.stderr).toContain("error output_not_json:")
    expect(strict.stdout).toContain(
      "▸ sent to the model because its answer did not match the schema: The answer is not JSON.",
    )

    const forward = await longhaul(["run", "--schema", schema, "--output-mode", "forward", "--quiet", "When?"])
    expect(forward).toMatchObject({ code: 0, stdout: '"At 04:17."\n' })

    const nothing = await longhaul(["run", "--schema", schema, "--quiet", "When?"])
    expect(nothing).toMatchObject({ code: 1, stdout: "" })
  })

  test.each(["--json", "--json --quiet"])(
    "--schema with %s prints one JSON value on one line: the result with its data",
    async (options) => {
      const schema = await file("form.json", JSON.stringify({ type: "object", required: ["high"] }))
      await simulate({ script: ({ index }) => (index === 0 ? '{"high":"04:17"}' : "At 04:17.") })
      const fits = await longhaul(["run", ...options.split(" "), "--schema", schema, "When?"])
      expect(fits).toMatchObject({ code: 0, stderr: "", stdout: expect.stringMatching(/^[^\n]+\n$/) })
      expect(JSON.parse(fits.stdout)).toMatchObject({ status: "done", data: { high: "04:17" } })
      const unfit = await longhaul(["run", ...options.split(" "), "--schema", schema, "When?"])
      expect(unfit).toMatchObject({ code: 1, stdout: expect.stringMatching(/^[^\n]+\n$/) })
      expect(JSON.parse(unfit.stdout)).toMatchObject({ status: "failed", error: { code: "output_not_json" } })
    },
  )

  test("--attach accepts files from anywhere and detects their type", async () => {
    const { requests } = await simulate({ script: () => "Seen." })
    const image = await file("chart.png", Buffer.from("89504e47", "hex"))
    const note = await file("note.txt", "Mind the buoy.")
    await longhaul(["run", "--attach", image, "--attach", note, "What is this?"])
    const [message] = requests[0]?.messages ?? []
    expect(message?.attachments).toMatchObject([{ mediaType: "image/png", data: "iVBORw==" }])
    expect(message?.text).toContain("note.txt:\nMind the buoy.")
    expect(message?.text).toContain("What is this?")
  })

  test("--tools and --no-tools select the tools of the model", async () => {
    const { requests } = await simulate({ script: () => "Done." })
    await longhaul(["run", "--tools", "Read, List", "Go"])
    await longhaul(["run", "--no-tools", "Write,Grep", "Go"])
    const names = requests.map(({ tools }) => tools.map(({ name }) => name).sort())
    expect(names[0]).toEqual(["List", "Read"])
    expect(names[1]).toContain("Read")
    expect(names[1]).not.toContain("Write")
    expect(names[1]).not.toContain("Grep")
  })

  test("--cwd sets the tools' working directory", async () => {
    await mkdir(join(place.workspace, "log"))
    await writeFile(join(place.workspace, "log/april.txt"), "Fog.\n")
    await simulate({
      script: ({ lastToolResults: [result] }) =>
        result ? `It says ${result.text}` : { parts: [{ toolCall: { name: "Read", args: { path: "april.txt" } } }] },
    })
    expect(await json(["run", "--json", "--cwd", "log", "Read it"])).toMatchObject({
      status: "done",
      toolCalls: [{ status: "ok", result: expect.stringContaining("Fog.") }],
    })
  })

  test.each([
    [["--max-cost", "none"], "Use a number from"],
    [["--max-cost", "0"], "Use a number from"],
    [["--max-tokens", "1.5"], "Use a whole number from 1"],
    [["--max-output", "0"], "Use a whole number from 1"],
    [["--temperature", "3"], "Use a number from 0 to 2"],
    [["--effort", "extreme"], "Use one of: minimal, low, medium, high, max"],
    [["--output-mode", "strict"], "Add --schema"],
    [["--schema", "tide.txt"], "Write a JSON Schema to the file"],
    [["--schema", "none.json"], "--schema none.json does not exist"],
    [["--schema", "tide.txt", "--output-mode", "lax"], "Use one of: strict, forward"],
    [["--attach", "none.png"], "--attach none.png does not exist"],
    [["--attach", process.execPath], "Attach PNG, JPEG, GIF or WebP images, PDFs or text"],
    [["--tools", "Raed"], "Use a comma-separated list of: "],
    [["--no-tools", "Wirte"], 'Unknown tool in --no-tools: "Wirte"'],
    [["--ask", "Read,Wirte"], "Did you mean Write?"],
    [["--cwd", ".."], "is outside the workspace"],
    [["--cwd", "tide.txt"], "--cwd tide.txt is not a folder"],
  ])("%j is a usage error: exit code 2, a fix, and nothing was done", async (options, advice) => {
    const { code, stdout, stderr } = await longhaul(["run", "--model", "offline", ...options, "Go"])
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
    expect(stderr).toContain(advice)
    expect(await json(["runs", "--json"])).toEqual([])
  })

  test("the help names every provider, and the hints name every sufficient key", async () => {
    const { stdout } = await longhaul(["run", "--help"])
    for (const { name } of namedProviders) expect(stdout).toMatch(new RegExp(`Providers: .*\\b${name}\\b`))
    const ending = (await longhaul(["run", "--model", "offline", "List"])).stdout
    for (const key of ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"]) {
      expect(ending).toContain(key)
    }
  })
})
