import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { harbourFiles, personAt } from "../../../test/support/person.ts"
import type { JsonObject } from "../../contract/json.ts"
import { defineTool } from "../../tools/kernel/define-tool.ts"

beforeEach(() => {
  vi.stubEnv("NO_COLOR", "")
  vi.stubEnv("TERM", "xterm")
})
afterEach(() => {
  vi.unstubAllEnvs()
})

const calls = (...made: readonly (readonly [name: string, args: JsonObject])[]) => ({
  parts: made.map(([name, args]) => ({ toolCall: { name, args } })),
})
const write = (path: string, content = "tide\n") => calls(["Write", { path, content }])

describe("approval of a call at the terminal", () => {
  test("an approved call runs once, exactly as shown", async () => {
    const person = await personAt({ steps: [write("a.txt"), "Written."], ask: ["Write"] })
    person.type("Write it.\r")
    await person.asks("y/n/a/e? ")
    expect(person.terminal.lines()).toContain("▸ Write a.txt (a new file)")
    await expect(person.read("a.txt")).rejects.toThrow()
    person.type("y\r")
    await person.shows("Written.")
    expect(await person.read("a.txt")).toBe("tide\n")
    expect(person.terminal.lines().some((line) => /^✓ Write a\.txt/.test(line))).toBe(true)
    person.type("/exit\r")
    expect(await person.ended).toBe(0)
  })

  test("a denied call returns the reason to the model, given on the same line or asked for", async () => {
    const person = await personAt({
      steps: [write("a.txt"), write("b.txt"), write("c.txt"), "So be it."],
      ask: ["all"],
    })
    person.type("Write it.\r")
    await person.asks("y/n/a/e? ")
    person.type("n Not in this folder.\r")
    await person.shows("Write b.txt (a new file)")
    expect(person.toldLast()).toContain("Not in this folder.")
    await person.asks("y/n/a/e? ")
    person.type("no\r")
    await person.asks("reason, or Enter for none: ")
    person.type("Never.\r")
    await person.shows("Write c.txt (a new file)")
    expect(person.toldLast()).toContain("Never.")
    await person.asks("y/n/a/e? ")
    person.type("n\r")
    await person.asks("reason, or Enter for none: ")
    person.type("\r")
    await person.shows("So be it.")
    expect(person.toldLast()).toContain("denied")
    person.type("/exit\r")
    await person.ended
    await expect(person.read("a.txt")).rejects.toThrow()
  })

  test('"always" allows the same tool without asking; other tools and the next conversation ask again', async () => {
    const steps = [
      write("a.txt"),
      write("b.txt"),
      calls(["Bash", { command: "ls" }]),
      "Done.",
      write("c.txt"),
      "Done again.",
    ]
    const person = await personAt({ steps, ask: ["all"] })
    person.type("Write it.\r")
    await person.asks("y/n/a/e? ")
    expect(person.terminal.lines()).toContain("a always allow Write in this conversation")
    person.type("a\r")
    await person.shows("▸ Bash in /harbour")
    expect(await person.read("b.txt")).toBe("tide\n")
    await person.asks("y/n/a/e? ")
    person.type("n no\r")
    await person.shows("Done.")
    person.type("/forget\rOnce more.\r")
    await person.shows("Write c.txt (a new file)")
    await person.asks("y/n/a/e? ")
    person.type("n no\r")
    await person.shows("Done again.")
    person.type("/exit\r")
    await person.ended
  })

  test("input typed before the question does not approve the call and is kept for later", async () => {
    let release = () => {}
    const mayCall = new Promise<void>((resolve) => {
      release = resolve
    })
    const slow = async () => {
      await mayCall
      return write("a.txt")
    }
    const person = await personAt({ steps: [slow, "Refused."], ask: ["Write"] })
    person.type("Write it.\r")
    await person.shows("waiting for the model")
    person.type("y")
    await person.shows("> y")
    release()
    await person.asks("y/n/a/e? ")
    person.type("\r")
    await person.shows("y/n/a/e? ", 2)
    await person.asks("y/n/a/e? ")
    await expect(person.read("a.txt")).rejects.toThrow()
    person.type("n no\r")
    await person.shows("Refused.")
    await person.asks("> y")
    person.type("\u0015/exit\r")
    await person.ended
  })

  test("a call is asked about again if its file changed while the question was open", async () => {
    const files = harbourFiles({ "a.txt": "one\n" })
    const args = { path: "a.txt", oldText: "o", newText: "0", replaceAll: true }
    const person = await personAt({ steps: [calls(["Edit", args]), "Edited."], ask: ["Edit"], files })
    person.type("Edit it.\r")
    await person.shows("+ 0ne")
    await person.asks("y/n/a/e? ")
    await files.write("a.txt", "/harbour", new TextEncoder().encode("one\npassword: hello\n"))
    person.type("y\r")
    await person.shows("this is no longer what was shown")
    await person.shows("+ passw0rd: hell0")
    await person.asks("y/n/a/e? ")
    person.type("y\r")
    await person.shows("Edited.")
    expect(await person.read("a.txt")).toBe("0ne\npassw0rd: hell0\n")
    person.type("/exit\r")
    await person.ended
  })

  test("a long call is cut with a notice, and shown completely on request", async () => {
    const content = Array.from({ length: 100 }, (_, line) => `line ${line + 1}\n`).join("")
    const person = await personAt({ steps: [write("a.txt", content), "Written."], ask: ["Write"] })
    person.type("Write it.\r")
    await person.asks("y/n/a/e/v? ")
    expect(person.terminal.lines()).toContain("… 71 more rows not shown; v shows all")
    expect(person.terminal.lines()).not.toContain("+ line 100")
    person.type("v\r")
    await person.shows("+ line 100")
    await person.asks("y/n/a/e/v? ")
    person.type("y\r")
    await person.shows("Written.")
    person.type("/exit\r")
    await person.ended
  })

  test("edited arguments run instead of the model's, and invalid JSON is asked for again", async () => {
    const person = await personAt({ steps: [write("a.txt"), "Written."], ask: ["Write"] })
    person.type("Write it.\r")
    await person.asks("y/n/a/e? ")
    person.type("e\r")
    await person.asks("arguments as JSON, or Enter to go back: ")
    person.type("{path\r")
    await person.shows("Invalid JSON")
    person.type('{"path":"b.txt","content":"edited"}\r')
    await person.shows("Written.")
    expect(await person.read("b.txt")).toBe("edited")
    expect(person.toldLast()).toContain("a reviewer changed")
    person.type("/exit\r")
    await person.ended
  })

  test(`a call paused by the config file's gate offers no "always"`, async () => {
    const hooks = { gateBeforeTool: () => ({ allow: false, reason: "The harbour master must agree." }) as const }
    const person = await personAt({ steps: [write("a.txt"), "Written."], ask: ["Write"], hooks })
    person.type("Write it.\r")
    await person.asks("y/n/e? ")
    expect(person.terminal.lines()).toContain("? The harbour master must agree.")
    person.type("a\r")
    await person.shows("Type one of: y, n, e.")
    await person.asks("y/n/e? ")
    person.type("y\r")
    await person.shows("Written.")
    person.type("/exit\r")
    await person.ended
  })

  test.each([
    ["Ctrl-C", (person: { type(text: string): unknown }) => person.type("\u0003")],
    ["Ctrl-D", (person: { type(text: string): unknown }) => person.type("\u0004")],
    ["the end of input", (person: { hangUp(): unknown }) => person.hangUp()],
  ])(
    "%s leaves the call undecided: the run stays paused, and the chat ends with 3 and prints the commands",
    async (_, leave) => {
      const person = await personAt({ steps: [write("a.txt"), "Never."], ask: ["Write"] })
      person.type("Write it.\r")
      await person.asks("y/n/a/e? ")
      leave(person)
      expect(await person.ended).toBe(3)
      expect((await person.runtime.status("petrel")).status).toBe("paused")
      expect(person.terminal.text()).toContain("approve petrel")
      expect(person.terminal.text()).toContain("chat --continue petrel")
      await expect(person.read("a.txt")).rejects.toThrow()
    },
  )
})

test("the question of a running call is answered at the terminal, as often as it asks, or declined with /deny", async () => {
  const said: string[] = []
  const book = defineTool({
    name: "book",
    description: "books",
    inputSchema: { type: "object" },
    run(_: object, { ask, answered }) {
      if (answered) said.push(`${answered.decision} ${answered.text ?? ""}`)
      return said.length === 2 ? "It is settled." : ask?.("The harbour asks:\n> Who travels?", null)
    },
  })
  const person = await personAt({ steps: [calls(["book", {}]), "Goodbye."], tools: [book] })
  person.type("Book it.\r")
  await person.asks("answer, or /deny: ")
  expect(person.terminal.lines().join("\n")).toContain("? > Who travels?")
  person.type("Zoe\r")
  await person.asks("answer, or /deny: ")
  person.type("/deny\r")
  await person.shows("Goodbye.")
  expect(said).toEqual(["answer Zoe", "deny "])
  person.type("/exit\r")
  expect(await person.ended).toBe(0)
})
