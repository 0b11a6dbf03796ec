import { execFileSync } from "node:child_process"
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { afterAll, afterEach, describe, expect, test, vi } from "vitest"
import { countAttacks } from "../support/count-attacks.ts"
import { ShellScene } from "../support/shell-scene.ts"

const attacks = countAttacks("sandbox escapes")

// A sandbox has its own /tmp: files next to the root must not be in there.
const scene = new ShellScene("/var/tmp")
const readOnlyRoots = process.execPath.startsWith("/usr/") ? [] : [dirname(dirname(process.execPath))]
const sandboxed = { sandbox: "required", readOnlyRoots } as const
const shell = scene.shell(sandboxed)
const run = (command: string, of = shell) => of.run(scene.command(command, { timeoutMs: 60_000 }))

afterAll(() => scene.dispose())
afterEach(() => vi.unstubAllEnvs())

/** Runs JavaScript inside the sandbox and returns the lines that it printed. */
async function inside(script: string): Promise<readonly string[]> {
  writeFileSync(join(scene.root, "attack.cjs"), script)
  const { text, exitCode } = await run(`${process.execPath} attack.cjs`)
  expect(exitCode, text).toBe(0)
  return text.split("\n").filter((line) => line !== "")
}

describe("a sandboxed command of root", () => {
  test("a sandboxed root command cannot change a kernel setting", async () => {
    const settings = ["kernel/core_pattern", "kernel/hotplug", "kernel/modprobe", "vm/overcommit_memory", "fs/file-max"]
    const present = settings
      .map((name) => `/proc/sys/${name}`)
      .filter((path) => statSync(path, { throwIfNoEntry: false }))
    expect(present.length).toBeGreaterThan(2)
    const before = present.map((path) => readFileSync(path, "utf8"))
    for (const [index, path] of present.entries()) {
      // The same value again: the attempt must fail, and would do no harm.
      const { exitCode, text } = await run(`printf %s '${before[index]?.trim()}' > ${path}`)
      expect([path, exitCode === 0, text]).toEqual([path, false, expect.stringContaining("Read-only file system")])
    }
    expect(present.map((path) => readFileSync(path, "utf8"))).toEqual(before)
  })

  test("a sandboxed root command can open only memoryless devices for writing below /proc, /sys and /dev", async () => {
    const lines = await inside(`
      const fs = require("node:fs")
      let tried = 0
      function walk(folder) {
        let entries = []
        try { entries = fs.readdirSync(folder, { withFileTypes: true }) } catch {}
        for (const entry of entries) {
          const path = folder + "/" + entry.name
          if (entry.isSymbolicLink() || /^\\/proc\\/\\d+\\/(task|fd|map_files|ns)$/.test(path)) continue
          if (entry.isDirectory()) { walk(path); continue }
          tried++
          try {
            fs.closeSync(fs.openSync(path, fs.constants.O_WRONLY | fs.constants.O_NONBLOCK | fs.constants.O_NOCTTY))
            console.log(path)
          } catch {}
        }
      }
      for (const top of ["/proc", "/sys", "/dev"]) walk(top)
      console.log(tried)
    `)
    const tried = Number(lines.at(-1))
    attacks.tried(tried)
    expect(tried).toBeGreaterThan(500)
    expect(lines.slice(0, -1).toSorted()).toEqual(
      ["full", "null", "pts/ptmx", "random", "urandom", "zero"].map((name) => `/dev/${name}`),
    )
  })

  test("a sandboxed root command cannot change machine files through an inherited handle", async () => {
    const nodes = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"]
    const before = nodes.map((path) => [statSync(path).mode, statSync(path).mtimeMs])
    const lines = await inside(`
      const fs = require("node:fs")
      const handles = ["1", "self", "thread-self"].flatMap((of) => [
        "/proc/" + of + "/exe",
        ...fs.readdirSync("/proc/" + of + "/fd").map((name) => "/proc/" + of + "/fd/" + name),
      ])
      for (const path of ${JSON.stringify(nodes)}.concat(handles)) {
        try {
          const stats = fs.statSync(path)
          // The pipes for input and output belong to this command alone.
          if (stats.isFIFO() || stats.isSocket()) continue
          for (const change of [
            () => fs.chmodSync(path, stats.mode & 0o7777),
            () => fs.chownSync(path, stats.uid, stats.gid),
            () => fs.utimesSync(path, stats.atime, stats.mtime),
          ]) try { change(); console.log(path + " " + change) } catch {}
        } catch {}
      }
    `)
    expect(lines).toEqual([])
    expect(nodes.map((path) => [statSync(path).mode, statSync(path).mtimeMs])).toEqual(before)
  })

  test("a sandboxed root command can use the devices that programs need", async () => {
    const { text } = await run("echo lost > /dev/null; head -c 4 /dev/urandom | wc -c; cat; readlink /proc/self/fd/0")
    expect(text).toBe("4\n/dev/null\n")
  })

  test.each([
    "unshare --user true",
    "unshare --user --map-root-user --mount true",
    "unshare --mount true",
    "unshare --user --map-root-user --mount --pid --fork mount -t proc proc /tmp",
    "unshare --user --map-root-user --mount --cgroup mount -t cgroup2 none /tmp",
    "unshare --user --map-root-user --net --mount mount -t sysfs none /tmp",
    "mount -t tmpfs none /usr",
    "mount -o remount,rw /proc",
    "mount -o remount,bind,rw /proc",
    "mount -o remount,bind,rw /dev/null",
    "umount /proc",
    "mknod disk b 8 0",
    "mknod /tmp/mem c 1 1",
    "nsenter --target 1 --mount true",
    "chroot . true",
    "hostname elsewhere",
    "date -s 2020-01-01",
  ])("a sandboxed root command is denied: %s", async (line) => {
    expect((await run(line)).exitCode).not.toBe(0)
  })
})

describe("the sandbox self-test rejects a bubblewrap", () => {
  const real = execFileSync("/bin/sh", ["-c", "command -v bwrap"], { encoding: "utf8" }).trim()
  const passOn = (each: string) => `for each; do shift; ${each}; set -- "$@" "$each"; done; exec ${real} "$@"`

  test.each([
    [
      "that leaves the kernel's settings writable",
      { bwrap: passOn('[ "$last" = --remount-ro ] && each=/usr; last=$each') },
      "could change the kernel's settings",
    ],
    [
      "that lets programs make user namespaces",
      { bwrap: passOn('[ "$each" = --disable-userns ] && continue') },
      "could make a user namespace of its own",
    ],
    ["that leaves device nodes writable", { mount: "exit 0" }, "could change a device of the machine"],
    ["that can be changed itself", { mount: "exit 0" }, "could change the program that makes it"],
    [
      "that hands a folder of the machine in",
      { bwrap: `exec 9</; exec ${real} "$@"` },
      "has files of the machine open",
    ],
    ["that keeps capabilities", { bwrap: passOn('[ "$each" = ALL ] && each=CAP_KILL') }, "keeps the rights of root"],
  ])("the sandbox self-test rejects a bubblewrap %s", async (what, programs, fault) => {
    const folder = join(scene.base, what.replaceAll(/\W/g, "-"))
    mkdirSync(folder)
    for (const [name, script] of Object.entries(programs)) {
      writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`)
      chmodSync(join(folder, name), 0o755)
    }
    vi.stubEnv("PATH", `${folder}:${process.env.PATH}`)
    await expect(run("true", scene.shell(sandboxed))).rejects.toThrow(fault)
  })
})
