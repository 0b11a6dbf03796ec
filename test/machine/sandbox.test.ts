import { createSocket } from "node:dgram"
import { once } from "node:events"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
import { dirname, join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { countLiving, isRunning, ShellHost, ShellScene, uniqueSleep } from "../support/shell-scene.ts"
import { until } from "../support/watchdog.ts"

// A sandbox has its own /tmp: files next to the root must not be in there.
const scene = new ShellScene("/var/tmp")
/** Node itself, if it is not installed with the system. */
const readOnlyRoots = process.execPath.startsWith("/usr/") ? [] : [dirname(dirname(process.execPath))]
const sandboxed = { root: scene.root, spillFolder: scene.spillFolder, sandbox: "required", readOnlyRoots } as const
const shell = scene.shell(sandboxed)
const bare = scene.shell()
const run = (command: string, more = {}) => shell.run(scene.command(command, more))

afterAll(() => scene.dispose())

test("the sandbox passes its self-test", async () => {
  expect(await run("echo inside; exit 3")).toMatchObject({ text: "inside\n", exitCode: 3 })
  expect(shell.containment).toBe("sandbox")
  const auto = scene.shell({ ...sandboxed, sandbox: "auto" })
  await auto.run(scene.command("true"))
  expect(auto.containment).toBe("sandbox")
})

describe("files in the sandbox", () => {
  test("files in the root are writable", async () => {
    expect(await run("mkdir -p sub && cd sub && echo kept > a && cat a")).toMatchObject({ text: "kept\n", exitCode: 0 })
    expect(readFileSync(join(scene.root, "sub/a"), "utf8")).toBe("kept\n")
  })

  test.each(["../outside", "..", "/usr", "/etc", "/", "/var/tmp", "/root", "/home"])(
    "files in %s are not writable",
    async (place) => {
      mkdirSync(join(scene.base, "outside"), { recursive: true })
      const { exitCode } = await run(`echo x > ${place}/longhaul-was-here`)
      expect(exitCode).not.toBe(0)
      expect(existsSync(join(scene.root, place, "longhaul-was-here"))).toBe(false)
      expect(existsSync(join(place, "longhaul-was-here"))).toBe(false)
    },
  )

  test("other files of the machine are invisible", async () => {
    writeFileSync(join(scene.base, "secret"), "sentinel")
    expect((await bare.run(scene.command("cat ../secret; cat /etc/shadow | wc -l"))).text).toMatch(/^sentinel[1-9]/)
    const { text } = await run("cat ../secret; cat /etc/shadow; ls -A /root /home /run /sys /opt")
    expect(text).not.toMatch(/sentinel|root:/)
    expect(
      text
        .trim()
        .split("\n")
        .every((line) => /No such file or directory$/.test(line)),
    ).toBe(true)
  })

  test("temporary files are private and deleted with the command", async () => {
    expect(await run("echo x > /tmp/a && echo y > ~/b && cat /tmp/a ~/b")).toMatchObject({
      text: "x\ny\n",
      exitCode: 0,
    })
    expect((await run("ls -A /tmp/a ~")).text).toMatch(/cannot access '\/tmp\/a'/)
  })

  test("files that control the run are readable, not writable", async () => {
    mkdirSync(join(scene.root, ".longhaul"))
    writeFileSync(join(scene.root, ".longhaul/record"), "as it was")
    writeFileSync(join(scene.root, "longhaul.config.json"), "{}")
    await run(
      "echo x > .longhaul/record; rm -rf .longhaul; mv .longhaul away; echo x > longhaul.config.json; rm longhaul.config.json",
    )
    expect(readFileSync(join(scene.root, ".longhaul/record"), "utf8")).toBe("as it was")
    expect(readFileSync(join(scene.root, "longhaul.config.json"), "utf8")).toBe("{}")
    expect(readdirSync(scene.root)).not.toContain("away")
  })

  test("files with long output are readable, not writable", async () => {
    const { spillPath, bytes } = await run("seq 20000")
    expect((await run(`wc -c < ${spillPath}`)).text.trim()).toBe(String(bytes))
    expect((await run(`echo x > ${spillPath}`)).exitCode).not.toBe(0)
    const others = readdirSync(scene.spillFolder).filter((name) => !spillPath?.includes(name))
    expect((await run(`ls ${scene.spillFolder}`)).text.split("\n")).not.toEqual(expect.arrayContaining(others))
  })

  test("read-only roots are read-only, also inside the root", async () => {
    const given = join(scene.root, "given")
    mkdirSync(given)
    writeFileSync(join(given, "a"), "a")
    const narrow = scene.shell({ ...sandboxed, readOnlyRoots: [...readOnlyRoots, given] })
    expect(await narrow.run(scene.command("cat given/a; echo x > given/a"))).toMatchObject({
      text: expect.stringMatching(/^a.*Read-only/s),
    })
    expect(readFileSync(join(given, "a"), "utf8")).toBe("a")
  })

  test("file systems cannot be remounted", async () => {
    for (const line of ["remount,rw,bind /usr", "remount,rw /usr", "remount,rw,bind /"]) {
      const { exitCode } = await run(`mount -o ${line} 2>/dev/null && echo x > /usr/longhaul-was-here`)
      expect(exitCode).not.toBe(0)
    }
    expect(existsSync("/usr/longhaul-was-here")).toBe(false)
    expect((await run("grep ^Cap /proc/self/status")).text).toMatch(/^(Cap...:\t0{16}\n){5}$/)
    expect((await run("unshare -rm sh -c 'mount -o remount,rw,bind /usr && echo got out'")).text).not.toContain(
      "got out",
    )
  })
})

describe("network in the sandbox", () => {
  const heard: string[] = []
  const tcp = createServer((socket) => {
    heard.push("TCP")
    socket.end()
  })
  const udp = createSocket("udp4", () => heard.push("UDP"))
  let reach = ""

  beforeAll(async () => {
    tcp.listen(0, "127.0.0.1")
    udp.bind(0, "127.0.0.1")
    await Promise.all([once(tcp, "listening"), once(udp, "listening")])
    reach = `${process.execPath} -e '
      const socket = require("dgram").createSocket("udp4")
      socket.send("x", ${udp.address().port}, "127.0.0.1", () => socket.close())
      require("net").connect(${(tcp.address() as AddressInfo).port}, "127.0.0.1").on("error", console.log).resume()
    '`
  })
  afterAll(() => {
    tcp.close()
    udp.close()
  })

  test("the network is unreachable by TCP and UDP", async () => {
    expect((await run(reach)).text).toContain("ECONNREFUSED")
    await pause(100)
    expect(heard).toEqual([])
  })

  test("the network is reachable if allowed", async () => {
    const open = scene.shell({ ...sandboxed, network: "all" })
    await open.run(scene.command(reach))
    await until(() => heard.length === 2)
    expect(heard.toSorted()).toEqual(["TCP", "UDP"])
    expect(open.containment).toBe("sandbox")
  })
})

describe("processes in the sandbox", () => {
  test("sandboxed processes see neither this process nor its data", async () => {
    vi.stubEnv("SENTINEL_API_KEY", "sentinel-two")
    const pid = process.pid
    expect((await run(`kill -0 ${pid} || cat /proc/${pid}/environ; cat /proc/*/environ`)).text).not.toContain(
      "sentinel-two",
    )
    vi.unstubAllEnvs()
    const numbers: Readonly<Record<string, number>> = { x64: 101, arm64: 117 }
    const attach = `perl -e 'print syscall(${numbers[process.arch]}, 16, ${pid}, 0, 0), " ", $! + 0'`
    // No such process: not merely one that may not be traced.
    expect((await run(attach)).text).toBe("-1 3")
    expect((await run("ls /proc | grep -c '^[0-9]'")).text.trim()).toMatch(/^[1-9]$/)
  })

  /** A process that tries every escape at once. */
  const escapee = (sleep: string) => `(env -i setsid sh -c "trap '' TERM HUP; ${sleep} & ${sleep}" >/dev/null 2>&1 &)`

  test("sandboxed processes do not survive their command", async () => {
    const sleep = uniqueSleep()
    expect(await run(`${escapee(sleep)}; sleep 0.3; ps -e -o args | grep -c '^${sleep}'`)).toMatchObject({
      text: "2\n",
    })
    expect(countLiving(sleep)).toBe(0)
  })

  test("sandboxed processes do not survive a timeout, an abort or a stop", async () => {
    const [timedOut, aborted, stopped] = [uniqueSleep(), uniqueSleep(), uniqueSleep()]
    const line = (sleep: string) => `${escapee(sleep)}; trap '' TERM; ${sleep}; ${sleep}`
    const abort = new AbortController()
    const [background, ...running] = await Promise.all([
      shell.start(scene.command(line(stopped))),
      run(line(timedOut), { timeoutMs: 1000 }),
      (async () => {
        const ending = run(line(aborted), { signal: abort.signal })
        await until(() => isRunning(aborted))
        abort.abort()
        return ending
      })(),
    ])
    expect(running.map(({ endedBy }) => endedBy)).toEqual(["timeout", "abort"])
    await shell.stop(background.shellId)
    expect([timedOut, aborted, stopped].map(countLiving)).toEqual([0, 0, 0])
  })

  test("sandboxed processes may clean up before they are killed", async () => {
    const line = "trap 'echo tidy; exit 3' TERM; echo begun; sleep 20 & wait"
    expect(await run(line, { timeoutMs: 500 })).toMatchObject({
      text: "begun\ntidy\n",
      exitCode: 3,
      endedBy: "timeout",
    })
  })

  test("sandboxed processes do not survive this process, even if it is killed", async () => {
    const host = await ShellHost.in(scene.base)
    const [inFront, behind] = [uniqueSleep(), uniqueSleep()]
    const script = `
      await shell.start(command(${JSON.stringify(`${escapee(behind)}; ${behind}`)}))
      await shell.run(command(${JSON.stringify(`${escapee(inFront)}; ${inFront}`)}))
    `
    const running = host.start(sandboxed, script)
    await until(() => isRunning(inFront) && isRunning(behind))
    running.kill("SIGKILL")
    await running.said
    await until(() => countLiving(inFront) + countLiving(behind) === 0)
  })
})
