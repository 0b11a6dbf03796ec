import { CharacterClasses } from "./character-classes.ts"
import type { CharacterSet } from "./character-set.ts"
import { type Assertion, PatternError, type PatternNode, parsePattern } from "./parse-pattern.ts"

export { PatternError } from "./parse-pattern.ts"

/** A regular expression whose time grows with the text only, whoever wrote it. Says where a match ends, not where it begins. */
export interface LinearPattern {
  /**
   * Whether `text` has a match that begins at `start` or later and ends at `end` at the latest. `^` is `start`, `$` is
   * `textEnd`: where that lies behind `end`, a match may still depend on what follows it.
   */
  test(text: string, start?: number, end?: number, textEnd?: number): boolean
  /**
   * A search from `start` on that can be done in parts, and knows what stands before `start`. Matches that end at `after`
   * or before do not count.
   */
  scan(text: string, start: number, after: number): PatternScan
  /** A text that every match holds, if one is plain to see: much faster to look for. */
  readonly literal: string | undefined
  /** Steps of building taken so far, under 100 ns each: for callers that share their thread. */
  readonly steps: number
}

export interface PatternScan {
  /** Goes on, not past `last`: where the match that ends first ends, -1 where none has ended yet. */
  advance(last: number): number
}

export interface LinearPatternOptions {
  readonly ignoreCase?: boolean
  /** `^` and `$` are the ends of lines, which `\n` ends. */
  readonly multiline?: boolean
}

/** Throws PatternError. JavaScript's own engine backtracks, and a pattern from a model could block the loop for hours. */
export function compileLinearPattern(source: string, options: LinearPatternOptions = {}): LinearPattern {
  const { ignoreCase = false, multiline = false } = options
  const root = parsePattern(source, ignoreCase)
  return new Automaton(compile(root), multiline, longestLiteral(root))
}

/** Of the characters that stand side by side in the pattern, outside of choices and repetitions. */
function longestLiteral(root: PatternNode): string | undefined {
  let longest = ""
  let current = ""
  const follow = (node: PatternNode): void => {
    if (node.type === "sequence") {
      node.nodes.forEach(follow)
      return
    }
    const [range, ...others] = node.type === "set" ? node.set : []
    const isCharacter = range !== undefined && others.length === 0 && range[0] === range[1]
    current = isCharacter ? current + String.fromCodePoint(range[0]) : ""
    if (current.length > longest.length) longest = current
  }
  follow(root)
  return longest === "" ? undefined : longest
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
  /** The same where matches do not count. */
  readonly blindNext: (State | boolean | undefined)[]
}

const maxStates = 1000

/** A deterministic automaton built while it runs. Where it grows too large it is forgotten and built anew. */
class Automaton implements LinearPattern {
  readonly literal: string | undefined
  steps = 0
  readonly #program: readonly Instruction[]
  readonly #entry: number
  readonly #multiline: boolean
  readonly #classes: CharacterClasses
  readonly #states = new Map<string, State>()
  /** Kept from step to step, to make none anew. */
  readonly #reached: PositionList
  readonly #moved: Uint8Array
  #firstState: State | undefined
  /** Where the last walk stopped without a match. */
  #stoppedAt = 0
  #stoppedIn: State | undefined

  constructor({ program, entry }: ReturnType<typeof compile>, multiline: boolean, literal: string | undefined) {
    this.literal = literal
    this.#multiline = multiline
    this.#reached = new PositionList(program.length)
    this.#moved = new Uint8Array(program.length)
    this.#program = program
    this.#entry = entry
    this.#classes = new CharacterClasses(program.flatMap((each) => (each.type === "set" ? [each.set] : [])))
  }

  test(text: string, start = 0, end = text.length, textEnd = end): boolean {
    return this.#walk(this.#first(), text, start, end, textEnd) !== -1
  }

  scan(text: string, start: number, after: number): PatternScan {
    let state = this.#state(this.#before(text, start), [this.#entry])
    let index = start
    const walk = (last: number, isBlind: boolean): number => {
      const found = this.#walk(state, text, index, last, text.length, isBlind)
      index = this.#stoppedAt
      state = this.#stoppedIn ?? state
      return found
    }
    return {
      advance(last) {
        if (index <= after) walk(Math.min(last, after), true)
        return walk(last, false)
      },
    }
  }

  /** From `index` to `last`, both included: where a match ends, -1 where none does. Blind: as if none did. */
  #walk(state: State, text: string, index: number, last: number, end: number, isBlind = false): number {
    const classes = this.#classes
    for (; index <= last; index++) {
      const at = index
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
      const known = isBlind ? state.blindNext : state.next
      let next = known[character]
      if (next === undefined) {
        next = this.#step(state, character, isBlind)
        known[character] = next
      }
      if (typeof next === "boolean") return next ? at : -1
      state = next
    }
    this.#stoppedAt = index
    this.#stoppedIn = state
    return -1
  }

  #before(text: string, index: number): Before {
    if (index === 0) return "start"
    return this.#after(this.#classes.of(text.charCodeAt(index - 1)))
  }

  /** What a character is to the position after it. */
  #after(character: number): Before {
    if (this.#classes.isWord(character)) return "word"
    return this.#multiline && this.#classes.isLineBreak(character) ? "start" : "other"
  }

  #step({ seeds, before }: State, character: number, isBlind: boolean): State | boolean {
    const classes = this.#classes
    const atTextEnd = character === classes.end
    const atEnd = atTextEnd || (this.#multiline && classes.isLineBreak(character))
    const afterIsWord = !atTextEnd && classes.isWord(character)
    this.#moved.fill(0)
    this.#moved[this.#entry] = 1
    const reached = this.#reached
    reached.restart(seeds)
    for (let index = 0; index < reached.size; index++) {
      const instruction = this.#program[reached.at(index)]
      if (instruction?.type === "match" && !isBlind) return true
      if (instruction?.type === "split") {
        reached.add(instruction.first)
        reached.add(instruction.second)
      } else if (instruction?.type === "assert") {
        if (holds(instruction.kind, before, atEnd, afterIsWord)) reached.add(instruction.next)
      } else if (instruction?.type === "set" && !atTextEnd && classes.within(character, instruction.set)) {
        this.#moved[instruction.next] = 1
      }
    }
    this.steps += reached.size
    return atTextEnd ? false : this.#state(this.#after(character), positionsOf(this.#moved))
  }

  /** Asked for once per line: not looked up anew. */
  #first(): State {
    this.#firstState ??= this.#state("start", [this.#entry])
    return this.#firstState
  }

  #state(before: Before, seeds: readonly number[]): State {
    const key = before + String.fromCharCode(...seeds)
    let state = this.#states.get(key)
    if (state === undefined) {
      if (this.#states.size >= maxStates) {
        this.#states.clear()
        this.#firstState = undefined
      }
      state = { before, seeds, next: new Array(this.#classes.end + 1).fill(undefined), blindNext: [] }
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
