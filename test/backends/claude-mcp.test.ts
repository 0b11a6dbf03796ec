import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, expect, test } from "vitest"
import { serve } from "../../src/hosts/node/http/serve.ts"
import { createSimulator, type SimulatedAnswer, type SimulatedRequest } from "../../src/testing/index.ts"
import { countLiving } from "../support/shell-scene.ts"
import { programs, runProgram } from "./programs.ts"

const main = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url))
const base = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-claude-")))
afterAll(() => rmSync(base, { recursive: true, force: true }))

/** Edits the file through our server, then repeats the server's response. */
function model({ tools, lastToolResults: [result] }: SimulatedRequest): SimulatedAnswer {
  // Claude adds its own text after our answer.
  if (result !== undefined) return `The tool said: ${result.text.split("\n")[0]}`
  // Side requests, such as for a title, come without tools.
  if (!tools.some(({ name }) => name === "mcp__longhaul__Edit")) return "Nothing to do."
  const args = { path: "tide.txt", oldText: "04:17", newText: "16:40" }
  return { parts: [{ toolCall: { name: "mcp__longhaul__Edit", args } }] }
}

interface Line {
  readonly type: string
  readonly subtype?: string
  readonly is_error?: boolean
  readonly result?: string
  readonly permission_denials?: readonly unknown[]
  readonly mcp_servers?: readonly unknown[]
  readonly message?: { readonly content: string | readonly { readonly type: string; readonly name?: string }[] }
}

const token = "a-token-of-our-own-choice"

/** The guide's configuration for Claude Code: a server that it starts, and one that is already running. */
const [started, running] = Array.from(
  readFileSync(new URL("../../docs/guides/mcp.md", import.meta.url), "utf8").matchAll(/```json\n(.*?)```/gs),
  ([, text = ""]) =>
    (JSON.parse(text) as { mcpServers: { longhaul: { args: readonly string[] } } }).mcpServers.longhaul,
)

/** The guide's text with this machine's paths, and how our server ends. */
async function serverFor(transport: "stdio" | "http", root: string) {
  if (transport === "stdio") {
    const args = started?.args.map((arg) => (arg === "longhaul" ? main : arg.replace("/path/to/project", root)))
    return { config: { ...started, command: process.execPath, args }, end: async () => 0 }
  }
  const environment = { PATH: process.env.PATH ?? "", XDG_STATE_HOME: join(base, "state"), LONGHAUL_MCP_TOKEN: token }
  const server = spawn(process.execPath, [main, "mcp", "--http", "--json", "--root", root], { env: environment })
  const [line] = (await once(server.stdout, "data")) as [Buffer]
  const { url } = JSON.parse(line.toString()) as { readonly url: string }
  return {
    config: { ...running, url },
    async end() {
      server.kill("SIGTERM")
      return ((await once(server, "close")) as [number | null])[0]
    },
  }
}

test.each(["stdio", "http"] as const)(
  "the real claude program edits a file through longhaul mcp over %s",
  async (transport) => {
    const [workspace, home] = [join(base, transport, "workspace"), join(base, transport, "home")]
    for (const folder of [workspace, home]) mkdirSync(folder, { recursive: true })
    writeFileSync(join(workspace, "tide.txt"), "High water is at 04:17.\n")
    const server = await serverFor(transport, workspace)
    const simulator = createSimulator({ script: model })
    const provider = await serve(simulator.fetch)
    const ended = await runProgram(
      programs.claude,
      [
        ...["-p", "Correct the tide in tide.txt", "--model", "claude-sonnet-4-5"],
        ...["--output-format", "stream-json", "--verbose"],
        ...["--mcp-config", JSON.stringify({ mcpServers: { longhaul: server.config } }), "--strict-mcp-config"],
        ...["--allowedTools", "mcp__longhaul__Edit"],
      ],
      {
        cwd: workspace,
        env: {
          PATH: process.env.PATH ?? "",
          HOME: home,
          CLAUDE_CONFIG_DIR: join(home, "claude"),
          XDG_STATE_HOME: join(home, "state"),
          LONGHAUL_MCP_TOKEN: token,
          ANTHROPIC_BASE_URL: provider.url,
          ANTHROPIC_API_KEY: "x",
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
          CLAUDE_CODE_MAX_RETRIES: "0",
          // Otherwise a server's tools are in no request before the model has searched for them.
          ENABLE_TOOL_SEARCH: "false",
        },
      },
    )
    await provider.close()
    expect(await server.end()).toBe(0)

    const lines = ended.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Line)
    const result = lines.find(({ type }) => type === "result")
    expect(readFileSync(join(workspace, "tide.txt"), "utf8"), ended.stdout).toBe("High water is at 16:40.\n")
    expect([ended.code, result?.is_error, result?.permission_denials]).toEqual([0, false, []])
    expect(result?.result).toBe("The tool said: Replaced one place in tide.txt (line 1).")
    const used = lines.flatMap(({ type, message }) =>
      type === "assistant" && typeof message?.content === "object"
        ? message.content.flatMap((block) => (block.type === "tool_use" ? [block.name] : []))
        : [],
    )
    expect(used).toEqual(["mcp__longhaul__Edit"])
    expect(lines[0]?.mcp_servers).toMatchObject([{ name: "longhaul", status: "connected" }])
    // Every process of this test has its folder in its command line.
    expect(countLiving(base)).toBe(0)
  },
)
