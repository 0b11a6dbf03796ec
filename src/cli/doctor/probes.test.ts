import { readFileSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { createServer, type RequestListener, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { afterEach, describe, expect, test } from "vitest"
import { bareMachine } from "../../../test/support/bare-machine.ts"
import { commandLine } from "../../../test/support/command-line.ts"
import { until } from "../../../test/support/watchdog.ts"

const shell = commandLine()
const { place, start, longhaul } = shell
const { bare, report, program } = bareMachine(shell)

const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe("model servers on this machine", () => {
  test("Ollama's models are listed, and one is suggested", async () => {
    const asked: string[] = []
    const url = await listening((request, response) => {
      asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? "no credentials"}`)
      response.end(JSON.stringify({ models: [{ name: "llama3.2:3b" }, { name: "q\u001b[2J" }] }))
    })
    const withUser = url.replace("http://", "http://user:password@")
    const found = await report({ OLLAMA_BASE_URL: `${withUser}/v1/` })
    expect(found.localServers[0]).toEqual({
      name: "ollama",
      host: url.replace("http://", ""),
      status: "up",
      models: ["llama3.2:3b", "q␛[2J"],
    })
    expect(asked).toEqual(["GET /api/tags no credentials"])
    expect(found.next).toContainEqual(expect.stringContaining("run --model ollama:llama3.2:3b "))
    const { next } = await report({ OLLAMA_BASE_URL: url, http_proxy: "http://proxy.example:3128" })
    expect(next).toContainEqual(expect.stringContaining("NO_PROXY=127.0.0.1"))
  })

  test("a SOCKS proxy is reported with a fix only if model calls would use it", async () => {
    const socks = { ALL_PROXY: "socks5h://proxy.example:1080" }
    const step = expect.stringMatching(/^Set https_proxy .* ALL_PROXY names a SOCKS proxy/)
    expect((await report(socks)).next).toContainEqual(step)
    expect((await report({ ...socks, HTTPS_PROXY: "http://proxy.example:3128" })).next).not.toContainEqual(step)
  })

  test("other servers are queried with OpenAI's API", async () => {
    const asked: string[] = []
    const url = await listening((request, response) => {
      asked.push(request.url ?? "")
      response.end(JSON.stringify({ object: "list", data: [{ id: "served/model" }] }))
    })
    const { localServers } = await report({ LMSTUDIO_BASE_URL: `${url}/v1`, VLLM_BASE_URL: `${url}/v1` })
    expect(localServers.filter(({ status }) => status === "up").map(({ name, models }) => [name, models])).toEqual([
      ["lmstudio", ["served/model"]],
      ["vllm", ["served/model"]],
    ])
    expect(asked).toEqual(["/v1/models", "/v1/models"])
  })

  test.each<[string, string, RequestListener]>([
    ["an HTML page", "other", (_, response) => response.writeHead(404).end("<html>not here</html>")],
    ["other JSON", "other", (_, response) => response.end("[1]")],
    ["no response", "down", () => {}],
    ["an unfinished response", "down", (_, response) => response.write('{"models": [')],
    ["a cut connection", "down", (request) => request.socket.destroy()],
  ])("a local server with %s is reported as %s", async (_, status, listener) => {
    const { localServers } = await report({ LLAMACPP_BASE_URL: `${await listening(listener)}/v1` })
    expect(localServers.find(({ name }) => name === "llamacpp")).toMatchObject({ status, models: [] })
  })

  test("a server on another machine is not contacted", async () => {
    const { localServers } = await report({ VLLM_BASE_URL: "https://gpu.example:8000/v1" })
    expect(localServers.at(-1)).toEqual({ name: "vllm", host: "gpu.example:8000", status: "remote", models: [] })
  })
})

describe("programs on PATH", () => {
  const claude = async () => (await report()).clis[0]

  test("programs are run with --version, without keys and outside the current folder", async () => {
    const path = await program(
      "claude",
      `require("node:fs").writeFileSync(${JSON.stringify(join(place.home, "seen"))}, JSON.stringify({
        args: process.argv.slice(2), cwd: process.cwd(), env: process.env }))
      console.log("2.1.0 (Claude\\u001b[31m Code)\\nand more")`,
    )
    const found = await report({ ANTHROPIC_API_KEY: "hunter2", GITHUB_TOKEN: "hunter2" })
    expect(found.clis[0]).toEqual({ name: "claude", path, status: "ok", version: "2.1.0 (Claude␛[31m Code)" })
    const seen = readFileSync(join(place.home, "seen"), "utf8")
    expect(JSON.parse(seen)).toMatchObject({ args: ["--version"], env: { HOME: place.home } })
    expect(JSON.parse(seen).cwd).not.toBe(place.workspace)
    expect(seen).not.toContain("hunter2")
  })

  test.each([
    ["says nothing", "", "silent", "no output for --version"],
    ["fails", "console.log('half'); process.exit(3)", "failed", "--version failed"],
    ["dies", "process.kill(process.pid, 'SIGKILL')", "failed", "--version failed"],
  ])("a program that %s is reported as such", async (_, script, status, text) => {
    const path = await program("claude", script)
    expect(await claude()).toEqual({ name: "claude", path, status, version: null })
    expect((await longhaul(["doctor"], bare())).stdout).toContain(`! claude    ${path}: ${text}`)
  })

  test("a program that cannot be started is reported as such", async () => {
    const path = await program("claude", "")
    await writeFile(path, "#!/nowhere/at/all\n")
    expect(await claude()).toMatchObject({ path, status: "failed" })
  })

  test("a program that hangs is stopped with its child processes", async () => {
    const pids = join(place.home, "pids")
    await program("claude", hanging(pids))
    expect(await claude()).toMatchObject({ status: "hung", version: null })
    await until(() => readPids(pids).every(isGone))
    expect(readPids(pids)).toHaveLength(2)
  })

  test("Ctrl-C stops doctor and the programs that it started", async () => {
    const pids = join(place.home, "pids")
    await program("claude", hanging(pids))
    const running = start(["doctor"], bare())
    await until(() => readPids(pids).length === 2)
    running.child.kill("SIGINT")
    expect((await running.ended).code).toBe(130)
    await until(() => readPids(pids).every(isGone))
  })

  test("a program that answers and leaves a child behind counts as answered", async () => {
    const rest = "require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e3)'], "
    await program("claude", `console.log("1.0"); ${rest}{ stdio: ["ignore", "inherit", "ignore"] }).unref()`)
    expect(await claude()).toMatchObject({ status: "ok", version: "1.0" })
  })

  test("a program in the current folder or below it is never started, whatever PATH contains", async () => {
    const bin = join(place.workspace, "node_modules/.bin")
    await mkdir(bin, { recursive: true })
    for (const folder of [place.workspace, bin]) {
      for (const name of ["claude", "rg", "bwrap"]) {
        await writeFile(join(folder, name), `#!${process.execPath}\nconsole.log("planted")`, { mode: 0o755 })
      }
    }
    const { clis, programs, sandboxFault } = await report({ PATH: `.:${bin}:${bare().PATH}:` })
    expect([...clis, ...programs].filter(({ status }) => status !== "missing")).toEqual([])
    expect(sandboxFault).toBe("bubblewrap (bwrap) is not on PATH")
  })
})

test("an installed sandbox that does not work is detected and reported", async () => {
  await program("bwrap", "console.error('No permissions to create a new namespace'); process.exit(1)")
  const { sandbox, sandboxFault } = await report()
  expect({ sandbox, sandboxFault }).toEqual({
    sandbox: null,
    sandboxFault: expect.stringContaining("No permissions to create a new namespace"),
  })
})

/** Writes its own pid and that of a child that outlives it, and then does nothing. */
function hanging(pids: string): string {
  return `
    const { spawn } = require("node:child_process")
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e3)"], { stdio: "inherit" })
    require("node:fs").writeFileSync(${JSON.stringify(pids)}, process.pid + "\\n" + child.pid + "\\n")
    setInterval(() => {}, 1e3)`
}

function readPids(path: string): readonly number[] {
  try {
    return readFileSync(path, "utf8").trim().split("\n").map(Number)
  } catch {
    return []
  }
}

/** A zombie process counts as dead, too. */
function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return process.platform === "linux" && / Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return true
  }
}
