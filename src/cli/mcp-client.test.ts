import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { beforeEach, describe, expect, test } from "vitest"
import { commandLine } from "../../test/support/command-line.ts"
import type { RunResult } from "../contract/result.ts"

const { place, longhaul, simulate } = commandLine()
const program = fileURLToPath(new URL("../../test/mcp-client/stdio-server.mjs", import.meta.url))

/** As a file refers to a variable. */
const variable = (name: string) => ["$", "{", name, "}"].join("")

beforeEach(async () => {
  const scene = {
    command: process.execPath,
    args: [program, variable("SCENE_SETTINGS:-")],
    env: { TOKEN: "token-of-the-scene" },
  }
  const remote = {
    type: "http",
    url: "https://mcp.example.com/mcp?key=hidden-key-1",
    headers: { authorization: "Bearer hidden-key-2" },
  }
  await writeFile(join(place.workspace, ".mcp.json"), JSON.stringify({ mcpServers: { scene, remote } }))
})

describe("mcp", () => {
  test("list names the servers of the file without starting them or showing their secrets", async () => {
    const { code, stdout } = await longhaul(["mcp", "list", "--json"])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({
      file: ".mcp.json",
      servers: [
        { name: "scene", type: "stdio", target: process.execPath },
        { name: "remote", type: "http", target: "https://mcp.example.com" },
      ],
    })
    expect(stdout).not.toMatch(/hidden-key|token-of/)
  })

  test("tools shows the tools of a server, call calls one and prints its result", async () => {
    const tools = await longhaul(["mcp", "tools", "scene"])
    expect(tools.stdout).toContain("scene has 10 tools.")
    expect(tools.stdout).toContain("  echo\n")
    const called = await longhaul(["mcp", "call", "scene", "echo", '{"text":"hello"}'])
    expect(called).toMatchObject({ code: 0, stdout: "hello\n" })
    expect((await longhaul(["mcp", "call", "scene", "fail"])).code).toBe(1)
    const prompt = await longhaul(["mcp", "prompt", "scene", "greet", '{"who":"Ada"}'])
    expect(prompt).toMatchObject({ code: 0, stdout: "Greet Ada.\n" })
  })

  test.each([
    [["mcp", "tools", "scenes"], "Did you mean scene?"],
    [["mcp", "call", "scene"], "Missing tool"],
    [["mcp", "call", "scene", "echo", "text"], "not a JSON object"],
    [["mcp", "tools", "scene", "--mcp-config", "none.json"], "none.json cannot be read"],
    [["mcp", "login", "scene"], "it has no login"],
  ])("%j says what is wrong", async (args, message) => {
    const { code, stderr } = await longhaul(args)
    expect(code).not.toBe(0)
    expect(stderr).toContain(message)
  })

  test("a variable that the file needs and that is not set is an error that names it", async () => {
    const server = { command: "node", args: [variable("NO_SUCH_VARIABLE")] }
    await writeFile(join(place.workspace, "other.json"), JSON.stringify({ mcpServers: { server } }))
    const { code, stderr } = await longhaul(["mcp", "list", "--mcp-config", "other.json"])
    expect(code).not.toBe(0)
    expect(stderr).toContain("NO_SUCH_VARIABLE")
  })

  test("run --mcp-config gives the tools of the servers to the model; without it the file is not used", async () => {
    await writeFile(
      join(place.workspace, "mine.json"),
      JSON.stringify({ mcpServers: { scene: { command: process.execPath, args: [program] } } }),
    )
    const seen: (readonly string[])[] = []
    await simulate({
      script: ({ tools, lastToolResults: [last] }) => {
        seen.push(tools.map(({ name }) => name))
        return last
          ? `It says ${last.text}.`
          : { parts: [{ toolCall: { name: "mcp__scene__echo", args: { text: "hi" } } }] }
      },
    })
    const { stdout } = await longhaul(["run", "--json", "--mcp-config", "mine.json", "Echo hi"])
    expect(JSON.parse(stdout) as RunResult).toMatchObject({ status: "done", text: "It says hi." })
    await longhaul(["run", "--json", "Echo hi"])
    expect(seen[0]).toContain("mcp__scene__echo")
    expect(seen.at(-1)).not.toContain("mcp__scene__echo")
  })
})

describe("chat --continue", () => {
  async function scene() {
    const { workspace } = place
    await writeFile(
      join(workspace, "mine.json"),
      JSON.stringify({ mcpServers: { scene: { command: process.execPath, args: [program] } } }),
    )
    await mkdir(join(workspace, ".agents/skills/greet"), { recursive: true })
    const skill = "---\nname: greet\ndescription: Says hello.\n---\nBody.\n"
    await writeFile(join(workspace, ".agents/skills/greet/SKILL.md"), skill)
    const seen: { readonly tools: readonly string[]; readonly system: string }[] = []
    await simulate({
      script: ({ tools, system, lastToolResults: [last], lastUserText }) => {
        seen.push({ tools: tools.map(({ name }) => name), system: system ?? "" })
        if (last || !lastUserText.startsWith("Echo")) return last ? `It says ${last.text}.` : "Aye."
        return { parts: [{ toolCall: { name: "mcp__scene__echo", args: { text: lastUserText.slice(5) } } }] }
      },
    })
    return seen
  }
  const own = ["SkillPage", "Recall", "Memorize"]

  test("chat --continue restores memory and skills of the conversation, and with the file its MCP servers", async () => {
    const seen = await scene()
    const began = ["chat", "--run-id", "c", "--memory", "read-write", "--skills", "--mcp-config", "mine.json"]
    expect((await longhaul([...began, "Echo one"])).stdout).toContain("It says one.")
    const again = await longhaul(["chat", "--continue", "c", "--mcp-config", "mine.json", "Echo two"])
    expect(again.stdout).toContain("It says two.")
    expect(seen[2]?.tools).toEqual(seen[0]?.tools)
    expect(seen[2]?.tools).toEqual(expect.arrayContaining([...own, "mcp__scene__echo"]))
    expect(seen[2]?.system).toContain("- greet: Says hello.")
    expect(again.stderr).not.toContain("--mcp-config")
  })

  test("chat --continue without the file says that its MCP servers are missing, and goes on with the rest", async () => {
    const seen = await scene()
    const began = ["chat", "--run-id", "c", "--memory", "read-write", "--skills", "--mcp-config", "mine.json"]
    await longhaul([...began, "Hello"])
    const { code, stdout, stderr } = await longhaul(["chat", "--continue", "c", "Hello again"])
    expect([code, stdout]).toEqual([0, "Aye.\n"])
    expect(stderr).toContain("--mcp-config")
    expect(seen[1]?.tools).toEqual(expect.arrayContaining(own))
    expect(seen[1]?.tools).not.toContain("mcp__scene__echo")
    const back = await longhaul(["chat", "--continue", "c", "--mcp-config", "mine.json", "Echo three"])
    expect(back.stdout).toContain("It says three.")
  })
})
