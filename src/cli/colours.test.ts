import { expect, test } from "vitest"
import { commandLine } from "../../test/support/command-line.ts"

const { longhaul, simulate } = commandLine()

/** Makes the program treat its pipes as terminals. */
const terminal = {
  NODE_OPTIONS: "--import=data:text/javascript,process.stdout.isTTY=process.stderr.isTTY=true",
  TERM: "xterm-256color",
  OLLAMA_BASE_URL: "http://127.0.0.1:9",
}

const colour = "\u001b["
const commands = [
  ["run", "--run-id", "seen", "Read tide.txt"],
  ["runs"],
  ["show", "seen"],
  ["doctor"],
  ["show", "nothing"],
]

/** The whole output of each command. Slow enough that a status line would be drawn. */
async function written(variables: Readonly<Record<string, string>>): Promise<readonly string[]> {
  await simulate({
    async script({ lastToolResults: [read] }) {
      await new Promise((resolve) => setTimeout(resolve, 250))
      return read ? "Read." : { parts: [{ toolCall: { name: "Read", args: { path: "tide.txt" } } }] }
    },
  })
  const texts: string[] = []
  for (const args of commands) {
    const { stdout, stderr } = await longhaul(args, variables)
    expect(`${stdout}${stderr}`).not.toBe("")
    texts.push(`${stdout}${stderr}`)
  }
  return texts
}

test("a terminal gets colours and an in-place status line", async () => {
  const texts = await written(terminal)
  for (const text of texts) expect(text).toContain(colour)
  expect(texts[0]).toContain(`${colour}J`)
})

test.each([{ NO_COLOR: "1" }, { NO_COLOR: "0" }, { NO_COLOR: "yes", FORCE_COLOR: "1" }, { TERM: "dumb" }])(
  "with %j a terminal gets no escape sequences",
  async (variables) => {
    for (const text of await written({ ...terminal, ...variables })) expect(text).not.toContain("\u001b")
  },
)

test("an empty NO_COLOR has no effect", async () => {
  expect((await longhaul(["show", "nothing"], { ...terminal, NO_COLOR: "" })).stderr).toContain(colour)
})

test.each([
  [{ FORCE_COLOR: "1" }, true],
  [{ FORCE_COLOR: "1", TERM: "dumb" }, true],
  [{ FORCE_COLOR: "0" }, false],
  [{}, false],
] as const)("a pipe with %j gets colours: %s", async (variables, isColoured) => {
  expect((await longhaul(["show", "nothing"], variables)).stderr.includes(colour)).toBe(isColoured)
  expect((await longhaul(["doctor"], variables)).stdout.includes(colour)).toBe(isColoured)
})

test("FORCE_COLOR=0 disables colours on a terminal", async () => {
  expect((await longhaul(["show", "nothing"], { ...terminal, FORCE_COLOR: "0" })).stderr).not.toContain(colour)
})
