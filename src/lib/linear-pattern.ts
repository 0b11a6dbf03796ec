import { type CharacterSet, contains, wordCharacters } from "./character-set.ts"
import { type Assertion, PatternError, type PatternNode, parsePattern } from "./parse-pattern.ts"

export { PatternError } from "./parse-pattern.ts"

/** A regular expression whose time grows with the text only, whoever wrote it. Says whether, not where, it matches. */
export interface LinearPattern {
  /** Whether `text` from `start` to `end` has a match; `^` and `$` are these two ends. */
  test(text: string, start?: number, end?: number): boolean
  /** Steps of building taken so far, under 100 ns each: for callers that share their thread. */
  readonly steps: number
}

/** Throws PatternError. JavaScript's own engine backtracks, and a pattern from a model could block the loop for hours. */
export function compileLinearPattern(source: string, { ignoreCase = false } = {}): LinearPattern {
  return new Automaton(compile(parsePattern(source, ignoreCase)))
}

type Instruction =
  | { readonly type: "set"; readonly set: CharacterSet; readonly next: number }
  | { readonly type: "split"; readonly first: number; readonly second: number }
  | { readonly type: "assert"; readonly kind: Assertion; readonly next: number }
  | { readonly type: "match" }

const maxInstructions = 500

/** Thompson's construction, from the end to the start so that every instruction knows what follows it. */
function compile(root: PatternNode): { readonly program: readonly Instruction[]; readonly entry: number } {
  const program: Instruction[] = []
  const emit = (instruction: Instruction): number => {
    if (program.length >= maxInstructions) throw new PatternError("is too large once its repetitions are written out")
    return program.push(instruction) - 1
  }
  const before = (node: PatternNode, next: number): number => {
    switch (node.type) {
      case "set":
        return emit({ type: "set", set: node.set, next })
      case "assert":
        return emit({ type: "assert", kind: node.kind, next })
      case "sequence":
        return node.nodes.reduceRight((after, child) => before(child, after), next)
      case "choice":
        return node.nodes
          .map((child) => before(child, next))
          .reduce((first, second) => emit({ type: "split", first, second }))
      case "repeat":
        return beforeRepeat(node, next)
    }
  }
  const beforeRepeat = ({ node, min, max }: Extract<PatternNode, { type: "repeat" }>, next: number): number => {
    let entry = next
    if (max === Infinity) {
      entry = emit({ type: "split", first: next, second: next })
      program[entry] = { type: "split", first: before(node, entry), second: next }
    } else {
      for (let count = min; count < max; count++) {
        entry = emit({ type: "split", first: before(node, entry), second: next })
      }
    }
    for (let count = 0; count < min; count++) entry = before(node, entry)
    return entry
  }
  const match = emit({ type: "match" })
  return { entry: before(root, match), program }
}

/** What came before a position, as far as assertions ask. */
type Before = "start" | "word" | "other"

interface State {
  readonly before: Before
  /** Where the program stands, before anything that takes no character was followed. */
  readonly seeds: readonly number[]
  /** By character class; the last is the end of the text. Filled as texts ask for it. */
  readonly next: (State | boolean | undefined)[]
}

const maxStates = 1000

/** A deterministic automaton built while it runs. Where it grows too large it is forgotten and built anew. */
class Automaton implements LinearPattern {
  steps = 0
  readonly #program: readonly Instruction[]
  readonly #entry: number
  readonly #classes: CharacterClasses
  readonly #states = new Map<string, State>()
  /** Kept from step to step, to make none anew. */
  readonly #reached: PositionList
  readonly #moved: Uint8Array

  constructor({ program, entry }: ReturnType<typeof compile>) {
    this.#reached = new PositionList(program.length)
    this.#moved = new Uint8Array(program.length)
    this.#program = program
    this.#entry = entry
    this.#classes = new CharacterClasses(program.flatMap((each) => (each.type === "set" ? [each.set] : [])))
  }

  test(text: string, start = 0, end = text.length): boolean {
    const classes = this.#classes
    let state = this.#state("start", [this.#entry])
    for (let index = start; index <= end; index++) {
      let character = classes.end
      if (index < end) {
        const unit = text.charCodeAt(index)
        if (unit < 128) character = classes.ascii[unit] ?? 0
        else {
          const code = index + 1 < end ? (text.codePointAt(index) ?? unit) : unit
          if (code > 0xffff) index++
          character = classes.of(code)
        }
      }
      let next = state.next[character]
      if (next === undefined) {
        next = this.#step(state, character)
        state.next[character] = next
      }
      if (typeof next === "boolean") return next
      state = next
    }
    return false
  }

  #step({ seeds, before }: State, character: number): State | boolean {
    const classes = this.#classes
    const atEnd = character === classes.end
    const afterIsWord = !atEnd && classes.isWord(character)
    this.#moved.fill(0)
    this.#moved[this.#entry] = 1
    const reached = this.#reached
    reached.restart(seeds)
    for (let index = 0; index < reached.size; index++) {
      const instruction = this.#program[reached.at(index)]
      if (instruction?.type === "match") return true
      if (instruction?.type === "split") {
        reached.add(instruction.first)
        reached.add(instruction.second)
      } else if (instruction?.type === "assert") {
        if (holds(instruction.kind, before, atEnd, afterIsWord)) reached.add(instruction.next)
      } else if (instruction?.type === "set" && !atEnd && classes.within(character, instruction.set)) {
        this.#moved[instruction.next] = 1
      }
    }
    this.steps += reached.size
    return atEnd ? false : this.#state(afterIsWord ? "word" : "other", positionsOf(this.#moved))
  }

  #state(before: Before, seeds: readonly number[]): State {
    const key = before + String.fromCharCode(...seeds)
    let state = this.#states.get(key)
    if (state === undefined) {
      if (this.#states.size >= maxStates) this.#states.clear()
      state = { before, seeds, next: new Array(this.#classes.end + 1).fill(undefined) }
      this.#states.set(key, state)
    }
    return state
  }
}

function positionsOf(marks: Uint8Array): readonly number[] {
  const positions: number[] = []
  for (let at = marks.indexOf(1); at !== -1; at = marks.indexOf(1, at + 1)) positions.push(at)
  return positions
}

/** Positions in the order in which they were added, each once. */
class PositionList {
  size = 0
  readonly #list: Uint16Array
  readonly #isIn: Uint8Array

  constructor(capacity: number) {
    this.#list = new Uint16Array(capacity)
    this.#isIn = new Uint8Array(capacity)
  }

  restart(positions: readonly number[]): void {
    this.size = 0
    this.#isIn.fill(0)
    for (const position of positions) this.add(position)
  }

  add(position: number): void {
    if (this.#isIn[position] === 1) return
    this.#isIn[position] = 1
    this.#list[this.size++] = position
  }

  at(index: number): number {
    return this.#list[index] ?? 0
  }
}

function holds(kind: Assertion, before: Before, atEnd: boolean, afterIsWord: boolean): boolean {
  if (kind === "start") return before === "start"
  if (kind === "end") return atEnd
  return ((before === "word") !== afterIsWord) === (kind === "boundary")
}

/** Characters that no set of the pattern tells apart behave alike: a state needs one way per class, not per character. */
class CharacterClasses {
  /** The class of each ASCII character. */
  readonly ascii = new Uint16Array(128)
  /** Not a character: the end of the text. */
  readonly end: number
  /** Class `n` runs from `#starts[n]` to the start of the next. */
  readonly #starts: readonly number[]
  readonly #members = new Map<CharacterSet, Uint8Array>()

  constructor(sets: readonly CharacterSet[]) {
    const starts = new Set([0])
    for (const [from, to] of [...sets, wordCharacters].flat()) starts.add(from).add(to + 1)
    this.#starts = [...starts].sort((left, right) => left - right)
    this.end = this.#starts.length
    for (let code = 0; code < 128; code++) this.ascii[code] = this.of(code)
    for (const set of [...sets, wordCharacters]) {
      this.#members.set(
        set,
        Uint8Array.from(this.#starts, (start) => (contains(set, start) ? 1 : 0)),
      )
    }
  }

  of(code: number): number {
    let low = 0
    let high = this.#starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.#starts[middle] ?? 0) <= code) low = middle
      else high = middle - 1
    }
    return low
  }

  isWord(character: number): boolean {
    return this.within(character, wordCharacters)
  }

  within(character: number, set: CharacterSet): boolean {
    return this.#members.get(set)?.[character] === 1
  }
}
