import { expect, test } from "vitest"
import type { LineChannel, ProgramExit } from "../../contract/backend-env.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Json } from "../../contract/json.ts"
import { JsonRpc, type JsonRpcOptions } from "./json-rpc.ts"

/** The program's side of a channel: what it received, and what it writes. */
class Program implements LineChannel {
  readonly received: Json[] = []
  readonly lines: AsyncIterable<string>
  readonly exit: Promise<ProgramExit>
  #lines: string[] = []
  #wake: () => void = () => {}
  #failure: unknown
  #hasEnded = false
  #exited: (exit: ProgramExit) => void = () => {}
  readonly #waiting: { readonly count: number; readonly resolve: () => void }[] = []

  constructor() {
    this.lines = this.#read()
    this.exit = new Promise((resolve) => {
      this.#exited = resolve
    })
  }

  async send(line: string): Promise<void> {
    if (this.#hasEnded) throw new LonghaulError("backend_crashed", "The program has ended.")
    this.received.push(JSON.parse(line))
    for (const { count, resolve } of this.#waiting) if (this.received.length >= count) resolve()
  }

  /** Resolves when that many messages have arrived. */
  has(count: number): Promise<void> {
    if (this.received.length >= count) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push({ count, resolve }))
  }

  write(...messages: (Json | { readonly raw: string })[]): void {
    for (const message of messages) {
      const isRaw = typeof message === "object" && message !== null && "raw" in message
      this.#lines.push(isRaw ? String(message.raw) : JSON.stringify(message))
    }
    this.#wake()
  }

  crash(stderr = "", code: number | null = 1, signal: string | null = null): void {
    this.#hasEnded = true
    this.#exited({ code, signal, stderr })
    this.#wake()
  }

  break(error: unknown): void {
    this.#failure = error
    this.#wake()
  }

  endInput(): void {}
  async end(): Promise<void> {}

  async *#read(): AsyncGenerator<string> {
    for (;;) {
      for (const line of this.#lines.splice(0)) yield line
      if (this.#failure) throw this.#failure
      if (this.#hasEnded) return
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}

function connect(options: Partial<JsonRpcOptions> = {}) {
  const program = new Program()
  const notified: Json[] = []
  const peer = new JsonRpc(program, {
    name: "The program",
    versioned: false,
    replyMs: 60_000,
    onNotification: (method, params) => notified.push([method, params]),
    onRequest: () => undefined,
    toError: ({ method, code, message, data = null }) =>
      new LonghaulError("invalid_request", message, { data: { method, code, data } }),
    ...options,
  })
  return { program, peer, notified }
}

test("a request and its reply have no jsonrpc field in an unversioned conversation", async () => {
  const { program, peer } = connect()
  const reply = peer.request("thread/start", { cwd: "/project" })
  expect(program.received).toEqual([{ id: 1, method: "thread/start", params: { cwd: "/project" } }])
  program.write({ id: 1, result: { thread: "t" } })
  expect(await reply).toEqual({ thread: "t" })
})

test("every message has the jsonrpc field in a versioned conversation", async () => {
  const { program, peer } = connect({ versioned: true, onRequest: async () => "yes" })
  void peer.notify("initialized")
  const reply = peer.request("session/new")
  program.write({ jsonrpc: "2.0", id: "a", method: "ask", params: {} }, { jsonrpc: "2.0", id: 1, result: 7 })
  expect(await reply).toBe(7)
  await program.has(3)
  expect(program.received).toEqual([
    { jsonrpc: "2.0", method: "initialized" },
    { jsonrpc: "2.0", id: 1, method: "session/new" },
    { jsonrpc: "2.0", id: "a", result: "yes" },
  ])
})

test("a request of the program does not settle our request of the same id", async () => {
  const { program, peer } = connect({ onRequest: async (method) => `answer to ${method}` })
  const ours = peer.request("turn/start")
  program.write({ id: 1, method: "approve", params: null })
  await program.has(2)
  expect(program.received[1]).toEqual({ id: 1, result: "answer to approve" })
  program.write({ id: 1, result: "reply to turn/start" })
  expect(await ours).toBe("reply to turn/start")
})

test("replies in another order reach their own requests", async () => {
  const { program, peer } = connect()
  const replies = Promise.all([peer.request("one"), peer.request("two")])
  program.write({ id: 2, result: "second" }, { id: 1, result: "first" })
  expect(await replies).toEqual(["first", "second"])
})

test("a request without a reply rejects with stream_stalled, and its late reply is ignored", async () => {
  const { program, peer } = connect({ replyMs: 1 })
  await expect(peer.request("initialize")).rejects.toMatchObject({
    code: "stream_stalled",
    message: "The program did not reply to initialize in time.",
  })
  const next = peer.request("next", undefined, { replyMs: null })
  program.write({ id: 1, result: "late" }, { id: 2, result: "in time" })
  expect(await next).toBe("in time")
})

test("an aborted request rejects with cancelled", async () => {
  const { peer } = connect()
  const stop = new AbortController()
  const reply = peer.request("command/exec", {}, { replyMs: null, signal: stop.signal })
  stop.abort()
  await expect(reply).rejects.toMatchObject({ code: "cancelled" })
})

test("an error reply rejects with the error that the backend makes of it", async () => {
  const { program, peer } = connect()
  const reply = peer.request("thread/resume")
  program.write({ id: 1, error: { code: -32600, message: "no rollout found", data: { kind: "x" } } })
  await expect(reply).rejects.toMatchObject({
    code: "invalid_request",
    message: "no rollout found",
    data: { method: "thread/resume", code: -32600, data: { kind: "x" } },
  })
})

test("an unknown request of the program is answered with an error at once", async () => {
  const { program } = connect()
  program.write({ id: 0, method: "attestation/generate", params: {} })
  await program.has(1)
  expect(program.received).toEqual([
    { id: 0, error: { code: -32601, message: "The method attestation/generate is not supported." } },
  ])
})

test("a request of the program whose answer fails is answered with an error that does not show why", async () => {
  const { program } = connect({ onRequest: () => Promise.reject(new Error("secret")) })
  program.write({ id: "x", method: "ask" })
  await program.has(1)
  expect(program.received).toEqual([{ id: "x", error: { code: -32603, message: "The answer to ask failed." } }])
})

test("notifications arrive in order, also while a request of the program is being answered", async () => {
  let answer: (value: Json) => void = () => {}
  const { program, notified } = connect({ onRequest: () => new Promise((resolve) => (answer = resolve)) })
  program.write({ method: "a", params: 1 }, { id: 5, method: "ask" }, { raw: "" }, { method: "b" }, { method: "c" })
  program.crash()
  await expect
    .poll(() => notified)
    .toEqual([
      ["a", 1],
      ["b", null],
      ["c", null],
    ])
  answer(null)
})

test.each(["Loading…", "[1]", "7", "{}", '{"id":null,"error":{"code":1}}', '{"id":1}', '{"id":{},"method":"x"}'])(
  "the line %s ends the conversation with backend_protocol",
  async (raw) => {
    const { program, peer } = connect()
    const reply = peer.request("initialize")
    program.write({ raw })
    await expect(reply).rejects.toMatchObject({ code: "backend_protocol", data: { line: raw } })
    expect((await peer.ended).code).toBe("backend_protocol")
  },
)

test("a channel that fails by itself rejects pending requests with its own error", async () => {
  const { program, peer } = connect()
  const reply = peer.request("initialize")
  program.break(new LonghaulError("backend_protocol", "A line is too long."))
  await expect(reply).rejects.toMatchObject({ code: "backend_protocol", message: "A line is too long." })
})

test("the end of the program rejects pending and later requests with backend_crashed and the end of its stderr", async () => {
  const { program, peer } = connect()
  const replies = [peer.request("one"), peer.request("two", {}, { replyMs: null })]
  program.crash(`${"x ".repeat(9000)}\nError: no such model\n`, 3)
  for (const reply of replies) {
    await expect(reply).rejects.toMatchObject({ code: "backend_crashed", data: { code: 3, signal: null } })
  }
  const { message } = await peer.ended
  expect(message).toMatch(/^The program ended unexpectedly, with code 3: [x ]+\nError: no such model$/)
  expect(message.length).toBeLessThan(2100)
  await expect(peer.request("three")).rejects.toMatchObject({ code: "backend_crashed" })
  await peer.notify("four")
})

test("an excerpt of what the program wrote never begins or ends within a word, which could be half of a secret", async () => {
  for (let place = 1_960; place < 2_010; place++) {
    const crashed = connect()
    crashed.program.crash(`key sk-half-of-a-secret ${"x".repeat(place)} end`, 1)
    expect((await crashed.peer.ended).message).toMatch(/: (?:key )?(?:sk-half-of-a-secret )?(?:x+ )?end$/)
    const confused = connect()
    confused.program.write({ raw: `${"x".repeat(place)} sk-half-of-a-secret and more` })
    const { data } = await confused.peer.ended
    expect(JSON.stringify(data)).toMatch(/^{"line":"x*(?: sk-half-of-a-secret)?(?: and)?(?: more)?"}$/)
  }
})

test("a program that a signal ended is reported with the signal", async () => {
  const { program, peer } = connect()
  program.crash("", null, "SIGKILL")
  expect((await peer.ended).message).toBe("The program ended unexpectedly, by SIGKILL.")
})
