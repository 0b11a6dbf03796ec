// What our layer costs over the bare program or SDK, on the same scripted run. Needs `npm run test:backends` once, for the
// programs, and a build. Usage: node bench/backends.mjs [name …]
import { fork, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { createRuntime, fsStore } from "../dist/hosts/node/index.js"
import { median } from "./measure.mjs"

const TURNS = 20
const REPEATED = 5
const GOAL = { share: 0.05, ms: 30 }
const installed = fileURLToPath(new URL("../.backends/node_modules", import.meta.url))
const platform = `${process.platform}-${process.arch}`
const claude = `${installed}/@anthropic-ai/claude-code-${platform}/claude`
const codexTarget = { "linux-x64": "x86_64-unknown-linux-musl", "linux-arm64": "aarch64-unknown-linux-musl" }[platform]
const codexProgram = `${installed}/@openai/codex-${platform}/vendor/${codexTarget}/bin/codex`

const server = fork(new URL("backend-server.mjs", import.meta.url), [String(TURNS)])
const [{ url }] = await once(server, "message")
const base = mkdtempSync(join(homedir(), ".longhaul-bench-"))
process.env.LONGHAUL_STORE = join(base, "state")
const workspace = join(base, "workspace")
mkdirSync(workspace)

const claudeEnv = {
  HOME: base,
  CLAUDE_CONFIG_DIR: join(base, "claude"),
  ANTHROPIC_BASE_URL: url,
  ANTHROPIC_API_KEY: "x",
}
const lab = { name: "lab", base_url: `${url}/v1`, wire_api: "responses", env_key: "LAB_KEY" }
const codexEnv = { HOME: base, CODEX_HOME: join(base, ".codex"), LAB_KEY: "k" }
const rows = {
  "claude-cli": {
    model: "claude-sonnet-4-5",
    create: async () =>
      (await import("../dist/backends/claude-cli/index.js")).claudeCli({ command: claude, env: claudeEnv }),
    bare: bareClaude,
  },
  "claude-sdk": {
    model: "claude-sonnet-4-5",
    create: async () => {
      const sdk = await import(`${installed}/@anthropic-ai/claude-agent-sdk/sdk.mjs`)
      return (await import("../dist/backends/claude-sdk/index.js")).claudeSdk({ command: claude, env: claudeEnv, sdk })
    },
    bare: bareSdk,
  },
  codex: {
    model: "gpt-5.5",
    create: async () => {
      mkdirSync(codexEnv.CODEX_HOME, { recursive: true })
      const env = codexEnv
      const config = { model_provider: "lab", model_providers: { lab } }
      return (await import("../dist/backends/codex/index.js")).codex({ command: codexProgram, config, env })
    },
    bare: bareCodex,
  },
}

const wanted = process.argv.slice(2)
console.log(
  `${TURNS} commands, medians of ${REPEATED}; CPU in ms, start excluded; goal: 5 % of the program's CPU, or ${GOAL.ms} ms\n`,
)
console.log(
  ["backend", "our process", "bare driver", "our layer", "program", "verdict"].map((word) => word.padEnd(13)).join(""),
)
for (const [name, row] of Object.entries(rows)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const samples = []
  for (let count = 0; count <= REPEATED; count++) {
    const ours = await measureOurs(row)
    const bare = row.bare ? await row.bare() : { own: 0 }
    // The first one compiles.
    if (count > 0) samples.push({ ...ours, bare: bare.own, layer: ours.own - bare.own })
  }
  const of = (key) => median(samples.map((sample) => sample[key]))
  const met = of("layer") <= Math.max(GOAL.ms, of("program") * GOAL.share)
  const cells = [name, of("own"), of("bare"), of("layer"), of("program"), met ? "met" : "MISS"]
  console.log(cells.map((cell) => (typeof cell === "number" ? cell.toFixed(1) : cell).padEnd(13)).join(""))
}
rmSync(base, { recursive: true, force: true })
server.kill()

/** Our process from the open session to the result, and the program in all. */
async function measureOurs({ create, model }) {
  const before = childrenMs()
  const runtime = createRuntime({
    workspace,
    store: fsStore(join(base, "state")),
    backend: await create(),
    model,
    tools: [],
    policy: { mode: "auto" },
  })
  let from
  const result = await runtime.run({
    task: "Count.",
    onEvent(event) {
      if (event.type === "session") from ??= process.cpuUsage()
    },
  })
  const { user, system } = process.cpuUsage(from)
  await runtime.close()
  if (result.status !== "done" || result.toolCalls.length !== TURNS) {
    throw new Error(`${result.status}: ${result.toolCalls.length} calls, ${JSON.stringify(result.error)}`)
  }
  return { own: (user + system) / 1000, program: childrenMs() - before }
}

/** The same run without us, its output only read. */
async function bareClaude() {
  const args = ["-p", "Count.", "--output-format", "stream-json", "--verbose", "--include-partial-messages"]
  const options = { cwd: workspace, env: { PATH: process.env.PATH, ...claudeEnv }, stdio: ["ignore", "pipe", "ignore"] }
  const child = spawn(claude, [...args, "--allowedTools", "Bash", "--model", "claude-sonnet-4-5"], options)
  let from
  for await (const chunk of child.stdout) {
    from ??= process.cpuUsage()
    String(chunk)
  }
  return since(from)
}

/** The least that drives Codex: one thread, one turn, each line parsed, nothing asked. */
async function bareCodex() {
  const table = Object.entries(lab).map(([key, value]) => `${key}=${JSON.stringify(value)}`)
  const settings = ["-c", 'model_provider="lab"', "-c", `model_providers.lab={${table.join(",")}}`]
  const options = { cwd: workspace, env: { PATH: process.env.PATH, ...codexEnv }, stdio: ["pipe", "pipe", "ignore"] }
  const child = spawn(codexProgram, ["app-server", ...settings], options)
  const send = (message) => child.stdin.write(`${JSON.stringify(message)}\n`)
  const clientInfo = { name: "bench", title: "bench", version: "1" }
  send({ id: 1, method: "initialize", params: { clientInfo, capabilities: { experimentalApi: true } } })
  let from
  for await (const line of createInterface({ input: child.stdout })) {
    const { id, method, result } = JSON.parse(line)
    if (id === 1) {
      send({ method: "initialized" })
      const thread = { cwd: workspace, model: "gpt-5.5", approvalPolicy: "never", sandbox: "danger-full-access" }
      send({ id: 2, method: "thread/start", params: thread })
    } else if (id === 2) {
      from = process.cpuUsage()
      send({
        id: 3,
        method: "turn/start",
        params: { threadId: result.thread.id, input: [{ type: "text", text: "Count." }] },
      })
    } else if (method === "turn/completed") break
  }
  child.stdin.end()
  return since(from)
}

async function bareSdk() {
  const sdk = await import(`${installed}/@anthropic-ai/claude-agent-sdk/sdk.mjs`)
  const options = {
    cwd: workspace,
    env: { PATH: process.env.PATH, ...claudeEnv },
    pathToClaudeCodeExecutable: claude,
    allowedTools: ["Bash"],
    model: "claude-sonnet-4-5",
    includePartialMessages: true,
    settingSources: [],
  }
  let from
  for await (const message of sdk.query({ prompt: "Count.", options })) if (message) from ??= process.cpuUsage()
  return since(from)
}

function since(from) {
  const { user, system } = process.cpuUsage(from)
  return { own: (user + system) / 1000 }
}

/** CPU of all ended children. */
function childrenMs() {
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ")[1]?.split(" ") ?? []
  return (Number(fields[13]) + Number(fields[14])) * 10
}
