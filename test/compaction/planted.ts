/** Texts with facts in them: what a conversation must not forget when it is shortened. */

export type Language = "prose" | "json" | "chinese"
/** Where a fact is: in a result, in the agent's text, in the arguments of a call, in a message of a person. */
export const places = ["result", "text", "arguments", "person"] as const
export type Place = (typeof places)[number]

export interface Fact {
  readonly place: Place
  readonly number: number
  /** Nothing in it looks like an id, a path or a figure. */
  readonly isPlain?: boolean
}

/** The same numbers for the same seed. */
export function numbers(seed: number): () => number {
  let state = (seed * 2_654_435_761 + 12_345) >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** A text without facts. Every 200 characters have a mark of their own, so that what was shown of it can be counted. */
export function fillerText(language: Language, characters: number, seed: number): string {
  const next = numbers(seed)
  const pick = (from: readonly string[]) => from[Math.floor(next() * from.length)] ?? ""
  let text = ""
  for (let marks = 0; text.length < characters; ) {
    if (text.length >= marks * MARK_EVERY) text += `${markOf(seed, marks++)} `
    if (language === "prose") text += `${pick(WORDS)}${next() < 0.08 ? ". " : " "}`
    else if (language === "chinese") text += `${pick(SIGNS)}${next() < 0.06 ? "，" : ""}`
    else
      text += `{"at":"2026-11-${10 + Math.floor(next() * 18)}","${pick(WORDS)}":${Math.floor(next() * 1e5)},"in":"${pick(WORDS)}/x.ts"},`
  }
  return text
}

/** The marks in a text. */
export function marksIn(text: string): readonly string[] {
  return text.match(/§\d+\.\d+/g) ?? []
}

/** A text with a fact somewhere in it. */
export function textWith(language: Language, characters: number, seed: number, fact: Fact | undefined): string {
  const text = fillerText(language, characters, seed)
  if (fact === undefined) return text
  const at = Math.floor(numbers(seed + 77)() * text.length)
  return `${text.slice(0, at)} ${sentenceOf(language, fact)} ${text.slice(at)}`
}

export function codeOf({ place, number, isPlain }: Fact): string {
  if (isPlain) {
    const index = 20 * places.indexOf(place) + number - 1
    return `${COLOURS[Math.floor(index / 10)]} ${BIRDS[index % 10]}`
  }
  const bird = BIRDS[(number * 7 + places.indexOf(place)) % BIRDS.length]
  return `${bird}-${place.charAt(0).toUpperCase()}${1000 + number * 37}`
}

const nameOf = ({ place, number }: Fact) => `${place.charAt(0)}${number}`

export function sentenceOf(language: Language, fact: Fact): string {
  const value = codeOf(fact)
  if (fact.isPlain) return `The word of the day is ${value}.`
  const name = nameOf(fact)
  if (language === "json") return `{"depot":"${name}","code":"${value}"},`
  return language === "chinese" ? `${name}号仓库的口令是${value}。` : `The code of depot ${name} is ${value}.`
}

/** All facts, a fourth in each place. */
export function factsUpTo(count: number, isPlain = false): readonly Fact[] {
  return Array.from({ length: count }, (_, index) =>
    places.map((place) => ({ place, number: index + 1, isPlain })),
  ).flat()
}

/** A line for each fact whose value the text has, as a summary has it. */
export function factLines(text: string, facts: readonly Fact[]): readonly string[] {
  return facts.filter((fact) => text.includes(codeOf(fact))).map((fact) => `${nameOf(fact)}: ${codeOf(fact)}`)
}

const markOf = (seed: number, mark: number) => `§${seed}.${mark}`
const MARK_EVERY = 200
const COLOURS = "amber ochre umber sable ivory coral olive slate mauve azure".split(" ")
const BIRDS = "kestrel heron osprey plover dunlin siskin linnet merlin avocet gannet".split(" ")
const WORDS =
  "about after again along around because before between both could down each even every first from good great have into just know last life little long made make many more most much must never only other over people right same should small some still such take than that their them then there these they thing think this those through time under very water well were what when where which while with work world would year".split(
    " ",
  )
const SIGNS = [
  ..."的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得经十三之进着等部度家电力里如水化高自二理起小物现实加量都两体制机当使点从业本去把性好应开它合还因由其些",
]
