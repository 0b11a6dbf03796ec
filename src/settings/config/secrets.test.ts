import { expect, test } from "vitest"
import { native } from "../../backends/native/index.ts"
import { createRuntime } from "../../index.ts"
import { createRedactor } from "../../policy/redact/redactor.ts"
import { memoryStore } from "../../stores/memory.ts"
import { scriptedModel } from "../../testing/index.ts"
import { RunSecrets, redactedTools, redactFailure, redactorSource, UndeclaredTokens } from "./secrets.ts"

test("kept arguments belong to exactly one call with exactly these arguments", () => {
  const undeclared = new UndeclaredTokens()
  undeclared.keep("r/main/1.0", { a: "{{secret:token/github}}" }, { a: "real" })
  expect(undeclared.find("r/main/1.0", { a: "{{secret:token/github}}" })).toEqual({ a: "real" })
  expect(undeclared.find("r/main/1.1", { a: "{{secret:token/github}}" })).toBeUndefined()
  expect(undeclared.find("r/main/1.0", { a: "{{secret:token/github}}", b: 1 })).toBeUndefined()
})

test("only the newest arguments are kept", () => {
  const undeclared = new UndeclaredTokens()
  for (let call = 0; call < 1001; call++) undeclared.keep(`${call}`, {}, { call })
  expect([undeclared.find("0", {}), undeclared.find("1", {})]).toEqual([undefined, { call: 1 }])
})

test("a failure is masked before it is shortened, in every field", () => {
  const redactor = createRedactor({ KEY: "correct-horse-battery" })
  const failure = {
    code: "auth" as const,
    retryable: false,
    message: `${"x".repeat(590)} correct-horse-battery ${"y".repeat(8000)}`,
    fix: "correct-horse-battery",
    requestId: "correct-horse-battery",
    data: { "correct-horse-battery": ["correct-horse-battery"] },
  }
  const clean = redactFailure(redactor, failure)
  expect(JSON.stringify(clean)).not.toContain("correct")
  expect(clean.message.length).toBeLessThan(610)
})

test("a redactor is built once for each model, and a model whose credentials fail is used without them", () => {
  const model = scriptedModel([])
  const failing = {
    ...model,
    credentials(): never {
      throw new Error("none")
    },
  }
  const redactorOf = redactorSource({}, memoryStore(), { SERVICE_TOKEN: "service-token-1" }, model)
  expect(redactorOf()).toBe(redactorOf([{ model }]))
  expect(redactorOf([{ model: failing }]).text("service-token-1")).toBe("{{secret:SERVICE_TOKEN}}")
})

test("a second value of a declared name is masked, but never restored as the first one", () => {
  const redactorOf = redactorSource(
    { secrets: { KEY: "declared-value" } },
    memoryStore(),
    { KEY: "other-value" },
    undefined,
  )
  const masked = redactorOf().text("declared-value other-value")
  expect(masked).toBe("{{secret:KEY}} {{secret:other/KEY}}")
  expect(redactorOf().expand(masked)).toBeUndefined()
})

test("a secret in structured output is masked, even if the backend has not let it be reviewed", async () => {
  const session = {
    ref: { backend: "native", version: "1", id: "s", cwd: ".", resumable: false },
    close: async () => {},
  }
  const runtime = createRuntime({
    model: scriptedModel([]),
    store: memoryStore(),
    secrets: { KEY: "correct-horse-battery" },
    backend: {
      ...native(),
      open: async () => ({
        ...session,
        run: async () => ({ reason: "done", text: '{"key":"correct-horse-battery"}' }),
        steer: () => false,
        interrupt() {},
      }),
    },
  })
  const result = await runtime.run({ task: "x", outputSchema: { type: "object" } })
  expect(result).toMatchObject({ status: "done", data: { key: "{{secret:KEY}}" } })
})

test("the redactor of a run knows the secrets of its own webhooks, and is built once for each model", () => {
  const runs = new RunSecrets()
  const redactorOf = redactorSource({}, memoryStore(), {}, undefined, runs)
  const run = { runId: "r" }
  expect(redactorOf([], {}, run)).toBe(redactorOf())
  const url = "https://hooks.example/?token=token-in-the-query"
  runs.keep("r", { url, secret: ["first-secret", "second-secret"], headers: { authorization: "Bearer header-token" } })
  runs.keep("r", { url: "https://hooks.example/", secret: "third-secret" })
  const redactor = redactorOf([], {}, run)
  expect(redactorOf([], {}, run)).toBe(redactor)
  const text = "first-secret second-secret third-secret header-token token-in-the-query"
  expect(redactor.text(text).replaceAll("{{secret:webhook/", "{")).toBe(
    "{{secret:former/webhook/secret1}} {secret2}} {secret1}} {authorization}} {url/token}}",
  )
  expect([redactorOf().text(text), redactorOf([], {}, { runId: "other" })]).toEqual([text, redactorOf()])
})

test("a webhook without secrets needs no redactor of its own", () => {
  const runs = new RunSecrets()
  const redactorOf = redactorSource({}, memoryStore(), {}, undefined, runs)
  runs.keep("r", { url: "https://hooks.example/path", secretRef: "NAME", headers: { "content-type": "text/plain" } })
  expect(redactorOf([], {}, { runId: "r" })).toBe(redactorOf())
})

test("tool definitions are masked except for their names, once, and without a secret they are passed on as they are", () => {
  const redactor = createRedactor({ KEY: "correct-horse-battery" })
  const plain = { name: "plain", description: "Plain.", inputSchema: { type: "object" } }
  const inputSchema = { properties: { "correct-horse-battery": { enum: ["correct-horse-battery"] } } }
  const telling = { name: "correct-horse-battery", description: "Takes correct-horse-battery.", inputSchema }
  const specs = [plain, telling]
  const masked = redactedTools(redactor, specs)
  expect(masked[0]).toBe(plain)
  expect(masked[1]).toEqual({
    name: "correct-horse-battery",
    description: "Takes {{secret:KEY}}.",
    inputSchema: { properties: { "{{secret:KEY}}": { enum: ["{{secret:KEY}}"] } } },
  })
  expect(redactedTools(redactor, specs)).toBe(masked)
  const harmless = [plain]
  expect(redactedTools(redactor, harmless)).toBe(harmless)
})
