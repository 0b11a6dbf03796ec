import { mkdirSync, readdirSync, symlinkSync } from "node:fs"
import { join, resolve } from "node:path"
import { afterAll, describe, expect, test, vi } from "vitest"
import { countLiving, isRunning, ShellScene, uniqueSleep } from "../../../../test/support/shell-scene.ts"
import { until } from "../../../../test/support/watchdog.ts"

const scene = new ShellScene()
const shell = scene.shell()
const run = (command: string, more = {}) => shell.run(scene.command(command, more))

afterAll(() => scene.dispose())

describe("a command", () => {
  test("a command is run by /bin/sh -c, whatever it starts with", { tags: ["TOOL-08"] }, async () => {
    expect(await run("echo $0 $#")).toMatchObject({ text: "/bin/sh 0\n", exitCode: 0, endedBy: "exit", running: false })
    expect(await run("-c")).toMatchObject({ text: expect.stringContaining("not found"), exitCode: 127 })
    expect(await run("echo \"$(printf '%s' 'a b')\" '$x'")).toMatchObject({ text: "a b $x\n" })
  })

  test("a command's standard output and error are returned in order", async () => {
    const { text, bytes, leftOutBytes } = await run("for i in 1 2 3; do echo out$i; echo err$i >&2; done")
    expect(text).toBe("out1\nerr1\nout2\nerr2\nout3\nerr3\n")
    expect([bytes, leftOutBytes]).toEqual([30, 0])
  })

  test("a command can open its output by name", async () => {
    expect((await run("echo a >/dev/stdout; echo b >/dev/stderr; echo c | tee /dev/stderr")).text).toBe("a\nb\nc\nc\n")
  })

  test("a command's exit code or signal is returned", async () => {
    expect(await run("exit 3")).toMatchObject({ exitCode: 3, endedBy: "exit" })
    expect(await run("kill -KILL $$")).toMatchObject({ exitCode: null, endedBy: "signal", signalName: "SIGKILL" })
  })

  test("a command has no input", async () => {
    expect(await run("cat; read line; echo $?")).toMatchObject({ text: "1\n", exitCode: 0 })
  })

  test("a command's output is reported while it runs", async () => {
    const heard: string[] = []
    const running = run("echo first; until [ -e go ]; do sleep 0.05; done; echo last", {
      onOutput: (text: string) => heard.push(text),
    })
    await until(() => heard.length > 0)
    expect(heard).toEqual(["first\n"])
    await run("touch go")
    await running
    expect(heard.join("")).toBe("first\nlast\n")
  })

  test("a failing progress listener does not affect the command", async () => {
    const onOutput = () => {
      throw new Error("no")
    }
    expect(await run("echo a; sleep 0.2; echo b", { onOutput })).toMatchObject({ text: "a\nb\n", exitCode: 0 })
  })

  test("a timeout longer than a timer allows does not fire immediately", async () => {
    expect(await run("sleep 0.1; echo done", { timeoutMs: 2 ** 40 })).toMatchObject({ text: "done\n", endedBy: "exit" })
  })

  test("a command that cannot be started is rejected", async () => {
    await expect(run(`: ${"x".repeat(200_000)}`)).rejects.toMatchObject({ name: "ToolError", code: "invalid_input" })
    await expect(run("echo a\0b")).rejects.toMatchObject({ name: "ToolError", code: "invalid_input" })
    await expect(run("echo a", { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "aborted" })
  })
})

describe("the working directory", () => {
  test("the working directory is inside the root, with links resolved", async () => {
    mkdirSync(join(scene.root, "sub"))
    symlinkSync("sub", join(scene.root, "link"))
    expect((await run("pwd -P", { cwd: join(scene.root, "link") })).text).toBe(`${scene.root}/sub\n`)
    expect((await run("pwd -P", { cwd: "sub" })).text).toBe(`${scene.root}/sub\n`)
  })

  test.each([
    ["outside", "/", "denied"],
    ["a sibling whose name begins the same", "../root-evil", "denied"],
    ["behind a link that leads outside", "out", "denied"],
    ["missing", "nowhere", "not_found"],
  ])("the working directory is rejected: %s", async (_, cwd, code) => {
    mkdirSync(`${scene.root}-evil`, { recursive: true })
    if (!readdirSync(scene.root).includes("out")) symlinkSync(scene.base, join(scene.root, "out"))
    await expect(run("pwd", { cwd: resolve(scene.root, cwd) })).rejects.toMatchObject({ name: "ToolError", code })
  })
})

describe("the environment", () => {
  test("the environment contains only the named variables", async () => {
    vi.stubEnv("SENTINEL_API_KEY", "sentinel-one")
    vi.stubEnv("SENTINEL_PASSED", "passed-on")
    vi.stubEnv("LC_ALL", "C")
    try {
      const other = scene.shell({ env: { GIVEN: "given", TERM: "vt100" }, passEnv: ["SENTINEL_PASSED"] })
      const [plain, named] = await Promise.all([shell, other].map((each) => each.run(scene.command("env"))))
      expect(plain?.text).not.toContain("SENTINEL")
      expect(plain?.text).toMatch(/^LC_ALL=C$/m)
      expect(plain?.text).toMatch(/^TERM=dumb$/m)
      expect(named?.text).not.toContain("sentinel-one")
      expect(named?.text).toMatch(/^SENTINEL_PASSED=passed-on$/m)
      expect(named?.text).toMatch(/^GIVEN=given$/m)
      expect(named?.text).toMatch(/^TERM=vt100$/m)
    } finally {
      vi.unstubAllEnvs()
    }
  })
})

describe("a background command", () => {
  const { signal } = new AbortController()

  test("a background command keeps running, returns new output, and keeps its last output", async () => {
    const line = "echo one; until [ -e two ]; do sleep 0.02; done; echo two; exit 4"
    const { shellId } = await shell.start(scene.command(line))
    let heard = ""
    const hasSaid = async (words: string) => {
      heard += (await shell.poll(shellId)).text
      return heard === words
    }
    await until(() => hasSaid("one\n"))
    expect(await shell.poll(shellId)).toMatchObject({ text: "", bytes: 4, running: true, exitCode: null })
    await run("touch two")
    await until(() => hasSaid("one\ntwo\n"))
    await until(async () => !(await shell.poll(shellId)).running)
    expect(await shell.poll(shellId)).toMatchObject({ text: "", bytes: 8, running: false, exitCode: 4 })
  })

  test("stopping a background command kills its children", async () => {
    const sleep = uniqueSleep()
    const { shellId } = await shell.start(
      scene.command(`(setsid ${sleep} >/dev/null 2>&1 &); echo up; ${sleep} & wait`),
    )
    await until(() => countLiving(sleep) >= 3)
    expect(await shell.stop(shellId)).toMatchObject({ text: "up\n", running: false })
    expect(countLiving(sleep)).toBe(0)
    await expect(shell.poll(shellId)).resolves.toMatchObject({ running: false })
  })

  test("a background command may outlive its shell call, is readable and can be stopped", async () => {
    const [heard, silent] = [uniqueSleep(), uniqueSleep()]
    const line = `${silent} >/dev/null 2>&1 & ${heard} & echo up`
    const { shellId } = await shell.start(scene.command(line))
    await until(() => countLiving(heard) === 1 && countLiving(silent) === 1)
    expect(await shell.poll(shellId)).toMatchObject({ running: true })
    await shell.stop(shellId)
    expect([countLiving(heard), countLiving(silent)]).toEqual([0, 0])
  })

  test("an ended background command can be stopped to kill its children, without new output", async () => {
    const sleep = uniqueSleep()
    const { shellId } = await shell.start(scene.command(`${sleep} >/dev/null 2>&1 & echo up`))
    await until(async () => !(await shell.poll(shellId)).running)
    await until(() => isRunning(sleep))
    await shell.stop(shellId)
    expect(countLiving(sleep)).toBe(0)
  })

  test("a background command is killed by its signal", async () => {
    const sleep = uniqueSleep()
    const stop = new AbortController()
    const { shellId } = await shell.start(scene.command(sleep, { signal: stop.signal }))
    await until(() => countLiving(sleep) > 0)
    stop.abort()
    await until(async () => !(await shell.poll(shellId)).running)
    expect(countLiving(sleep)).toBe(0)
  })

  test("an unknown shellId is not_found, and too many background commands are rejected", async () => {
    await expect(shell.poll("shell_00000000")).rejects.toMatchObject({ name: "ToolError", code: "not_found" })
    const crowded = scene.shell()
    for (let count = 0; count < 16; count++) await crowded.start(scene.command(uniqueSleep(), { signal }))
    await expect(crowded.start(scene.command("true"))).rejects.toMatchObject({ name: "ToolError", code: "conflict" })
  })
})

describe("close", () => {
  test("close kills all commands, including those in other sessions, and rejects later calls", async () => {
    const closing = scene.shell()
    const [inFront, behind, daemon] = [uniqueSleep(), uniqueSleep(), uniqueSleep()]
    await closing.run(scene.command(`setsid ${daemon} >/dev/null 2>&1 & sleep 0.1`))
    expect(countLiving(daemon)).toBe(1)
    const running = closing.run(scene.command(inFront))
    await closing.start(scene.command(behind))
    await until(() => countLiving(inFront) > 0 && countLiving(behind) > 0)
    await closing.close()
    expect([inFront, behind, daemon].map(countLiving)).toEqual([0, 0, 0])
    expect(await running).toMatchObject({ endedBy: "abort" })
    await expect(closing.run(scene.command("true"))).rejects.toMatchObject({ name: "ToolError", code: "denied" })
  })

  test("close leaves no file if no output was long", async () => {
    const before = readdirSync(scene.spillFolder)
    const closing = scene.shell()
    await closing.run(scene.command("echo a"))
    expect(readdirSync(scene.spillFolder)).toHaveLength(before.length + 1)
    await closing.close()
    expect(readdirSync(scene.spillFolder)).toEqual(before)
  })
})

describe("invalid shell settings are config_invalid immediately", () => {
  test.each([
    ["a root that is not there", { root: "/nowhere/at/all" }, "does not exist"],
    ["a list of hosts", { sandbox: "required", network: { allow: ["example.com"] } }, "list of hosts"],
    ["a closed network without a sandbox", { network: "none" }, "without a sandbox"],
    ["a spill folder inside the root", { spillFolder: join(scene.root, "spill") }, "is inside the root"],
    ["a system folder in a sandbox", { sandbox: "auto", root: "/" }, "belongs to the system"],
    ["a read-only system folder in a sandbox", { sandbox: "auto", readOnlyRoots: ["/etc"] }, "belongs to the system"],
  ] as const)("%s is config_invalid immediately", (_, options, message) => {
    expect(() => scene.shell(options)).toThrow(expect.objectContaining({ code: "config_invalid" }))
    expect(() => scene.shell(options)).toThrow(message)
  })
})
