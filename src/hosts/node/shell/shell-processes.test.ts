import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { countLiving, isRunning, ShellHost, ShellScene, uniqueSleep } from "../../../../test/support/shell-scene.ts"
import { until } from "../../../../test/support/watchdog.ts"

const scene = new ShellScene()
const shell = scene.shell()
const options = { root: scene.root, spillFolder: scene.spillFolder }
let host: ShellHost

beforeAll(async () => {
  host = await ShellHost.in(scene.base)
})
afterAll(() => scene.dispose())

/** Each leaves a `sleep` behind that the previous approach would not catch. */
const escapes: readonly (readonly [what: string, line: (sleep: string) => string])[] = [
  ["is an ordinary child", (sleep) => sleep],
  ["ignores TERM", (sleep) => `trap '' TERM; ${sleep}`],
  ["is the child of a child that ignores TERM", (sleep) => `sh -c "trap '' TERM; ${sleep}; ${sleep}"; :`],
  ["has a session of its own", (sleep) => `setsid ${sleep} & wait`],
  ["is forked twice into a session of its own", (sleep) => `(setsid sh -c '${sleep} & ${sleep}' &) ; ${sleep}`],
  ["has a session of its own and an empty environment", (sleep) => `env -i setsid ${sleep} & wait`],
  [
    "has a session of its own and an empty environment, and ignores TERM",
    (sleep) => `env -i setsid sh -c "trap '' TERM; ${sleep}; ${sleep}" & wait`,
  ],
  ["has closed its output", (sleep) => `(setsid ${sleep} >/dev/null 2>&1 &) ; ${sleep}`],
]

describe.concurrent.each(escapes)("a child that %s", (_, line) => {
  test("an abort kills the child", async () => {
    const sleep = uniqueSleep()
    const stop = new AbortController()
    const running = shell.run(scene.command(`echo begun; ${line(sleep)}`, { signal: stop.signal }))
    await until(() => isRunning(sleep))
    stop.abort()
    expect(await running).toMatchObject({ text: "begun\n", endedBy: "abort", exitCode: null, running: false })
    expect(countLiving(sleep)).toBe(0)
  })

  test("a timeout kills the child", async () => {
    const sleep = uniqueSleep()
    const result = await shell.run(scene.command(`echo begun; ${line(sleep)}`, { timeoutMs: 1000 }))
    expect(result).toMatchObject({ text: "begun\n", endedBy: "timeout", exitCode: null, running: false })
    expect(countLiving(sleep)).toBe(0)
  })
})

describe("a timeout", () => {
  test("a timeout gives the command time to clean up", async () => {
    const line = "trap 'echo tidy; exit 3' TERM; echo begun; sleep 20 & wait"
    const result = await shell.run(scene.command(line, { timeoutMs: 1500 }))
    expect(result).toMatchObject({ text: "begun\ntidy\n", exitCode: 3, endedBy: "timeout" })
  })

  test("a timeout does not affect other commands", async () => {
    const [ended, other] = [uniqueSleep(), uniqueSleep()]
    const { shellId } = await shell.start(scene.command(`(setsid ${other} &); ${other}`))
    await until(() => isRunning(other))
    await shell.run(scene.command(ended, { timeoutMs: 200 }))
    expect(countLiving(ended)).toBe(0)
    expect(await shell.poll(shellId)).toMatchObject({ running: true })
    expect(isRunning(other)).toBe(true)
    await shell.stop(shellId)
  })
})

describe("the end of a command", () => {
  test("no process of the command's group survives it", async () => {
    const sleep = uniqueSleep()
    expect(await shell.run(scene.command(`${sleep} & (trap '' TERM; ${sleep}) & echo done`))).toMatchObject({
      text: "done\n",
      exitCode: 0,
      endedBy: "exit",
    })
    expect(countLiving(sleep)).toBe(0)
  })

  test("an escaped child that holds the output open does not delay the result", async () => {
    const daemon = uniqueSleep()
    expect(await shell.run(scene.command(`setsid ${daemon} & echo done`))).toMatchObject({ text: "done\n" })
    const talker = `setsid sh -c 'while :; do echo ${daemon}; sleep 0.03; done' & echo done`
    expect((await shell.run(scene.command(talker))).text).toContain("done\n")
  })
})

describe("a process with a shell", () => {
  const [child, background, daemon] = [uniqueSleep(), uniqueSleep(), uniqueSleep()]
  const all = [child, background, daemon]
  const script = `
    await shell.start(command(${JSON.stringify(background)}))
    await shell.run(command(${JSON.stringify(`(setsid sh -c "${daemon}; :" >/dev/null 2>&1 &) ; ${child}`)}))
  `

  test("a process that exits kills its commands", async () => {
    const sign = join(scene.base, "exit")
    const exit = `setInterval(() => process.getBuiltinModule("fs").existsSync("${sign}") && process.exit(), 10)`
    const running = host.start(options, `${exit}\n${script}`)
    await until(() => all.every(isRunning))
    writeFileSync(sign, "")
    await running.said
    await until(() => all.every((sleep) => countLiving(sleep) === 0))
  })

  test("commands of a killed process are killed by the next process", async () => {
    const running = host.start(options, script)
    await until(() => all.every(isRunning))
    running.kill("SIGKILL")
    await running.said
    expect(all.every(isRunning)).toBe(true)
    const next = scene.shell()
    expect(all.every(isRunning)).toBe(true)
    const { endedLeftovers = 0 } = await next.run(scene.command("true"))
    expect(all.map(countLiving)).toEqual([0, 0, 0])
    expect(endedLeftovers).toBeGreaterThanOrEqual(all.length)
    expect(await next.run(scene.command("true"))).not.toHaveProperty("endedLeftovers")
  })

  test("commands of another living process are not touched", async () => {
    const sleep = uniqueSleep()
    const { shellId } = await shell.start(scene.command(sleep))
    await until(() => countLiving(sleep) > 0)
    const running = host.start(options, `await shell.run(command("true")); await shell.close(); say("closed")`)
    expect(await running.said).toBe('"closed"\n')
    expect(await shell.poll(shellId)).toMatchObject({ running: true })
    await shell.stop(shellId)
  })

  test("a process that is itself a command is killed with its own commands", async () => {
    const inner = uniqueSleep()
    const daemon = `(setsid sh -c "${inner}; ${inner}" >/dev/null 2>&1 &) ; ${inner}`
    const code = host.code(options, `await shell.run(command(${JSON.stringify(daemon)}))`)
    const stop = new AbortController()
    const quoted = `'${code.replaceAll("'", `'\\''`)}'`
    const line = `${process.execPath} --input-type=module -e ${quoted}`
    const running = shell.run(scene.command(line, { signal: stop.signal }))
    await until(() => isRunning(inner))
    stop.abort()
    await running
    expect(countLiving(inner)).toBe(0)
  })
})
