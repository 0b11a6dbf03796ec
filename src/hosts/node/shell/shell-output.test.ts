import { createHash } from "node:crypto"
import { createReadStream, existsSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { pipeline } from "node:stream/promises"
import { afterAll, describe, expect, test } from "vitest"
import { ShellHost, ShellScene } from "../../../../test/support/shell-scene.ts"
import { until } from "../../../../test/support/watchdog.ts"

const scene = new ShellScene()
const shell = scene.shell()
const run = (command: string, more = {}) => shell.run(scene.command(command, more))

afterAll(() => scene.dispose())

async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256")
  await pipeline(createReadStream(path), hash)
  return hash.digest("hex")
}

describe("long command output", () => {
  test("long output is shown by its ends and saved completely in a file", { tags: ["TOOL-26", "OFF-15"] }, async () => {
    const copy = join(scene.root, "copy")
    const result = await run("head -c 3000000 /dev/urandom | base64 | tee copy")
    const size = statSync(copy).size
    expect(result).toMatchObject({ bytes: size, spilledBytes: size, leftOutBytes: size - 64 * 1024, exitCode: 0 })
    expect(await hashOf(result.spillPath ?? "")).toBe(await hashOf(copy))
    const whole = readFileSync(copy, "latin1")
    const marker = `\n[… ${result.leftOutBytes} bytes omitted …]\n`
    expect(result.text).toBe(`${whole.slice(0, 32 * 1024)}${marker}${whole.slice(-32 * 1024)}`)
    expect(statSync(result.spillPath ?? "").mode & 0o777).toBe(0o600)
  })

  test("long output is cut at the caller's limit", async () => {
    const fitting = await run("printf %0100d 1", { maxOutputBytes: 100 })
    expect(fitting).toMatchObject({ bytes: 100, leftOutBytes: 0, text: expect.stringMatching(/^0{99}1$/) })
    expect(fitting.spillPath).toBeUndefined()
    const { text, spillPath } = await run("printf %0100d 1", { maxOutputBytes: 10 })
    expect(text).toBe("00000\n[… 90 bytes omitted …]\n00001")
    expect(readFileSync(spillPath ?? "", "utf8")).toBe(`${"0".repeat(99)}1`)
  })

  test("output is cut between characters, and invalid UTF-8 is replaced", async () => {
    const { text } = await run("i=0; while [ $i -lt 200 ]; do printf '€'; i=$((i+1)); done", { maxOutputBytes: 100 })
    expect(text).toMatch(/^€{16}\n\[… 504 bytes omitted …\]\n€{16}$/)
    expect((await run("printf 'a\\377b'")).text).toBe("a\ufffdb")
  })

  test("long output is saved up to a limit and counted beyond it", async () => {
    const small = scene.shell({ maxSpillBytes: 150_000 })
    const result = await small.run(scene.command("head -c 400000 /dev/zero"))
    expect(result).toMatchObject({ bytes: 400_000, spilledBytes: 150_000, exitCode: 0 })
    expect(statSync(result.spillPath ?? "").size).toBe(150_000)
  })

  test("long output that cannot be saved is reported as such", async () => {
    const unlucky = scene.shell()
    const { spillPath = "" } = await unlucky.run(scene.command("head -c 100000 /dev/zero"))
    mkdirSync(spillPath.replace(/1\.txt$/, "2.txt"))
    const result = await unlucky.run(scene.command("head -c 100000 /dev/zero; echo end"))
    expect(result).toMatchObject({ bytes: 100_004, leftOutBytes: 100_004 - 64 * 1024, exitCode: 0 })
    expect(result.text).toMatch(/end\n$/)
    expect(result).not.toHaveProperty("spillPath")
  })

  test("a background command's output file is complete, however often it was polled", async () => {
    const line = "head -c 200000 /dev/zero; until [ -e on ]; do sleep 0.02; done; echo more"
    const { shellId } = await shell.start(scene.command(line))
    await until(async () => (await shell.poll(shellId)).bytes === 200_000)
    await run("touch on")
    await until(async () => !(await shell.poll(shellId)).running)
    const last = await shell.poll(shellId)
    expect(last).toMatchObject({ text: "", bytes: 200_005, spilledBytes: 200_005, exitCode: 0 })
    expect(readFileSync(last.spillPath ?? "", "utf8")).toMatch(/\0more\n$/)
  })

  test("old output files are removed by a later shell, recent ones are kept", async () => {
    const old = scene.shell()
    const [gone, kept] = [await old.run(scene.command("seq 20000")), await old.run(scene.command("seq 20000"))]
    await old.close()
    const longAgo = Date.now() / 1000 - 8 * 24 * 3600
    utimesSync(gone.spillPath ?? "", longAgo, longAgo)
    await scene.shell().run(scene.command("true"))
    expect([gone, kept].map(({ spillPath = "" }) => existsSync(spillPath))).toEqual([false, true])
    const folder = dirname(kept.spillPath ?? "")
    expect(readdirSync(folder)).toEqual([basename(kept.spillPath ?? "")])
    utimesSync(kept.spillPath ?? "", longAgo, longAgo)
    await scene.shell().run(scene.command("true"))
    expect(existsSync(folder)).toBe(false)
  })
})

test("200 MB of output without a line break uses little memory", async () => {
  const host = await ShellHost.in(scene.base)
  const script = `
    const { text, ...result } = await shell.run(command("head -c 200000000 /dev/zero | tr '\\\\0' x"))
    say({ ...result, shown: text.length, maxRss: process.resourceUsage().maxRSS * 1024 })
    await shell.close()
  `
  const { said } = host.start({ root: scene.root, spillFolder: scene.spillFolder }, script)
  const result = JSON.parse(await said)
  console.log(`200 MB of output: ${Math.round(result.maxRss / 1e6)} MB of memory at most, ${result.durationMs} ms`)
  expect(result).toMatchObject({ bytes: 200_000_000, spilledBytes: 200_000_000, endedBy: "exit", exitCode: 0 })
  expect(result.shown).toBeLessThan(66_000)
  expect(result.maxRss).toBeLessThan(100_000_000)
  expect(statSync(result.spillPath).size).toBe(200_000_000)
  const expected = createHash("sha256")
  for (let count = 0; count < 200; count++) expected.update("x".repeat(1_000_000))
  expect(await hashOf(result.spillPath)).toBe(expected.digest("hex"))
})
