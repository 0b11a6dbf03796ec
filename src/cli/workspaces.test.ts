import { describe, expect, test } from "vitest"
import { commandLine } from "../../test/support/command-line.ts"
import { commands } from "./commands.ts"

const { longhaul, simulate } = commandLine()

/** One lists the workspaces; the other one kills runs in a store of its own. */
const isWithout = ["workspaces", "crashtest"]
const lines = (text: string) => text.trimEnd().split("\n")

describe("--workspace-id", () => {
  test("every command with a store has the option, except the one that lists workspaces", async () => {
    for (const [name, { load }] of Object.entries(commands)) {
      const { options } = (await load()).command
      if ("store" in options && !isWithout.includes(name))
        expect([name, Object.keys(options)]).toEqual([name, expect.arrayContaining(["workspace-id"])])
    }
  })

  test("two workspaces of a store have a run of the same id each, and every command reads its own", async () => {
    await simulate({ script: ({ lastUserText }) => `You said: ${lastUserText}` })
    const as = (id: string) => ["--workspace-id", id]
    for (const id of ["acme", "globex"]) {
      const { code, stdout } = await longhaul(["run", "--json", "--run-id", "order-17", ...as(id), `I am ${id}.`])
      expect([code, JSON.parse(stdout)]).toMatchObject([0, { workspaceId: id, status: "done" }])
    }
    for (const id of ["acme", "globex"]) {
      expect(JSON.parse((await longhaul(["runs", "--json", ...as(id)])).stdout)).toMatchObject([
        { workspaceId: id, runId: "order-17", task: `I am ${id}.` },
      ])
      for (const command of ["show", "logs", "replay", "cost"]) {
        const given = command === "cost" ? [] : ["order-17"]
        const { code, stdout } = await longhaul([command, ...given, ...as(id)])
        expect([command, code]).toEqual([command, 0])
        expect([command, stdout.includes(id === "acme" ? "globex." : "acme.")]).toEqual([command, false])
      }
    }
    expect((await longhaul(["show", "order-17"])).code).toBe(1)
    expect((await longhaul(["rm", "--yes", "order-17", ...as("acme")])).code).toBe(0)
    expect((await longhaul(["show", "order-17", ...as("globex")])).code).toBe(0)
    expect(JSON.parse((await longhaul(["workspaces", "--json"])).stdout)).toEqual([
      { workspaceId: "acme", runs: 1 },
      { workspaceId: "globex", runs: 1 },
    ])
    expect(lines((await longhaul(["workspaces"])).stdout)).toEqual(["acme  1 run", "globex  1 run"])
  })

  test("printed commands repeat the workspace", async () => {
    await simulate({ script: () => "Done." })
    const { stdout } = await longhaul(["run", "--run-id", "r", "--workspace-id", "acme", "Go."])
    expect(stdout).toContain("show r --workspace-id acme")
  })

  test("an id that could leave its folder is a usage error", async () => {
    const { code, stderr } = await longhaul(["runs", "--workspace-id", "../acme"])
    expect(code).toBe(2)
    expect(stderr).toContain("--workspace-id")
  })
})
