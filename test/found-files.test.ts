import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { readConfig } from "../src/cli/config/file.ts"
import { type FileSettings, narrowed } from "../src/cli/config/settings.ts"
import { findPolicyFile, loadFoundPolicy, loadPolicyFile } from "../src/hosts/node/policy/load-policy.ts"
import { recordCommandsIn } from "../src/hosts/node/shell/command-record.ts"

let root = ""
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "longhaul-trusted-"))
  vi.stubEnv("XDG_STATE_HOME", join(root, "state"))
  vi.stubEnv("LONGHAUL_STORE", "")
  // A command ran in the folder, and has written whatever is in it.
  recordCommandsIn(root)
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(root, { recursive: true, force: true })
})

const planted = /is new or was changed in a folder where commands ran/
const write = (name: string, text: string) => {
  writeFileSync(join(root, name), text)
  return join(root, name)
}

/** Settings that a command planted, and why the file is refused when a user names it. */
const configs: readonly (readonly [why: string, text: string])[] = [
  ["it is not JSON", '{ "system": "Planted." '],
  ["it is no object", '["Planted."]'],
  ["a key is unknown", '{ "system": "Planted.", "sytem": "" }'],
  ["a value is invalid", '{ "system": "Planted.", "temperature": 7 }'],
  ["its workspace does not exist", '{ "system": "Planted.", "workspace": "nowhere" }'],
]

test.each(configs)("a config file that is refused because %s is not trusted for having been named", async (_, text) => {
  const path = write("longhaul.config.json", text)
  const found = () => readConfig({ workspace: root }, () => {})
  await expect(found()).rejects.toThrow(planted)
  await expect(readConfig({ config: path }, () => {})).rejects.toThrow(path)
  await expect(found()).rejects.toThrow(planted)
  // Once it is valid, naming it is enough.
  write("longhaul.config.json", '{ "system": "Mine." }')
  await expect(found()).rejects.toThrow(planted)
  await readConfig({ config: path }, () => {})
  expect(await found()).toMatchObject({ settings: { system: "Mine." } })
})

test.each([
  ["it is invalid", "rules: 7"],
  ["a file that it extends is missing", "extends: longhaul.policy.base.yaml"],
  ["it extends itself", "extends: longhaul.policy.yaml"],
  ["it extends a file that tools could change", "extends: notes.yaml"],
])("a policy file that is refused because %s is not trusted for having been named", async (_, text) => {
  const path = write("longhaul.policy.yaml", text)
  await expect(loadFoundPolicy(path)).rejects.toThrow(planted)
  await expect(loadPolicyFile(path)).rejects.toThrow("longhaul.policy")
  await expect(loadFoundPolicy(path)).rejects.toThrow(planted)
  write("longhaul.policy.yaml", "default: deny")
  await loadPolicyFile(path)
  expect(await loadFoundPolicy(path)).toMatchObject({ sources: [{ document: { default: "deny" } }] })
})

describe("a file that was named and is gone since", () => {
  const gone = /is missing from a folder where commands ran/

  test("looking for a named config that is gone is refused, until the user does without it once", async () => {
    const path = write("longhaul.config.json", '{ "disabledTools": ["Write"] }')
    await readConfig({ config: path }, () => {})
    rmSync(path)
    const found = (workspace: string) => readConfig({ workspace }, () => {})
    mkdirSync(join(root, "sub"))
    await expect(found(root)).rejects.toThrow(gone)
    await expect(found(join(root, "sub"))).rejects.toThrow(gone)
    expect(await readConfig({ workspace: root }, () => {}, { planted: "ignore" })).toBeUndefined()
    await readConfig({ workspace: root, "no-config": true }, () => {})
    expect(await found(root)).toBeUndefined()
  })

  test("looking for a named policy that is gone is refused, until the user names another one", async () => {
    const path = write("longhaul.policy.yaml", "default: deny")
    await loadPolicyFile(path)
    rmSync(path)
    expect(() => findPolicyFile(root)).toThrow(gone)
    const other = write("longhaul.policy.mine.yaml", "default: ask")
    await loadPolicyFile(other)
    expect(findPolicyFile(root)).toBeUndefined()
  })
})

describe("a config file that was found and not named", () => {
  type DataKeys = Exclude<keyof FileSettings, "tools" | "hooks" | "observers" | "resolvePricing">
  /** Values of every setting that such a file can have, so that none is forgotten. Those that widen what a run may do come first. */
  const values: {
    readonly [Key in DataKeys]: { widens: readonly FileSettings[Key][]; others: readonly FileSettings[Key][] }
  } = {
    memory: { widens: ["read-only", "read-write"], others: ["off"] },
    skills: { widens: [true], others: [false] },
    store: { widens: ["/elsewhere/runs", "s3://bucket/runs"], others: [] },
    unknownPrice: { widens: ["warn"], others: ["refuse"] },
    limits: { widens: [{ turns: 101 }, { turns: 1e6 }], others: [{ turns: 100 }, { tokens: 5, usd: 1, timeMs: 9 }] },
    model: { widens: [], others: ["offline"] },
    workspace: { widens: [], others: ["/project/notes"] },
    agentsMd: { widens: [], others: [true, false] },
    system: { widens: [], others: ["Be brief."] },
    effort: { widens: [], others: ["low"] },
    temperature: { widens: [], others: [1] },
    maxOutputTokens: { widens: [], others: [5] },
    allowedTools: { widens: [], others: [["Read"]] },
    disabledTools: { widens: [], others: [["Read"]] },
  }
  const cases = Object.entries(values).flatMap(([key, { widens, others }]) => [
    ...widens.map((value) => [key, value, true] as const),
    ...others.map((value) => [key, value, false] as const),
  ])

  test.each(cases)(
    "a found config file keeps %s %j, or says that it does not, and then it does not: widens %j",
    (key, value, isLeft) => {
      const { kept, left } = narrowed({ [key]: value })
      const name = key === "limits" ? "limits.turns" : key
      expect(left.map(([each]) => each)).toEqual(isLeft ? [name] : [])
      expect(kept).toEqual(isLeft ? (key === "limits" ? { limits: {} } : {}) : { [key]: value })
    },
  )

  test("a config file that was found and not named sets no more than 100 turns", () => {
    expect(narrowed({ limits: { turns: 101, tokens: 5 } }).kept).toEqual({ limits: { tokens: 5 } })
  })
})
