import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { rgPath } from "@vscode/ripgrep"
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { until } from "../../../../test/support/watchdog.ts"
import type { JsonObject } from "../../../contract/json.ts"
import { type AgentTools, createAgentTools, StartupError } from "../index.ts"
import { findRipgrep, nodeSearch } from "./ripgrep.ts"

const base = realpathSync(mkdtempSync(join(tmpdir(), "longhaul-ripgrep-")))
let root: string
let bin: string
let count = 0
const open: AgentTools[] = []

beforeEach(() => {
  vi.stubEnv("LONGHAUL_STORE", join(base, "state"))
  root = join(base, `ws-${count}`)
  bin = join(base, `bin-${count++}`)
  for (const folder of [root, bin]) mkdirSync(folder)
  write("a.txt", "alpha\nbeta\n")
})
afterEach(async () => {
  vi.unstubAllEnvs()
  vi.doUnmock("@vscode/ripgrep")
  for (const tools of open.splice(0)) await tools.close()
})
afterAll(() => rmSync(base, { recursive: true, force: true }))

function write(path: string, content: string): void {
  mkdirSync(join(root, path, ".."), { recursive: true })
  writeFileSync(join(root, path), content)
}

/** A fake ripgrep: a script that runs instead of the real one. */
function fake(script: string, version = "ripgrep 15.0.0"): string {
  const path = join(bin, "rg")
  const answer = `if (process.argv.includes("--version")) console.log(${JSON.stringify(version)})\nelse {\n${script}\n}`
  writeFileSync(path, `#!${process.execPath}\nconst fs = require("node:fs")\n${answer}`, { mode: 0o755 })
  return path
}

function grep(args: JsonObject, ripgrepPath = rgPath, signal?: AbortSignal): Promise<string> {
  const tools = createAgentTools({ root, ripgrepPath })
  open.push(tools)
  return tools.callTool("Grep", args, signal && { signal }).then(({ text }) => text)
}

describe("choice of ripgrep", () => {
  test("the configured ripgrep takes precedence over the bundled one", { tags: ["HOST-07"] }, async () => {
    expect(await grep({ pattern: "a" }, fake('process.stdout.write("./a.txt\\0")'))).toBe("a.txt:1:alpha\na.txt:2:beta")
    write("b.txt", "alpha")
    // It does not report this.
    expect(await grep({ pattern: "alpha" }, join(bin, "rg"))).toBe("a.txt:1:alpha")
  })

  test("the bundled ripgrep is next, then the one on PATH, then none", { tags: ["HOST-07"] }, async () => {
    const onPath = fake("")
    expect(await findRipgrep({ path: bin })).toMatchObject({ path: rgPath })
    vi.doMock("@vscode/ripgrep", () => {
      throw new Error("not for this platform")
    })
    vi.resetModules()
    const { findRipgrep: find } = await import("./ripgrep.ts")
    expect(await find({ path: `${join(base, "nowhere")}${delimiter}${bin}` })).toEqual({
      path: onPath,
      version: "15.0.0",
    })
    expect(await find({ path: "" })).toBeUndefined()
    expect(await find({ path: "." })).toBeUndefined()
    fake("", "ripgrep 14.1.1")
    expect(await find({ path: bin })).toBeUndefined()
  })

  test.each([
    ["is not there", () => join(bin, "nowhere")],
    ["is no ripgrep", () => fake("", "grep 15")],
    ["is too old", () => fake("", "ripgrep 14.1.1")],
    ["cannot be run", () => join(root, "a.txt")],
  ])("a configured ripgrep that %s is a StartupError that names the doctor", { tags: ["TOOL-04"] }, (_, path) => {
    expect(() => createAgentTools({ root, ripgrepPath: path() })).toThrow(StartupError)
    try {
      createAgentTools({ root, ripgrepPath: path() })
    } catch (error) {
      expect(error).toMatchObject({ code: "config_invalid", fix: expect.stringContaining("longhaul doctor") })
    }
  })

  test("the command that the error names is the brand's", { tags: ["TOOL-04", "HOST-11"] }, () => {
    const ripgrepPath = join(bin, "nowhere")
    const advice = (act: () => unknown) => {
      try {
        act()
      } catch (error) {
        return error instanceof StartupError ? error.fix : error
      }
      return "nothing was thrown"
    }
    const brand = { doctorCommand: "acme check" }
    for (const fix of [
      advice(() => createAgentTools({ root, ripgrepPath, brand })),
      advice(() => nodeSearch({ roots: [root], ripgrepPath, brand })),
    ]) {
      expect(fix).toContain("`acme check` shows which one is found")
      expect(fix).not.toContain("longhaul")
    }
  })

  test("ripgrep is not started before the first search unless configured", { tags: ["TOOL-28"] }, async () => {
    const told = join(base, `started-${count}`)
    const path = fake(`fs.writeFileSync(${JSON.stringify(told)}, "")`)
    writeFileSync(
      path,
      readFileSync(path, "utf8").replace("if (", `fs.writeFileSync(${JSON.stringify(told)}, "")\nif (`),
    )
    vi.doMock("@vscode/ripgrep", () => ({ rgPath: path }))
    vi.resetModules()
    const { createAgentTools: create } = await import("../agent-tools.ts")
    const tools = create({ root })
    await tools.callTool("Read", { path: "a.txt" })
    expect(existsSync(told)).toBe(false)
    await tools.callTool("Grep", { pattern: "alpha" })
    expect(existsSync(told)).toBe(true)
    await tools.close()
  })
})

describe("ripgrep configuration", () => {
  test("neither an environment config file nor files written by a model configure ripgrep", async () => {
    writeFileSync(join(bin, "config"), "--invert-match\n--no-ignore\n")
    vi.stubEnv("RIPGREP_CONFIG_PATH", join(bin, "config"))
    write(".gitignore", "ignored.txt\n")
    write("ignored.txt", "alpha\n")
    write("options.txt", "--pre=/bin/echo\n-v\n")
    expect(await grep({ pattern: "alpha" })).toBe("a.txt:1:alpha")
    expect(await grep({ pattern: "--pre=/bin/echo" })).toBe("options.txt:1:--pre=/bin/echo")
    expect(await grep({ pattern: "-v" })).toBe("options.txt:2:-v")
    expect(await grep({ pattern: "a", glob: "--no-ignore" })).toBe("No matches.")
    expect(await grep({ pattern: "alpha", glob: "include:all,*" })).toBe("No matches.")
    mkdirSync(join(root, "--no-ignore"))
    write("--no-ignore/x.txt", "alpha\n")
    expect(await grep({ pattern: "alpha", path: "--no-ignore" })).toBe("--no-ignore/x.txt:1:alpha")
  })

  test("ripgrep sees none of our environment variables", async () => {
    vi.stubEnv("ANTHROPIC_API_KEY", "secret")
    const seen = join(base, `seen-${count}`)
    await grep({ pattern: "a" }, fake(`fs.writeFileSync(${JSON.stringify(seen)}, JSON.stringify(process.env))`))
    expect(readFileSync(seen, "utf8")).not.toContain("secret")
  })
})

describe("confinement of ripgrep", () => {
  test("ripgrep does not find files that Files would reject", async () => {
    const outside = join(base, `outside-${count}`)
    mkdirSync(outside)
    writeFileSync(join(outside, "secret.txt"), "alpha secret")
    symlinkSync(outside, join(root, "link"))
    symlinkSync(join(outside, "secret.txt"), join(root, "link.txt"))
    write(".longhaul/notes.txt", "alpha")
    write("longhaul.config.json", "alpha")
    write("sub/Longhaul.Policy.json", "alpha")
    expect(await grep({ pattern: "alpha" })).toBe("a.txt:1:alpha")
    for (const path of ["link", "..", outside, ".longhaul"]) {
      expect(JSON.parse(await grep({ pattern: "alpha", path })).error.code).toBe("denied")
    }
  })

  test.each([
    ["a folder", "fs.renameSync('sub', 'gone'); fs.symlinkSync(OUTSIDE, 'sub')"],
    ["a file", "fs.rmSync('sub/secret.txt'); fs.symlinkSync(OUTSIDE + '/secret.txt', 'sub/secret.txt')"],
  ])("%s swapped for a link during the search leads nowhere, and nothing is reported", async (_, swap) => {
    const outside = join(base, `outside-${count}`)
    mkdirSync(outside)
    writeFileSync(join(outside, "secret.txt"), "alpha secret")
    write("sub/secret.txt", "nothing")
    const script = `${swap.replaceAll("OUTSIDE", JSON.stringify(outside))}; process.stdout.write("./sub/secret.txt\\0./a.txt\\0")`
    expect(await grep({ pattern: "alpha" }, fake(script))).toBe("a.txt:1:alpha")
  })

  test("paths outside that ripgrep reports are not followed", async () => {
    const outside = join(base, `outside-${count}`)
    mkdirSync(outside)
    writeFileSync(join(outside, "secret.txt"), "alpha secret")
    const paths = [`../${`outside-${count}`}/secret.txt`, join(outside, "secret.txt"), "./.longhaul/x", "./a.txt"]
    const script = `process.stdout.write(${JSON.stringify(paths.map((path) => `${path}\0`).join(""))})`
    expect(await grep({ pattern: "alpha" }, fake(script))).toBe("a.txt:1:alpha")
  })
})

describe("fallback when ripgrep fails", () => {
  test.each([
    ["fails", "console.error('rg: regex parse error'); process.exit(2)"],
    ["fails without a word", "process.exit(2)"],
    ["crashes", "process.exit(101)"],
    ["is killed", "process.kill(process.pid, 'SIGKILL')"],
    ["never stops talking", "for (;;) fs.writeSync(1, './a.txt\\0'.repeat(10_000))"],
    ["never stops complaining", "for (;;) fs.writeSync(2, 'rg: ./a: no (os error 1)\\n'.repeat(10_000))"],
  ])("a ripgrep that %s falls back to reading all files", async (_, script) => {
    write("b.txt", "alpha\n")
    expect(await grep({ pattern: "alpha" }, fake(script))).toBe("a.txt:1:alpha\nb.txt:1:alpha")
  })

  test("a ripgrep that was deleted falls back to reading all files", async () => {
    const path = fake("")
    const tools = createAgentTools({ root, ripgrepPath: path })
    open.push(tools)
    rmSync(path)
    expect((await tools.callTool("Grep", { pattern: "alpha" })).text).toBe("a.txt:1:alpha")
  })

  test("unreadable paths are counted in their place", async () => {
    const script = `
      process.stdout.write("./a.txt\\0")
      console.error("rg: ./locked.txt: Permission denied (os error 13)\\nrg: ./b: c.txt: No such file (os error 2)")
      process.exit(2)`
    expect(await grep({ pattern: "alpha" }, fake(script))).toBe("a.txt:1:alpha\n[2 files could not be read]")
    expect(await grep({ pattern: "alpha", glob: "a*" }, join(bin, "rg"))).toBe("a.txt:1:alpha")
  })
})

test("a stopped search leaves no process", async () => {
  const told = join(base, `pid-${count}`)
  const controller = new AbortController()
  const path = fake(`fs.writeFileSync(${JSON.stringify(told)}, String(process.pid)); setInterval(() => {}, 1000)`)
  const pending = grep({ pattern: "alpha" }, path, controller.signal)
  await until(() => existsSync(told) && Number(readFileSync(told, "utf8")) > 0)
  controller.abort()
  expect(JSON.parse(await pending).error.code).toBe("aborted")
  const pid = Number(readFileSync(told, "utf8"))
  await until(() => !isAlive(pid))
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
