import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { defineTool, ToolError } from "../src/hosts/node/index.ts"
import { filesBelow, root, scene } from "./secrets/scene.ts"
import { declared } from "./secrets/sentinels.ts"

const value = declared.SPECIAL?.value ?? expect.fail("no sentinel")
const plain = "provider-key-a81b72c63d"

/** Everything that left the run, as one text. */
function everything(sinks: Awaited<ReturnType<typeof scene>>["sinks"], result: unknown): string {
  const files = filesBelow(join(root, "store")).map((path) => readFileSync(path, "utf8"))
  return [JSON.stringify([sinks, result]), ...files].join("\n")
}

const input = { type: "object" } as const

test("a secret that a tool reports in pieces of its progress is not published", async () => {
  const tool = defineTool({
    name: "tell",
    description: "Tells.",
    inputSchema: input,
    async run(_, { progress }) {
      for (const piece of ["It is ", plain.slice(0, 7), plain.slice(7, 15), `${plain.slice(15)}.`]) progress(piece)
      progress(`and ${plain.slice(0, 12)}`)
      return "told"
    },
  })
  const { runtime, sinks } = await scene([{ parts: [{ toolCall: { name: "tell", args: {} } }] }, "Done."], {
    tools: [tool],
  })
  await runtime.run({ runId: "r", task: "Go." })
  const told = sinks.events.flatMap((event) => (event.type === "tool-progress" ? [event.message] : [])).join("")
  expect(told).not.toContain(plain.slice(0, 12))
  expect(told).toMatch(/^It is provide\{\{secret:[^}]+\}\}\.and \{\{secret:[^}]+\}\}$/)
})

test.each([
  ["a medium without a file", { mediaType: "text/plain", data: plain }],
  ["a medium with a name", { type: "image", mediaType: "image/png", data: `${plain} ${value}` }],
  ["a key", { [plain]: { [`${value}`]: 1 } }],
  ["a list of keys", [{ __proto__x: plain }]],
])("a secret in %s of arguments and results is masked", async (_, shape) => {
  const tool = defineTool({
    name: "put",
    description: "Puts.",
    inputSchema: input,
    run: async (args) => JSON.stringify(args),
  })
  const steps = [{ parts: [{ toolCall: { name: "put", args: { shape } } }] }, "Done."]
  const { runtime, sinks } = await scene(steps, { tools: [tool] })
  const result = await runtime.run({ runId: "r", task: "Go." })
  const all = everything(sinks, result)
  expect(all).not.toContain(plain)
  expect(all).not.toContain(JSON.stringify(value).slice(1, -1))
})

test("a secret in the causes of an exception is masked for hooks and logs", async () => {
  const cause = new AggregateError([new Error(plain), new TypeError(`https://h/?q=${plain}`)], plain, {
    cause: new Error(plain),
  })
  const tools = [
    defineTool({ name: "crash", description: "Crashes.", inputSchema: input, run: () => Promise.reject(cause) }),
    defineTool({
      name: "wrap",
      description: "Wraps.",
      inputSchema: input,
      run: () => Promise.reject(new Error("x", { cause })),
    }),
    defineTool({
      name: "refuse",
      description: "Refuses.",
      inputSchema: input,
      run: () => Promise.reject(new ToolError("io", "x", { cause })),
    }),
  ]
  const steps = [{ parts: tools.map(({ name }) => ({ toolCall: { name, args: {} } })) }, "Done."]
  const { runtime, sinks } = await scene(steps, { tools })
  const result = await runtime.run({ runId: "r", task: "Go." })
  const texts = sinks.hooks.concat(sinks.logs).map((each) => inspectDeep(each))
  expect(texts.join("\n")).not.toContain(plain)
  expect(everything(sinks, result)).not.toContain(plain)
})

/** Also what JSON does not show. */
function inspectDeep(given: unknown, depth = 0): string {
  if (typeof given !== "object" || given === null || depth > 8) return String(given)
  return Object.getOwnPropertyNames(given)
    .map((name) => `${name}: ${inspectDeep(Reflect.get(given, name), depth + 1)}`)
    .join("\n")
}
