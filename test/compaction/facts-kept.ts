import { native } from "../../src/backends/native/index.ts"
import type { Compaction } from "../../src/contract/compaction.ts"
import type { RunResult } from "../../src/contract/result.ts"
import { createRuntime } from "../../src/index.ts"
import { memoryStore } from "../../src/stores/memory.ts"
import { defineTool } from "../../src/tools/kernel/define-tool.ts"
import { call, text } from "./counting-model.ts"
import {
  codeOf,
  type Fact,
  factLines,
  factsUpTo,
  fillerText,
  type Language,
  marksIn,
  numbers,
  places,
  sentenceOf,
  textWith,
} from "./planted.ts"
import { type Bill, pricedModel, type SummaryRequest } from "./priced-model.ts"

/** How good the model is that writes the summaries. */
export const summarisers = {
  perfect: (facts) => (request) => summaryOf(factLines(request.prompt, facts)),
  /** Loses a fifth of what it is shown, by chance. */
  lossy(facts) {
    const next = numbers(5)
    return ({ prompt }) => summaryOf(factLines(prompt, facts).filter(() => next() >= 0.2))
  },
  /** Writes three times what the window holds, so that it is cut at the limit of output. */
  long:
    (facts) =>
    ({ prompt, window }) =>
      `${summaryOf(factLines(prompt, facts))}\n${fillerText("prose", 3 * window, 4)}`,
  /** Repeats the beginning of what it is shown. */
  copying:
    () =>
    ({ prompt }) =>
      prompt.slice(0, 3_000),
} satisfies Record<string, (facts: readonly Fact[]) => (request: SummaryRequest) => string>

const summaryOf = (lines: readonly string[]) => `Goal: read the pages.\nPaths, ids and figures\n${lines.join("\n")}`

export interface FactsCell {
  readonly language: Language
  readonly window: number
  readonly turns: number
  readonly summariser: keyof typeof summarisers
  /** Characters of a result. Default: by the window. */
  readonly resultCharacters?: number
  /** Facts that look like nothing. */
  readonly isPlain?: boolean
  /** Another model writes the summaries, in a conversation of its own. */
  readonly isApart?: boolean
}

export interface FactsKept extends FactsCell {
  readonly result: RunResult
  /** Of 20 in each place, in the last request. */
  readonly kept: Readonly<Record<(typeof places)[number], number>>
  readonly bill: Bill
  readonly compactions: readonly Compaction[]
  /** Of what was said, the share that a summary was written from or that is still in the conversation. */
  readonly shownShare: number
}

const EACH = 20

/** A run with facts in results, texts, arguments and messages of people: how many of them its last request still has. */
export async function factsKept(cell: FactsCell): Promise<FactsKept> {
  const { window, turns, summariser, isPlain = false } = cell
  const usual = window <= 8_000 ? 1_200 : window <= 32_000 ? 2_400 : 8_000
  const facts = factsUpTo(EACH, isPlain)
  const every = Math.floor(turns / EACH)
  const scene = reading({
    ...cell,
    facts,
    characters: cell.resultCharacters ?? usual,
    // All four in the same turn.
    factAt: (turn, place) =>
      turn % every === 1 % every ? { place, number: Math.ceil(turn / every), isPlain } : undefined,
    summary: summarisers[summariser](facts),
  })
  const runtime = scene.runtime(window)
  const result = await runtime.run({ task: "Read all pages.", runId: "r" })
  const kept = Object.fromEntries(
    places.map((place) => [place, scene.known().filter((fact) => fact.place === place).length]),
  ) as FactsKept["kept"]
  const { bill, compactions, shownShare } = scene
  return { ...cell, result, kept, bill, compactions, shownShare: shownShare() }
}

/** A conversation of over 110,000 tokens that is continued in a smaller window: how many of its 41 facts are known then. */
export async function factsAfterResume(language: Language, window: number, summariser: keyof typeof summarisers) {
  const facts = Array.from(
    { length: 41 },
    (_, index): Fact => ({ place: places[index % 4] ?? "text", number: index + 1 }),
  )
  const turns = 3 * facts.length
  const scene = reading({
    ...{ language, window: 200_000, turns: turns + 3, facts, characters: 4_000 },
    factAt(turn, place) {
      const fact = turn % 3 === 1 ? facts[Math.floor(turn / 3)] : undefined
      return fact?.place === place ? fact : undefined
    },
    summary: summarisers[summariser](facts),
  })
  await scene.runtime(200_000, turns).run({ task: "Read all pages.", runId: "r" })
  const { summaries, calls } = scene.bill
  const before = scene.longest()
  scene.bill.window = window
  const result = await scene.runtime(window).resume({ runId: "r", limits: { turns: 1_000 } })
  return {
    ...{ result, before, kept: scene.known().length, shownShare: scene.shownShare() },
    summaries: scene.bill.summaries - summaries,
    calls: scene.bill.calls - calls,
  }
}

interface Reading {
  readonly language: Language
  readonly window: number
  readonly turns: number
  readonly facts: readonly Fact[]
  /** Of a result in prose. */
  readonly characters: number
  readonly isApart?: boolean
  factAt(turn: number, place: Fact["place"]): Fact | undefined
  summary(request: SummaryRequest): string
}

/** An agent that reads one page in each turn. */
function reading({ language, window, turns, facts, characters, isApart, factAt, summary }: Reading) {
  const dense = language === "chinese" ? 3 : language === "json" ? 1.8 : 1
  const said = new Set<string>()
  const note = (given: string) => {
    for (const mark of marksIn(given)) said.add(mark)
    return given
  }
  let last = ""
  const { model, bill } = pricedModel({
    language,
    window,
    turn(number, messages) {
      last = JSON.stringify(messages)
      if (number > turns) return "All pages are read."
      const inArguments = factAt(number, "arguments")
      return [
        text(note(textWith(language, 300, number, factAt(number, "text")))),
        call("page", { number, note: inArguments ? sentenceOf(language, inArguments) : "-" }),
      ]
    },
    summary,
  })
  const store = memoryStore()
  const compactions: Compaction[] = []
  const runtime = (declared: number, limit = 30_000) => {
    const page = defineTool({
      name: "page",
      description: "Reads a page.",
      inputSchema: { type: "object" },
      effect: "none",
      async run({ number = 0 }: { readonly number?: number }) {
        const person = factAt(number, "person")
        if (person) await own.steer("r", `Please note: ${sentenceOf(language, person)}`)
        return note(textWith(language, Math.round(characters / dense), number + 5_000, factAt(number, "result")))
      },
    })
    const own = createRuntime({
      store,
      model,
      tools: [page],
      backend: native({ retry: { firstMs: 1, longestMs: 2 } }),
      limits: { turns: limit },
      compaction: { window: declared, ...(isApart && { model }) },
      hooks: { compaction: ({ compaction }) => void compactions.push(compaction) },
    })
    return own
  }
  return {
    ...{ bill, compactions, runtime },
    /** The facts in the last request. */
    known: () => facts.filter((fact) => last.includes(codeOf(fact))),
    longest: () => bill.longest,
    shownShare() {
      const shown = new Set([...bill.shown, last].flatMap((each) => marksIn(each)))
      return [...said].filter((mark) => shown.has(mark)).length / said.size
    },
  }
}
