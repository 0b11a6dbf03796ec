import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, afterEach, describe, expect, test, vi } from "vitest"
import { ShellScene } from "../../../../test/support/shell-scene.ts"

const scene = new ShellScene()
afterAll(() => scene.dispose())
afterEach(() => vi.unstubAllEnvs())

/** A PATH with a shell's requirements, programs that mount nothing, and a `bwrap` only if given. */
function onPath(name: string, bwrap?: string): void {
  const folder = join(scene.base, name)
  mkdirSync(folder)
  for (const program of ["mkfifo", "sleep", "touch"]) {
    symlinkSync(
      execFileSync("/bin/sh", ["-c", `command -v ${program}`], { encoding: "utf8" }).trim(),
      join(folder, program),
    )
  }
  writeFileSync(join(folder, "mount"), "#!/bin/sh\n", { mode: 0o755 })
  writeFileSync(join(folder, "unshare"), '#!/bin/sh\nshift\nexec "$@"\n', { mode: 0o755 })
  if (bwrap !== undefined) writeFileSync(join(folder, "bwrap"), `#!/bin/sh\n${bwrap}\n`, { mode: 0o755 })
  vi.stubEnv("PATH", folder)
}

/** Runs the program without confinement. */
const pretender = 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"'

describe("a required sandbox", () => {
  test.each([
    ["is not installed", undefined, "bubblewrap (bwrap) is not on PATH"],
    ["does not start", "echo no namespaces here >&2; exit 1", "could not be run in it (no namespaces here)"],
    ["starts and says nothing", "exit 0", "could not be run in it (exit 0)"],
    ["keeps nothing inside", pretender, "wrote outside its folder"],
  ])("no command runs if the required sandbox %s", async (what, bwrap, why) => {
    onPath(what, bwrap)
    const shell = scene.shell({ sandbox: "required" })
    for (const command of ["touch ran", "touch again"]) {
      await expect(shell.run(scene.command(command))).rejects.toMatchObject({
        name: "ToolError",
        code: "denied",
        message: expect.stringMatching(/^sandbox_unavailable: /),
      })
      await expect(shell.start(scene.command(command))).rejects.toThrow(why)
    }
    expect(readdirSync(scene.root)).toEqual([])
    expect(shell.containment).toBe("sandbox")
  })

  test.each([
    ["nothing got out", "", undefined],
    ["its own folder cannot be written", 'fs.rmSync(task.inside + "/probe")', "write to its own folder"],
    ["a write got out", 'fs.writeFileSync(task.outside + "/probe", "")', "wrote outside its folder"],
    [
      "it could be mounted anew",
      'report.faults.push("could mount its file system anew")',
      "mount its file system anew",
    ],
    ["the rights of root are kept", 'report.faults.push("keeps the rights of root")', "keeps the rights of root"],
    ["TCP got out", 'await connected(net.connect(task.tcp, "127.0.0.1"))', "reached the network (TCP)"],
    ["UDP got out", 'await sent(task.udp, "127.0.0.1")', "reached the network (UDP)"],
    ["a process outlived it", 'spawn("sleep", ["20"], { detached: true, stdio: "inherit" }).unref()', "outlived it"],
  ])("the sandbox is tested from outside: %s", async (what, misdeed, why) => {
    onPath(what, "")
    writeFileSync(join(scene.base, what, "bwrap"), fake(misdeed), { mode: 0o755 })
    const shell = scene.shell({ sandbox: "required" })
    const running = shell.run(scene.command("true"))
    if (why === undefined) await expect(running).resolves.toMatchObject({ text: "through the sandbox\n", exitCode: 0 })
    else await expect(running).rejects.toThrow(why)
  })
})

test("a shell starts no helper program from a folder that its commands can write", async () => {
  const planted = join(scene.root, "node_modules", ".bin")
  mkdirSync(planted, { recursive: true })
  for (const name of ["bwrap", "mkfifo", "mount", "unshare"]) {
    writeFileSync(join(planted, name), `#!/bin/sh\necho x >> ${join(scene.base, "planted-ran")}\n`, { mode: 0o755 })
  }
  onPath("beside planted", "exit 1")
  vi.stubEnv("PATH", `${planted}:${process.env.PATH}`)
  await expect(scene.shell({ sandbox: "required" }).run(scene.command("true"))).rejects.toThrow("sandbox_unavailable")
  await scene.shell({ sandbox: "auto" }).run(scene.command("true"))
  expect(existsSync(join(scene.base, "planted-ran"))).toBe(false)
})

/** Behaves like the probe in a good sandbox, plus one violation. Commands just run. */
function fake(misdeed: string): string {
  return `#!${process.execPath}
    const fs = require("node:fs")
    const net = require("node:net")
    const { spawn } = require("node:child_process")
    const connected = (socket) => new Promise((resolve) => socket.on("close", resolve).resume())
    const sent = (...to) => {
      const socket = require("node:dgram").createSocket("udp4")
      return new Promise((resolve) => socket.send("x", ...to, () => socket.close(resolve)))
    }
    async function probe(task) {
      const report = { faults: [] }
      fs.writeFileSync(task.inside + "/probe", "")
      ${misdeed}
      process.stdout.write(JSON.stringify(report))
    }
    const last = process.argv.at(-1)
    if (last.startsWith("{")) probe(JSON.parse(last))
    else fs.writeSync(1, "through the sandbox\\n")
  `
}

describe("an optional sandbox", () => {
  test("a sandbox that does not work falls back to best effort and reports it", async () => {
    onPath("auto", pretender)
    const shell = scene.shell({ sandbox: "auto" })
    expect(await shell.run(scene.command("echo ran"))).toMatchObject({ text: "ran\n", exitCode: 0 })
    expect(shell.containment).toBe("best-effort")
  })

  test("the sandbox is off by default and then never tested", { tags: ["TOOL-35"] }, async () => {
    onPath("off", `: > ${join(scene.base, "tried")}`)
    const shell = scene.shell()
    expect(await shell.run(scene.command("echo ran"))).toMatchObject({ text: "ran\n", exitCode: 0 })
    expect(shell.containment).toBe("best-effort")
    expect(existsSync(join(scene.base, "tried"))).toBe(false)
  })
})
