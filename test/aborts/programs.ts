import { chmodSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { acp } from "../../src/backends/acp/index.ts"
import { claudeCli } from "../../src/backends/claude-cli/index.ts"
import { type ClaudeAgentSdk, claudeSdk } from "../../src/backends/claude-sdk/index.ts"
import type { HostOptions } from "../../src/backends/claude-sdk/sdk.ts"
import type { HostProcess } from "../../src/backends/claude-sdk/spawned.ts"
import { codex } from "../../src/backends/codex/index.ts"
import { hookCommand } from "../../src/backends/codex/settings.ts"
import type { Backend } from "../../src/contract/backend.ts"
import type { JsonObject } from "../../src/contract/json.ts"
import { nodeFiles, nodeSearch } from "../../src/hosts/node/index.ts"
import { bashTool, fileTools } from "../../src/tools/index.ts"
import { asking, calls, NEVER_MS, type Outward } from "./requests.ts"

/** A vendor's program, and what it answers before it hangs: one row for each of these, and one for its turn. */
interface Vendor {
  readonly turn: string
  readonly replies: Readonly<Record<string, JsonObject>>
  backend(command: string): Backend
}

const hook = { command: hookCommand, eventName: "preToolUse", key: "k", currentHash: "h" }
const claude = { hook_on_failure_supported: true, claude_code_version: "2.1.325" }

const vendors: Readonly<Record<string, Vendor>> = {
  acp: {
    turn: "session/prompt",
    replies: {
      initialize: { protocolVersion: 1, agentInfo: { name: "Other", version: "1" }, agentCapabilities: {} },
      "session/new": { sessionId: "s1" },
    },
    backend: (command) => acp({ name: "other", command }),
  },
  codex: {
    turn: "turn/start",
    replies: {
      initialize: { userAgent: "codex/0.166.0", codexHome: "/home/.codex" },
      "hooks/list": { data: [{ hooks: [{ ...hook, trustStatus: "trusted", enabled: true }] }] },
      "account/read": { account: {}, requiresOpenaiAuth: false },
      "thread/start": { thread: { id: "t1" }, cwd: "/", model: "m", sandbox: { type: "workspaceWrite" } },
    },
    backend: (command) => codex({ command }),
  },
  "claude-cli": { turn: "user", replies: { initialize: claude }, backend: (command) => claudeCli({ command }) },
  "claude-sdk": {
    turn: "user",
    replies: { initialize: claude },
    backend: (command) => claudeSdk({ sdk: scriptedSdk(command) }),
  },
}

/** Programs that a run starts. Each makes the request that hangs. */
export const programs: Readonly<Record<string, Outward>> = {
  "a command": {
    tool: "Bash",
    config: ({ url }) => ({
      model: asking(calls("Bash", { command: `"${process.execPath}" -e "fetch('${url}')"` })),
      tools: [bashTool()],
      policy: { mode: "auto" },
    }),
  },
  "a search of ripgrep": {
    tool: "Grep",
    config({ url }, root) {
      const said = `console.log("ripgrep 15.0.0")`
      const ripgrepPath = executable(root, `process.argv.includes("--version") ? ${said} : fetch("${url}")`)
      return {
        model: asking(calls("Grep", { pattern: "x" })),
        tools: fileTools(),
        env: { files: nodeFiles({ roots: [root] }), search: nodeSearch({ roots: [root], ripgrepPath }) },
      }
    },
  },
  ...Object.fromEntries(
    Object.entries(vendors).flatMap(([backend, vendor]) =>
      [...Object.keys(vendor.replies), vendor.turn].map((method): [string, Outward] => [
        `a program of ${backend} that hangs at ${method}`,
        { backend, config: ({ url }, root) => vendorConfig(vendor, { url, hanging: method, root }) },
      ]),
    ),
  ),
}

function vendorConfig(vendor: Vendor, at: { readonly url: string; readonly hanging: string; readonly root: string }) {
  const { replies, turn } = vendor
  const program = fileURLToPath(new URL("./vendor-program.mjs", import.meta.url))
  const settings = JSON.stringify({ url: at.url, hanging: at.hanging, replies })
  const arranged = `process.argv.splice(2, 0, ${JSON.stringify(settings)}); import(${JSON.stringify(program)})`
  return {
    backend: vendor.backend(executable(at.root, arranged)),
    tools: [],
    // Only what is asked to end during a turn, and does not, is killed after a time.
    deadlines: { openMs: NEVER_MS, replyMs: NEVER_MS, idleMs: NEVER_MS, stopMs: at.hanging === turn ? 1 : NEVER_MS },
  }
}

function executable(root: string, code: string): string {
  const path = join(root, "program.mjs")
  writeFileSync(path, `#!${process.execPath}\n${code}\n`)
  chmodSync(path, 0o755)
  return path
}

/** The Agent SDK as far as it starts its program, and sends it the first message. */
function scriptedSdk(command: string): ClaudeAgentSdk {
  return {
    query({ prompt, options }) {
      const host: HostOptions = options
      // Safe: the backend passes its own.
      const child = host.spawnClaudeCodeProcess({ command, args: [], env: {} }) as HostProcess
      const ended = new Promise<never>((_, reject) => child.once("exit", () => reject(new Error("It has ended."))))
      ended.catch(() => {})
      const opened = new Promise<JsonObject>((resolve) => child.stdout.on("data", () => resolve(claude)))
      child.stdout.resume()
      child.stdin.write('{"type":"control_request","request_id":"1","request":{"subtype":"initialize"}}\n')
      void (async () => {
        for await (const message of prompt) child.stdin.write(`${JSON.stringify(message)}\n`)
      })()
      return {
        [Symbol.asyncIterator]: () => ({ next: () => ended }),
        initializationResult: () => Promise.race([opened, ended]),
        interrupt: async () => {},
        close: () => child.kill("SIGTERM"),
      }
    },
  }
}
