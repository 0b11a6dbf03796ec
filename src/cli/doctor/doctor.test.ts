import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { rgPath } from "@vscode/ripgrep"
import { describe, expect, test } from "vitest"
import { bareMachine, noServers } from "../../../test/support/bare-machine.ts"
import { commandLine } from "../../../test/support/command-line.ts"
import { namedProviders } from "../../hosts/node/model-names.ts"
import { nodeIsFit, supportOf } from "./report.ts"

const shell = commandLine()
const { place, longhaul } = shell
const { bare, report, program } = bareMachine(shell)

test("doctor on a bare machine reports no problems and prints the next steps", async () => {
  const { stdout, stderr, code } = await longhaul(["doctor"], bare())
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  for (const line of [
    /^✓ longhaul +\d+\.\d+\.\d+$/m,
    new RegExp(`^✓ node +${process.versions.node}$`, "m"),
    /^✓ store +\/.*\/state\/longhaul: does not exist yet, can be created$/m,
    /^– config +none$/m,
    /^– policy +none$/m,
    /^– keys +none in the environment$/m,
    /^– ollama +no response at 127\.0\.0\.1:9$/m,
    /^– claude +not on PATH$/m,
    /^– git +not on PATH$/m,
    /^✓ search +ripgrep 15\.\d+\.\d+ \(\/.*\/rg\)$/m,
    /^– sandbox +none for Bash: bubblewrap \(bwrap\) is not on PATH$/m,
    /^✓ model +offline model: rules, not an LLM \(no key is set\)$/m,
    /^next .* run "/m,
    /To use an LLM, set ANTHROPIC_API_KEY/,
    / init {2}#/,
  ]) {
    expect(stdout).toMatch(line)
  }
  // It leaves no trace.
  expect((await readdir(place.home)).toSorted()).toEqual(["bin"])
})

test("doctor --json prints one flat object with all fields", async () => {
  const { code, ...found } = await report()
  expect(code).toBe(0)
  expect(found).toEqual({
    ok: true,
    problems: [],
    longhaul: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    node: process.versions.node,
    nodeOk: true,
    platform: expect.stringContaining(process.platform),
    platformSupport: supportOf(process.platform),
    store: join(place.home, "state", "longhaul"),
    storeExists: false,
    storeWritable: true,
    storeForm: expect.stringMatching(/^(appending|create-only)$/),
    config: null,
    configNotLoaded: null,
    policy: null,
    keys: [],
    baseUrls: Object.fromEntries(Object.keys(noServers).map((name) => [name, "127.0.0.1:9"])),
    proxies: {},
    localServers: ["ollama", "lmstudio", "llamacpp", "vllm"].map((name) => ({
      name,
      host: "127.0.0.1:9",
      status: "down",
      models: [],
    })),
    clis: ["claude", "codex", "gemini", "copilot", "opencode", "cursor-agent", "pi"].map(missing),
    programs: ["git", "rg", "bwrap"].map(missing),
    ripgrep: { path: rgPath, version: expect.stringMatching(/^15\./) },
    sandbox: null,
    sandboxFault: "bubblewrap (bwrap) is not on PATH",
    model: "offline",
    modelReason: "no key is set",
    next: expect.arrayContaining([expect.stringContaining(" run ")]),
  })
  const guide = await readFile(new URL("../../../docs/guides/use-the-command-line.md", import.meta.url), "utf8")
  for (const key of Object.keys(found)) expect(guide).toContain(`\`${key}\``)
})

const missing = (name: string) => ({ name, path: null, status: "missing", version: null })

describe("doctor reports the default model and the reason", () => {
  test.each([
    [{ ANTHROPIC_API_KEY: "k" }, "anthropic:claude-sonnet-4-6", "ANTHROPIC_API_KEY is set"],
    [{ GOOGLE_API_KEY: "k" }, "google:gemini-2.5-pro", "GOOGLE_API_KEY is set"],
    [{ GROQ_API_KEY: "k" }, "offline", "GROQ_API_KEY alone does not select a model"],
    [{ ANTHROPIC_API_KEY: "" }, "offline", "no key is set"],
    [{ ANTHROPIC_API_KEY: "k", LONGHAUL_MODEL: "ollama:llama" }, "ollama:llama", "LONGHAUL_MODEL is set"],
  ])("the default model with %j", async (variables, model, modelReason) => {
    const keys = Object.entries(variables).flatMap(([name, value]) => (/_KEY$/.test(name) && value ? [name] : []))
    expect(await report(variables)).toMatchObject({ code: 0, model, modelReason, keys })
  })

  test("the default model of the config file", async () => {
    const path = join(place.workspace, "longhaul.config.json")
    await writeFile(path, '{ "model": "ollama:llama" }')
    expect(await report()).toMatchObject({ model: "ollama:llama", modelReason: `model in ${path}`, config: path })
    expect(await report({}, ["--no-config"])).toMatchObject({ model: "offline", config: null })
  })
})

describe("doctor reports a problem with its fix and exits with 1", () => {
  test("a store that is not writable is a problem", async () => {
    const store = join(place.workspace, "tide.txt", "runs")
    const found = await report({ LONGHAUL_STORE: store })
    expect(found).toMatchObject({ code: 1, ok: false, store, storeWritable: false, storeExists: false })
    expect(found.problems).toEqual([
      { message: `Cannot store runs in ${store}.`, fix: expect.stringContaining("LONGHAUL_STORE") },
    ])
    const { code, stdout } = await longhaul(["doctor", "--store", store], bare())
    expect(code).toBe(1)
    expect(stdout).toMatch(/^✗ store .*: not writable$/m)
    expect(stdout).toMatch(/^problem: Cannot store runs in .*\nfix: /m)
  })

  test("an existing store is tested with a real write and left unchanged", async () => {
    const store = join(place.home, "kept")
    await mkdir(store)
    expect(await report({}, ["--store", store])).toMatchObject({ code: 0, storeExists: true, storeWritable: true })
    expect(await readdir(store)).toEqual([])
  })

  test("an invalid config file and an unusable model are problems", async () => {
    const path = join(place.workspace, "longhaul.config.json")
    await writeFile(path, '{ "modle": 1 }')
    const found = await report({ LONGHAUL_MODEL: "openai:gpt" })
    expect(found).toMatchObject({ code: 1, config: path })
    expect(found.problems.map(({ message }) => message)).toEqual([
      `${path}: unknown key "modle".`,
      "openai:gpt needs an API key, and none is set in the environment.",
    ])
    expect((await longhaul(["doctor"], bare())).stdout).toContain(`✗ config    ${path}`)
  })

  test("a Node before 20.19 is a problem; other platforms have less support", () => {
    expect(["18.20.0", "20.18.9", "20.19.0", "20.20.2", "22.0.0"].map(nodeIsFit)).toEqual([
      false,
      false,
      true,
      true,
      true,
    ])
    expect(["linux", "darwin", "win32"].map(supportOf)).toEqual(["full", "partial", "none"])
  })

  test("a usage error of doctor exits with 2", async () => {
    for (const args of [["extra"], ["--config", "nowhere.json"], ["--fix"]]) {
      expect((await longhaul(["doctor", ...args], bare())).code).toBe(2)
    }
  })
})

test("the policy file of the folder is reported, and a problem if runs would refuse it", async () => {
  const path = join(place.workspace, "longhaul.policy.yaml")
  await writeFile(path, "rules:\n  - deny: { tool: Write }\n")
  expect(await report()).toMatchObject({ code: 0, policy: path })
  expect((await longhaul(["doctor"], bare())).stdout).toContain(`✓ policy    ${path}: its restrictions apply\n`)
  await writeFile(path, "rules:\n  - deny: { tool: Wriet }\n")
  const found = await report()
  expect(found).toMatchObject({ code: 1, policy: path })
  expect(found.problems).toEqual([{ message: expect.stringContaining(path), fix: "Did you mean Write?" }])
  expect((await longhaul(["doctor"], bare())).stdout).toContain(`✗ policy    ${path}\n`)
})

test("a config file that is a program is reported and not run", async () => {
  const path = join(place.workspace, "longhaul.config.js")
  await writeFile(path, "import { writeFileSync } from 'node:fs'\nwriteFileSync('it-ran', '')\nexport default {}")
  expect(await report()).toMatchObject({ config: null, configNotLoaded: path })
  expect(await readdir(place.workspace)).not.toContain("it-ran")
})

test("doctor shows no part of a secret", async () => {
  const secret = "Zx9Hunter2Qw"
  const keyNames = namedProviders.flatMap(({ keyNames }) => keyNames)
  const addressNames = namedProviders.flatMap(({ baseUrlName }) => baseUrlName ?? [])
  const proxyNames = ["HTTPS_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy"]
  const address = `http://${secret}:${secret}@127.0.0.1:9/${secret}/v1?key=${secret}#${secret}`
  const variables = {
    ...Object.fromEntries(keyNames.map((name) => [name, secret])),
    ...Object.fromEntries(addressNames.map((name) => [name, address])),
    ...Object.fromEntries(proxyNames.map((name) => [name, `${secret}:${secret}@proxy.example:3128`])),
    https_proxy: address,
    OPENAI_BASE_URL: secret,
    ALL_PROXY: `socks5://${secret}:${secret}@proxy.example:1080`,
  }
  await program(
    "claude",
    `console.log(Object.values(process.env).filter((value) => value.includes("${secret}")).join() || "1.0")`,
  )
  await writeFile(join(place.workspace, "longhaul.config.json"), `{ "apiKey": "${secret}" }`)
  for (const args of [
    ["doctor"],
    ["doctor", "--json"],
    ["doctor", "--no-config"],
    ["doctor", "--json", "--no-config"],
  ]) {
    const { stdout, stderr } = await longhaul(args, { ...bare(), ...variables })
    for (const name of [...keyNames, ...addressNames, ...proxyNames]) expect(stdout).toContain(name)
    expect(stdout).toContain("proxy.example:3128")
    for (const part of [secret, secret.slice(0, 4), secret.slice(-4)]) {
      expect(`${stdout}${stderr}`.toLowerCase()).not.toContain(part.toLowerCase())
    }
  }
})

test("doctor --store names each run that cannot be read, what is lost and what to do", async () => {
  const store = join(place.home, "damaged")
  for (const runId of ["whole", "broken"]) {
    expect(
      (await longhaul(["run", "--store", store, "--run-id", runId, "--model", "offline", "hi"], bare())).code,
    ).toBe(0)
  }
  expect((await longhaul(["doctor", "--store", store], bare())).code).toBe(0)
  const shard = join(store, "workspaces/default/.longhaul/projects/broken/nodes/main/000000.jsonl")
  const bytes = await readFile(shard)
  bytes[400] = (bytes[400] ?? 0) ^ 1
  await writeFile(shard, bytes)
  const { code, stdout } = await longhaul(["doctor", "--store", store], bare())
  expect(code).toBe(1)
  expect(stdout).toContain("Run broken of workspace default cannot be read.")
  expect(stdout).toMatch(/000000\.jsonl in .*broken\/nodes\/main is damaged: its records after byte 0 are lost\./)
  expect(stdout).toContain("Restore ")
  expect(stdout).not.toContain("whole")
  expect((await longhaul(["runs", "--store", store], bare())).code).toBe(0)
  // Without its index, each run is read.
  await rm(join(store, "workspaces/default/.longhaul/index"), { recursive: true })
  const listed = (await longhaul(["runs", "--status", "damaged", "--store", store], bare())).stdout
  expect(listed).toMatch(/broken +damaged/)
  expect(listed).not.toContain("whole")
})
