import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { dirname, join } from "node:path"
import { describe, expect, test } from "vitest"
import type { RunResult } from "../../src/contract/result.ts"
import { isMain, withRuntime } from "../../src/testing/backend-bench.ts"
import { openPlace, type PlacedBackend, type PlaceFacts } from "../support/backend-place.ts"
import { isWhole } from "./acp-cases.ts"
import { allBackends } from "./benches.ts"
import { PLANTED_VARIABLE, type PlantedFile, PROGRAM_FOLDER, plantedFiles, plantedPrograms } from "./planted-files.ts"

const vendors = allBackends.flatMap((placed) => {
  const files = plantedFiles[placed.name]
  return files === undefined ? [] : [{ placed, files }]
})

test("every backend that starts a vendor's program has a table of planted files", () => {
  const programs = allBackends.filter(({ name }) => name !== "native" && name !== "pi")
  expect(programs.map(({ name }) => name).filter((name) => plantedFiles[name] === undefined)).toEqual([])
})

describe.each(vendors.map(({ placed, files }) => [placed.name, placed, files] as const))(
  "%s",
  (name, placed, files) => {
    const ignored = files.filter(({ isRefused, namesAddress }) => !isRefused && !namesAddress)
    const alone = isWhole ? ignored.map((each) => [each.file, [each]] as const) : []

    test.each([["all files", ignored] as const, ...alone])(
      "a repository with %s runs nothing, moves nothing and permits nothing, also if the user trusts it in the program",
      async (_, planted) => {
        for (const isTrusted of planted.length > 1 ? [false, true] : [true]) {
          const { result, trusts, ...found } = await runWith(placed, planted, { isTrusted })
          expect(found).toEqual({ left: [], sent: 0, written: false, seen: [] })
          expect(trusts).toBe(isTrusted)
          expect(result).toMatchObject({ status: "done" })
        }
        console.log(`${name}: ${planted.length} planted files, 0 had an effect`)
      },
    )

    test("programs of a repository are not started, although their folder is on PATH", async () => {
      const { result, left, written } = await runWith(placed, plantedPrograms, { onPath: PROGRAM_FOLDER })
      expect({ left, written }).toEqual({ left: [], written: false })
      expect(result).toMatchObject({ status: "done" })
    })

    test.each(files.filter(({ isRefused }) => isRefused).map((each) => [each.file, each] as const))(
      "%s, which the program would run, stops the run before it starts",
      async (_, planted) => {
        const { result, left, sent, written } = await runWith(placed, [planted])
        expect({ left, sent, written }).toEqual({ left: [], sent: 0, written: false })
        expect(result).toMatchObject({ status: "failed", error: { code: "config_invalid" } })
      },
    )

    test.each(files.filter(({ namesAddress }) => namesAddress).map((each) => [each.file, each] as const))(
      "an address in %s gets neither the prompt nor the key",
      async (_, planted) => {
        const { result, sent } = await runWith(placed, [planted], { isTrusted: true })
        expect(sent).toBe(0)
        expect(result).toMatchObject({ status: "failed" })
      },
    )
  },
)

interface Found {
  readonly result: RunResult
  /** Traces of commands. */
  readonly left: readonly string[]
  /** Requests to the planted address. */
  readonly sent: number
  /** The call that the policy denies has run. */
  readonly written: boolean
  /** Planted values that a command of the model has seen. */
  readonly seen: readonly string[]
  /** The program's own settings trust the workspace. */
  readonly trusts: boolean
}

/** A run whose model makes a denied call and reads a variable, in a workspace with planted files. */
async function runWith(
  placed: PlacedBackend,
  planted: readonly PlantedFile[],
  { isTrusted = false, onPath }: { readonly isTrusted?: boolean; readonly onPath?: string } = {},
): Promise<Found> {
  const sink = await countingServer()
  const { PATH } = process.env
  let base = ""
  let home = ""
  const { own, speaks } = placed
  const calls = [
    own?.call("note.txt", "written") ?? expect.fail("it has no tool of its own"),
    speaks.command(`printenv ${PLANTED_VARIABLE} PATH || true`),
    ...(placed.name === "codex" ? [speaks.command("touch ../outside/reached || true")] : []),
  ]
  const place = await openPlace(
    {
      script(request) {
        if (!isMain(request)) return "A title"
        const made = request.messages.flatMap(({ toolCalls }) => toolCalls).length
        const toolCall = calls[made]
        return toolCall === undefined ? "Done." : { parts: [{ toolCall }] }
      },
    },
    (facts) => {
      base = dirname(facts.workspace)
      home = facts.home
      const outside = join(base, "outside")
      for (const folder of [outside, join(base, "traces")]) mkdirSync(folder)
      makeRepository(facts.workspace)
      if (onPath !== undefined) process.env.PATH = `${join(facts.workspace, onPath)}:${PATH}`
      for (const { file, text } of planted) {
        const path = join(facts.workspace, file)
        const trace = join(base, "traces", file.replaceAll("/", "_"))
        mkdirSync(dirname(path), { recursive: true })
        writeFileSync(
          path,
          text({
            command: `touch ${trace}`,
            script: `import { writeFileSync } from "node:fs"\nwriteFileSync(${JSON.stringify(trace)}, "x")`,
            url: sink.url,
            outside,
          }),
          { mode: 0o755 },
        )
      }
      const configured = placed.configure(
        planted.some(({ namesAddress }) => namesAddress) ? { ...facts, url: "" } : facts,
      )
      if (isTrusted) trustInProgram(facts)
      return configured
    },
  )
  try {
    const rules = [
      { deny: { tool: ["Write", "Edit"] } },
      { deny: { tool: "Bash", command: "printf **" } },
      { allow: { tool: "*" } },
    ]
    const result = await withRuntime(place, { policy: { rules }, tools: [] }, (runtime) => runtime.run({ task: "Go." }))
    const traces = planted
      .map(({ file }) => file)
      .filter((file) => existsSync(join(base, "traces", file.replaceAll("/", "_"))))
    const requests = place.simulator.requests.flatMap(({ messages }) => messages)
    const outputs = JSON.stringify(requests.flatMap(({ toolResults }) => toolResults.map(({ text }) => text)))
    return {
      result,
      left: [...traces, ...(existsSync(join(base, "outside/reached")) ? ["outside/reached"] : [])],
      sent: sink.count(),
      written: (await place.read("note.txt")) !== null,
      seen: outputs.includes("planted") ? [outputs] : [],
      trusts: /"?trusted|TRUST_FOLDER/.test(trustFiles.map((file) => textOf(join(home, file))).join("")),
    }
  } finally {
    process.env.PATH = PATH
    await place.close()
    await sink.close()
  }
}

const trustFiles = [".codex/config.toml", ".gemini/trustedFolders.json", ".copilot/config.json", "claude/.claude.json"]

/** As if the user had confirmed the program's own question whether the workspace is trusted. */
function trustInProgram({ home, workspace }: PlaceFacts): void {
  const accepted = { hasTrustDialogAccepted: true, enabledMcpjsonServers: ["planted"] }
  const texts = [
    `[projects.${JSON.stringify(workspace)}]\ntrust_level = "trusted"\n`,
    JSON.stringify({ [workspace]: "TRUST_FOLDER" }),
    JSON.stringify({ trusted_folders: [workspace], trustedFolders: [workspace] }),
    JSON.stringify({ projects: { [workspace]: accepted }, trusted: true }),
  ]
  for (const [index, file] of trustFiles.entries()) {
    mkdirSync(dirname(join(home, file)), { recursive: true })
    writeFileSync(join(home, file), texts[index] ?? "")
  }
}

/** A repository with a file that has changed, to which the filters of its configuration apply. */
function makeRepository(workspace: string): void {
  const git = (...args: readonly string[]) => execFileSync("git", args, { cwd: workspace })
  const put = (name: string, text: string) => writeFileSync(join(workspace, name), text)
  git("init", "-q")
  put(".gitattributes", "* filter=planted diff=planted\n")
  put("tracked.txt", "before\n")
  git("add", "-A")
  git("-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-q", "-m", "First")
  put("tracked.txt", "after\n")
}

function textOf(path: string): string {
  return existsSync(path) ? readFileSync(path, "utf8") : ""
}

async function countingServer() {
  let count = 0
  const server = createServer((_, response) => {
    count++
    response.writeHead(500).end()
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo // Safe: it listens on a port.
  return {
    url: `http://127.0.0.1:${port}`,
    count: () => count,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}
