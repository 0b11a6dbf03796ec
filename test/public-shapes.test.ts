import { fileURLToPath } from "node:url"
import { afterAll, describe, expect, test } from "vitest"
import manifest from "../package.json" with { type: "json" }
import { LonghaulError } from "../src/contract/error.ts"
import { removeFolder, runtimeWithRuns, samples, validCalls } from "./support/public-calls.ts"
import { type PublicFunction, PublicTypes } from "./support/public-types.ts"
import { type TriedValue, WrongValues } from "./support/wrong-values.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const entries = new Map(
  Object.entries(manifest.exports).flatMap(([entry, to]) =>
    typeof to === "string" ? [] : [[entry, sourceOf(to.types)]],
  ),
)
const types = new PublicTypes(root, entries)
const values = new WrongValues(samples)
/** Runs take the same settings whichever method begins or resumes them: all of them are tried with one, the outer ones with the others. */
const outer = new WrongValues(samples, 1)
const likeOthers =
  /^Runtime (stream|start|resumeStream|resumeAsync|continue|continueStream|with)$|^\.\/node createRuntime$/

const functions = [...types.functions(), ...types.methods(".", "Runtime"), ...types.methods(".", "RunHandle")]
afterAll(removeFolder)

/** What may pass, or fail in another way, and why. */
const exceptions: readonly (readonly [function_: RegExp, wrong: RegExp, why: string])[] = [
  [/(Longhaul|Startup|Blocked|Tool)Error$/, /./, "An error that throws while it is made would hide what it reports."],
  [/./, /rules\.0\.(allow|ask)/, "As `deny`: a rule has one of them."],
  [/verifyWebhook$/, /^received\.(headers|body)/, "Refused as a webhook, with a reason of its own."],
  [
    /(toolSearchTool|createCompactionManager|estimateFirstTurnInput)$/,
    /tools\.0 unknown key/,
    "A tool is a ToolSpec, too.",
  ],
  [/renderAnswer$/, /tools\.0 unknown key/, "A tool is a ToolSpec, too."],
  [/shouldEnforceTool$/, /^tool unknown key/, "The use of a tool may be passed as it is."],
  [/^Runtime runs$/, /^filter\.before unknown key/, "A summary is a position."],
  [/transcriptLine$/, /^message unknown key/, "A message of the SDK has more members."],
  [/(direct|node)Transport$/, /key\.0 unknown key/, "As in Node."],
  [
    /(supports|meetsRequirements)$/,
    /^capabilities\.(?!features)|capabilities unknown key/,
    "Only the features are read.",
  ],
  [/(supports|meetsRequirements)$/, /features\.0 unknown word/, "False for an unknown name."],
  [/^Runtime (run|continue)/, /messages\.0\.content text/, "A message of a person or a model may be a text."],
  [/scriptedModel$/, /toolCall\.args/, "A scripted model may give arguments that no server can send."],
  [/scriptedModel$/, /^steps\.0\.fail|^steps\.0 unknown key/, "An error has more members."],
]

function sourceOf(declarations: string): string {
  return `${root}${declarations.replace("./dist/", "src/").replace(".d.ts", ".ts")}`
}

/** What is wrong with the refusal of a wrong value; undefined: nothing. */
async function problemWith(call: () => unknown, name: string, { path, what }: TriedValue): Promise<string | undefined> {
  const error = await refusalOf(call)
  if (error === undefined) return "passes silently"
  if (typeof error === "string") return error
  if (error.code !== "config_invalid") return `is refused as ${error.code}: ${error.message}`
  if (!error.fix) return `is refused without a fix: ${error.message}`
  const setting = path.findLast((part) => !/^(\d+|some)$/.test(part)) ?? name
  const around = path.slice(0, -1).reduce((text, part) => text + (/^\d+$/.test(part) ? `[${part}]` : `.${part}`), "")
  const names = [setting, ...(around === "" ? [] : [around.slice(1)])]
  const isNamed =
    path.length === 0 || what === "unknown key" || names.some((each) => `${error.message} ${error.fix}`.includes(each))
  return isNamed ? undefined : `is refused without its name: ${error.message}`
}

/** A run reports its failure as its result. */
async function refusalOf(call: () => unknown): Promise<LonghaulError | string | undefined> {
  try {
    const given: unknown = await call()
    const { error } = Object(await settled(given))
    return error && new LonghaulError(error.code, error.message, error)
  } catch (error) {
    return LonghaulError.is(error) ? error : `throws ${String(error)}`
  }
}

async function settled(value: unknown): Promise<unknown> {
  const { result, interrupt, close, [Symbol.asyncIterator]: iterate } = Object(value)
  if (result instanceof Promise) return result
  if (typeof iterate === "function" && interrupt === undefined) for await (const _ of Object(value)) break
  if (typeof close === "function") await close.call(value)
  return value
}

async function callOf({ home, name, isClass }: PublicFunction): Promise<(args: readonly unknown[]) => unknown> {
  if (home === "Runtime") {
    const runtime = await runtimeWithRuns()
    return (args) => Reflect.apply(Reflect.get(runtime, name), runtime, args)
  }
  if (home === "RunHandle") {
    const handle = (await runtimeWithRuns()).stream({ task: "Work." })
    return (args) => Reflect.apply(Reflect.get(handle, name), handle, args)
  }
  const made = Reflect.get(await import(entries.get(home) ?? ""), name)
  return (args) => (isClass ? Reflect.construct(made, args) : Reflect.apply(made, undefined, args))
}

async function validArguments({ home, name, parameters }: PublicFunction): Promise<readonly unknown[]> {
  const given = await validCalls[`${home} ${name}`]?.()
  return given ?? parameters.map((parameter) => values.sample(parameter.type(), parameter.name))
}

describe("every public function", () => {
  test("the public functions that are checked are as many as the package exports", () => {
    expect(functions.length).toBeGreaterThan(100)
  })

  test.each(functions.map((each) => [`${each.home} ${each.name}`, each] as const))(
    "%s takes what its types say, and refuses anything else as config_invalid, with its name and a fix",
    async (id, each) => {
      const valid = await validArguments(each)
      expect(await refusalOf(async () => (await callOf(each))(valid))).toBeUndefined()
      // Refused values have no effect, so that one runtime serves for all of them.
      const call = await callOf(each)
      const problems: string[] = []
      for (const [index, { name, type }] of each.parameters.entries()) {
        for (const wrong of (likeOthers.test(id) ? outer : values).of(type(), valid[index])) {
          const where = `${[name, ...wrong.path].join(".")} ${wrong.what}`
          if (exceptions.some(([function_, which]) => function_.test(id) && which.test(where))) continue
          const problem = await problemWith(() => call(valid.with(index, wrong.value)), name, wrong)
          if (problem !== undefined) problems.push(`${where} ${problem}`)
        }
      }
      expect(problems).toEqual([])
    },
  )

  test.each(functions.map((each) => [`${each.home} ${each.name}`, each] as const))(
    "%s refuses no value for a kind that its types allow",
    async (id, each) => {
      if (ofOtherPackages.test(id)) return
      const valid = await validArguments(each)
      const call = await callOf(each)
      const problems: string[] = []
      for (const [index, { name, type }] of each.parameters.entries()) {
        for (const tried of values.allowed(type(), valid[index])) {
          const refusal = await refusalOf(() => call(valid.with(index, tried.value)))
          const message = typeof refusal === "string" ? refusal : (refusal?.message ?? "")
          if (ofItsKind.test(message)) problems.push(`${[name, ...tried.path].join(".")} ${tried.what}: ${message}`)
        }
      }
      expect(problems).toEqual([])
    },
  )
})

/** Their types are those of packages that are installed by users only. */
const ofOtherPackages = /^\.\/enforce\/(openai-agents|google-adk) enforceTools?$/

/** How a value is refused for its kind: others may be refused for what they say. */
const ofItsKind = /^throws TypeError| is (null|(an?) \w+), not (?!false)|has no function/
