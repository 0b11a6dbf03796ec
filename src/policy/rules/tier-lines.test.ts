import { describe, expect, test } from "vitest"
import { policyCall, verdictOf } from "../../../test/support/policy-scene.ts"
import type { PolicyRule } from "../../contract/policy.ts"

const bash = (command: string) => policyCall("Bash", { command })

/** Rules that refuse something, in every way that a rule can, and say nothing about most commands. */
const refusals: readonly (readonly [string, PolicyRule])[] = [
  ["deny a tool by path", { deny: { tool: ["Write"], path: "**" } }],
  ["deny to read", { deny: { read: "secrets/**" } }],
  ["deny to write", { deny: { write: "secrets/**" } }],
  ["deny a command", { deny: { exec: "curl **" } }],
  ["deny an address", { deny: { fetch: "https://evil.example/**" } }],
  ["deny a tool", { deny: { tool: "WebFetch" } }],
  ["ask about a command", { ask: { exec: "curl **" } }],
]

describe.each(refusals)("where the tier decides, beside a rule to %s", (_, rule) => {
  test.each([
    ["[[ a ]]; echo x > f"],
    ["echo $'\\x63url evil' | source /dev/stdin"],
    ["BASH_ENV=run.sh bash -c true"],
    ["ENV=run.sh sh -c true"],
    ["GIT_EXTERNAL_DIFF=./run.sh git diff"],
    ["GIT_PAGER=./run.sh git log"],
    ["PAGER=./run.sh git log"],
    ["EDITOR=./run.sh git commit"],
    ["PATH=.:$PATH ls"],
    ["PATH=.; ls"],
    ["HOME=. git status"],
    ["NODE_OPTIONS='--require ./run.cjs' npm test"],
    ["LD_PRELOAD=./run.so ls"],
    ["TERMINFO=./x ls"],
    ["LANGUAGE=x less a"],
    ["env RUSTC_WRAPPER=./run.sh cargo build"],
    ["npm_config_script_shell=./run.sh npm test"],
  ])("%s is asked", async (command) => {
    expect(await verdictOf([rule], bash(command))).toBe("ask")
  })

  test.each([
    ["ls"],
    ["git status && git log"],
    ["NODE_ENV=test npm test"],
    ["CI=1 LC_ALL=C npm test"],
    ["TERM=dumb RUST_BACKTRACE=1 cargo test"],
  ])("%s is left to the tier", async (command) => {
    expect(await verdictOf([rule], bash(command))).toBe("tier")
  })
})

test("a loop over files is left to the tier where no rule is about paths", async () => {
  expect(await verdictOf([{ deny: { exec: "curl **" } }], bash("for f in a b; do echo $f; done"))).toBe("tier")
})

test("a line that cannot be read is left to the tier if no rule refuses anything", async () => {
  for (const command of ["[[ a ]]; echo x > f", "BASH_ENV=run.sh bash -c true"]) {
    expect(await verdictOf([{ allow: { tool: "WebFetch" } }], bash(command))).toBe("tier")
    expect(await verdictOf([], bash(command))).toBe("tier")
  }
})

test("a variable does not hide that a command makes a link", async () => {
  expect(await verdictOf([{ deny: { read: "secrets/**" } }], bash("x=1 ln -s . q"))).toBe("ask")
})

test("a variable that is no known setting does not pass with a permitted command", async () => {
  const rules: PolicyRule[] = [{ allow: { exec: "ls **" } }]
  expect(await verdictOf(rules, bash("TERM=dumb ls"))).toBe("allow")
  for (const name of ["TERMINFO", "TERMCAP", "LANGUAGE", "CIX", "XTZ"]) {
    expect(await verdictOf(rules, bash(`${name}=./x ls`))).toBe("ask")
  }
})

describe("redirects", () => {
  test.each([
    ["sort < .env", "deny"],
    ["sort > .env", "tier"],
    ["while read line; do echo a; done < .env", "deny"],
  ])("%s beside a rule that denies Read is decided as %s", async (command, verdict) => {
    expect(await verdictOf([{ deny: { tool: "Read", path: ".env" } }], bash(command))).toBe(verdict)
  })

  test.each([
    ["sort > .env", "deny"],
    ["sort < .env", "tier"],
  ])("%s beside a rule that denies Write is decided as %s", async (command, verdict) => {
    expect(await verdictOf([{ deny: { tool: "Write", path: ".env" } }], bash(command))).toBe(verdict)
  })

  test.each([["Write"], ["*"]])(
    "a redirect behind cd is asked, not judged in the folder before it (%s)",
    async (tool) => {
      const rules: PolicyRule[] = [{ deny: { tool, path: "secrets/**" } }]
      expect(await verdictOf(rules, bash("cd secrets && echo x > key"))).toBe("ask")
      expect(await verdictOf({ default: "allow", rules }, bash("cd build && echo x > key"))).toBe("ask")
    },
  )
})
