import { homedir } from "node:os"
import { describe, expect, test } from "vitest"
import { isSecretName } from "../../lib/text/credential.ts"
import { checkSettings } from "./settings.ts"

const file = "/project/longhaul.config.json"
const check = (given: unknown, isProgram = false) => checkSettings(file, given, { isProgram })
const failure = (given: unknown, isProgram = false) => {
  try {
    check(given, isProgram)
  } catch (error) {
    return error as { message: string; fix: string }
  }
  throw new Error("It was taken")
}

test("every key is accepted, paths are relative to the file, and $schema is dropped", () => {
  const same = {
    model: "openai:gpt-5.5",
    system: "Be brief.",
    effort: "low",
    temperature: 0,
    maxOutputTokens: 100,
    limits: { turns: 5, tokens: 1000, usd: 0.5, timeMs: 60_000 },
    allowedTools: ["Read"],
    disabledTools: [],
    unknownPrice: "warn",
  }
  expect(check({ $schema: "https://example.com/x.json", workspace: "notes", store: "../runs", ...same })).toEqual({
    ...same,
    workspace: "/project/notes",
    store: "/runs",
  })
  expect(check({ store: "~/runs" })).toEqual({ store: `${homedir()}/runs` })
  expect(check({ store: "~runs" })).toEqual({ store: "/project/~runs" })
})

describe("an invalid value is rejected with the file and the expected value", () => {
  test.each([
    [{ model: "" }, 'invalid value for model: ""', "a non-empty string"],
    [{ model: 5 }, "invalid value for model: 5", "a non-empty string"],
    [{ model: { apiKey: "hunter2" } }, "invalid value for model: an object", "a non-empty string"],
    [{ workspace: null }, "invalid value for workspace: null", "a non-empty string"],
    [{ effort: "huge" }, 'invalid value for effort: "huge"', '"minimal", "low", "medium", "high", "max"'],
    [{ temperature: 3 }, "invalid value for temperature: 3", "a number from 0 to 2"],
    [{ temperature: "1" }, 'invalid value for temperature: "1"', "a number from 0 to 2"],
    [{ maxOutputTokens: 0 }, "invalid value for maxOutputTokens: 0", "a whole number from 1"],
    [{ limits: [] }, "invalid value for limits: []", "an object"],
    [{ limits: { turns: 1.5 } }, "invalid value for limits.turns: 1.5", "Use a whole number from 1"],
    [{ limits: { usd: 0 } }, "invalid value for limits.usd: 0", "a number of dollars above 0"],
    [{ limits: { timeMs: 2 ** 31 } }, "invalid value for limits.timeMs: 2147483648", "to 2147483647"],
    [{ allowedTools: "Read" }, 'invalid value for allowedTools: "Read"', '["Read", "Grep"]'],
    [{ disabledTools: [1] }, "invalid value for disabledTools: [1]", '["Read", "Grep"]'],
    [{ unknownPrice: "ignore" }, 'invalid value for unknownPrice: "ignore"', '"refuse", "warn"'],
  ])("the value %j is rejected with the file and the expected value", (given, message, fix) => {
    const error = failure(given)
    expect(error.message).toBe(`${file}: ${message}.`)
    expect(error.fix).toContain(fix)
  })

  test.each([[[]], ["text"], [null]])("%j instead of an object is rejected", (given) => {
    expect(failure(given).message).toBe(`${file} does not contain an object.`)
  })
})

describe("an unknown key", () => {
  test("an unknown key is rejected with the file, the known keys and a suggestion", () => {
    const { message, fix } = failure({ modle: "offline" })
    expect(message).toBe(`${file}: unknown key "modle".`)
    expect(fix).toMatch(/^Did you mean model\? Known keys: \$schema, model, workspace, store, system, effort/)
    expect(failure({ limits: { turn: 1 } })).toMatchObject({
      message: `${file}: unknown key "limits.turn".`,
      fix: "Did you mean turns? Known keys: turns, tokens, usd, timeMs.",
    })
    for (const name of ["constructor", "toString"]) {
      expect(failure({ [name]: 1 }).message).toContain(`unknown key "${name}"`)
    }
  })

  test.each(["apiKey", "api_key", "ANTHROPIC_API_KEY", "authToken", "token", "secrets", "clientSecret", "password"])(
    "the secret %s is rejected with a hint to the environment, without its value",
    (name) => {
      const { message, fix } = failure({ [name]: "hunter2" })
      expect(message).toContain(`"${name}" looks like a secret`)
      expect(fix).toContain("set it in the environment")
      expect(`${message}${fix}`).not.toContain("hunter2")
    },
  )

  test("a number of tokens is not mistaken for a secret", () => {
    expect(["maxTokens", "tokens", "keyboard"].filter(isSecretName)).toEqual([])
  })

  test("a key that needs code is rejected with a hint to use a program", () => {
    for (const name of ["tools", "hooks", "observers", "resolvePricing"]) {
      expect(failure({ [name]: [] })).toMatchObject({
        message: `${file}: "${name}" is code, which JSON cannot contain.`,
        fix: "Move it to /project/longhaul.config.js and name that file with --config.",
      })
    }
  })
})

describe("settings of a program", () => {
  test("a program may set tools, hooks, observers and prices, and leave keys undefined", () => {
    const tool = { name: "t", run: () => "" }
    const code = { tools: [tool], hooks: {}, observers: [{ recordEvent() {} }], resolvePricing: () => null }
    expect(check({ ...code, model: undefined }, true)).toMatchObject(code)
  })

  test.each([
    [{ tools: {} }, "a list of tools made with defineTool"],
    [{ tools: [{ name: "t" }] }, "a list of tools made with defineTool"],
    [{ hooks: [] }, "an object of functions"],
    [{ observers: [null] }, "a list of observers"],
    [{ resolvePricing: 1 }, "a function"],
  ])("the program setting %j is rejected", (given, fix) => {
    expect(failure(given, true).fix).toContain(fix)
  })
})
