import { afterAll, describe, expect, test } from "vitest"
import { type FactsCell, factsAfterResume, factsKept } from "./compaction/facts-kept.ts"
import { type Place, places } from "./compaction/planted.ts"

const isWhole = process.env.LONGHAUL_QUALITY === "all"
const EACH = 20
const lines: string[] = []
afterAll(() => console.log(lines.join("\n")))

type Kept = Readonly<Record<Place, number>>
const leastOf = (kept: Kept) => Math.min(...places.map((place) => kept[place]))
const percent = (share: number) => `${(100 * share).toFixed(1)} %`

/**
 * Requests and cost of the design before this one, which pruned results that no summary had seen and kept 0 to 20 of 20 facts,
 * measured with the same model: [language, window, turns, requests, cost in thousands of input tokens].
 */
const before = [
  ["prose", 8_000, 300, 332, 560],
  ["json", 8_000, 300, 342, 935],
  ["chinese", 8_000, 300, 347, 1_036],
  ["prose", 32_000, 300, 304, 888],
  ["json", 32_000, 300, 307, 1_180],
  ["chinese", 32_000, 300, 308, 1_367],
  ["prose", 200_000, 300, 301, 3_625],
  ["json", 200_000, 300, 301, 4_060],
  ["chinese", 200_000, 300, 302, 4_317],
  ["prose", 8_000, 2_000, 2_210, 3_665],
  ["json", 8_000, 2_000, 2_279, 6_179],
  ["chinese", 8_000, 2_000, 2_308, 6_836],
  ["prose", 32_000, 2_000, 2_026, 6_053],
  ["json", 32_000, 2_000, 2_043, 7_979],
  ["chinese", 32_000, 2_000, 2_053, 9_254],
  ["prose", 200_000, 2_000, 2_004, 26_369],
  ["json", 200_000, 2_000, 2_006, 28_611],
  ["chinese", 200_000, 2_000, 2_009, 30_502],
] as const
const small = ([, window, turns]: (typeof before)[number]) => window === 8_000 && turns === 300
/** In a window of 8,000 tokens a turn takes a tenth and more, and the language decides how much. */
const maxRequests = (window: number) => (window === 8_000 ? 1.15 : 1.05)

describe("a summary that keeps what it is shown", () => {
  const cells = (isWhole ? before : before.filter(small)).flatMap((cell) => [
    [...cell, "in the run's own conversation", false, 1] as const,
    [...cell, "by another model", true, 1.25] as const,
  ])
  test.each(cells)(
    "%s in %d tokens over %d turns: every fact is known at the end (%d requests and a cost of %d before), %s",
    { timeout: 600_000 },
    async (language, window, turns, requests, cost, _, isApart, maxCost) => {
      const measured = await factsKept({ language, window, turns, isApart, summariser: "perfect" })
      const { result, kept, bill, shownShare } = measured
      const ratios = { requests: bill.calls / requests, cost: bill.cost / 1_000 / cost }
      lines.push(`${tableLine(measured)}, requests × ${ratios.requests.toFixed(3)}, cost × ${ratios.cost.toFixed(2)}`)
      expect(result).toMatchObject({ status: "done", warnings: [] })
      expect([leastOf(kept), shownShare, bill.refused]).toEqual([EACH, 1, 0])
      expect(ratios.requests).toBeLessThanOrEqual(maxRequests(window))
      expect(ratios.cost).toBeLessThanOrEqual(maxCost)
    },
  )

  test.each([
    ["in the run's own conversation", false],
    ["by another model", true],
  ])("large results, whose facts are in their middle: every fact is known at the end, %s", async (_, isApart) => {
    const cell = { language: "prose", window: 32_000, turns: 300, resultCharacters: 12_000, isApart } as const
    const measured = await factsKept({ ...cell, summariser: "perfect" })
    const ratios = { requests: measured.bill.calls / 304, cost: measured.bill.cost / 1_598_000 }
    lines.push(`${tableLine(measured)}, requests × ${ratios.requests.toFixed(3)}, cost × ${ratios.cost.toFixed(2)}`)
    expect([measured.result.status, leastOf(measured.kept), measured.shownShare]).toEqual(["done", EACH, 1])
    expect(ratios.requests).toBeLessThanOrEqual(1.15)
    expect(ratios.cost).toBeLessThanOrEqual(1.55)
  })
})

describe("a summary that is not as it should be", () => {
  const cells: readonly (readonly [string, number, FactsCell])[] = [
    ...[8_000, 32_000, 200_000].map(
      (window) => ["loses a fifth at random", 17, prose(window, { summariser: "lossy" })] as const,
    ),
    ...[32_000, 200_000].map(
      (window) =>
        [
          "loses a fifth at random of what looks like nothing",
          13,
          prose(window, { summariser: "lossy", isPlain: true }),
        ] as const,
    ),
    ...[8_000, 32_000, 200_000].map((window) => ["is too long", 17, prose(window, { summariser: "long" })] as const),
    ...[8_000, 32_000].map(
      (window) => ["is too long and cut", 17, prose(window, { summariser: "long", isApart: true })] as const,
    ),
  ]
  test.each(isWhole ? cells : cells.filter(([, , { window }]) => window <= 32_000))(
    "%s: at least %d of 20 facts in each place are known at the end (%o)",
    { timeout: 600_000 },
    async (_, least, cell) => {
      const measured = await factsKept(cell)
      lines.push(tableLine(measured))
      expect(measured.result.status).toBe("done")
      expect(leastOf(measured.kept)).toBeGreaterThanOrEqual(least)
    },
  )
})

describe("a conversation that is continued in a smaller window", () => {
  const cells = [
    ["prose", 16_000, "perfect"],
    ["json", 16_000, "perfect"],
    ["chinese", 16_000, "perfect"],
    ["prose", 8_000, "perfect"],
    ["prose", 32_000, "perfect"],
    ["prose", 16_000, "lossy"],
  ] as const
  test.each(isWhole ? cells : cells.slice(0, 1))(
    "%s in %d tokens, summaries %s: at least 40 of 41 facts are known, and everything was shown to a summary",
    { timeout: 600_000 },
    async (language, window, summariser) => {
      const { result, before, kept, summaries, shownShare } = await factsAfterResume(language, window, summariser)
      lines.push(
        `resumed: ${language}, from ${before} tokens in a window of ${window}, ${summariser}: ${kept} of 41, ` +
          `${summaries} summaries, ${percent(shownShare)} shown`,
      )
      expect(result.status).toBe("done")
      expect(kept).toBeGreaterThanOrEqual(40)
      expect(shownShare).toBe(1)
    },
  )
})

function prose(window: number, more: Pick<FactsCell, "summariser" | "isPlain" | "isApart">): FactsCell {
  return { language: "prose", window, turns: 300, ...more }
}

function tableLine({
  language,
  window,
  turns,
  summariser,
  isPlain,
  isApart,
  resultCharacters,
  ...measured
}: Awaited<ReturnType<typeof factsKept>>) {
  const { result, kept, bill, compactions, shownShare } = measured
  return [
    `${language} ${window} × ${turns}`,
    `${summariser}${isPlain ? ", plain facts" : ""}${isApart ? ", another model" : ""}${resultCharacters ? `, results of ${resultCharacters}` : ""}`,
    `${result.status}: ${places.map((place) => `${place} ${kept[place]}`).join(", ")}`,
    `${compactions.length} compactions, ${bill.calls} requests, cost ${Math.round(bill.cost / 1_000)}k, ${percent(shownShare)} shown`,
  ].join(" | ")
}
