import type {
  AndOr,
  Assignment,
  Case,
  Command,
  CompoundList,
  Coproc,
  Function as FunctionDefinition,
  ParsedScript,
  Word as ParsedWord,
  PipelineNode,
  Statement,
} from "unbash"
import type { Call, Listing, ReadWord } from "./listing.ts"
import { readRedirection } from "./read-redirection.ts"
import { readWord, type WordVisitor } from "./read-word.ts"
import { reject, rejectDifference, Unreadable } from "./unreadable.ts"

const MAX_DEPTH = 40

// As program names these are keywords somewhere: only after a prefix, or in one of the shells, would they be programs.
const KEYWORDS = new Set(
  "if then else elif fi do done case esac while until for in { } ! [[ ]] (( )) select coproc time function".split(" "),
)

const DIFFERENT: Readonly<Partial<Record<string, string>>> = {
  TestCommand: "[[ ]]",
  ArithmeticCommand: "(( ))",
  ArithmeticFor: "for (( ))",
  Select: "select",
  Coproc: "coproc",
}

/** Walks all branches of a script, and hands every call to `start`. */
export function readTree(script: ParsedScript, listing: Listing, start: (call: Call) => void): void {
  new TreeReader(listing, start).script(script)
}

class TreeReader implements WordVisitor {
  readonly #listing: Listing
  readonly #start: (call: Call) => void
  #nesting = 0
  #substitutions = 0

  constructor(listing: Listing, start: (call: Call) => void) {
    this.#listing = listing
    this.#start = start
  }

  script(script: ParsedScript): void {
    // Nested scripts are parsed when they are visited, and have errors of their own.
    const [error] = script.errors ?? []
    if (error) reject(`it is not a valid script (${error.message})`)
    this.#statements(script.commands)
  }

  substitution(script: ParsedScript): void {
    const documents = this.#listing.hereDocumentsInSubstitutions
    this.#substitutions++
    this.script(script)
    this.#substitutions--
    // Bash rewrites the text of a substitution, and joins what follows a here-document to the wrong command.
    if (this.#listing.hereDocumentsInSubstitutions > documents && !isOneCommand(script)) {
      rejectDifference("a here-document beside other commands in a substitution")
    }
  }

  assignment(name: string): void {
    this.#listing.lineVariables.add(name)
  }

  #statements(statements: readonly Statement[]): void {
    if (++this.#nesting > MAX_DEPTH) reject(`it is nested more than ${MAX_DEPTH} deep`)
    for (const { command } of statements) this.#node(command)
    this.#nesting--
  }

  #list = (list: CompoundList) => this.#statements(list.commands)

  #word = (word: ParsedWord): ReadWord => readWord(word, this)

  #node(node: PipelineNode | AndOr | CompoundList | FunctionDefinition | Coproc): void {
    switch (node.type) {
      case "Command":
        this.#command(node)
        return
      case "AndOr":
        for (const command of node.commands) this.#node(command)
        return
      case "Pipeline":
        if (node.prefixes.some(({ type }) => type === "Time")) rejectDifference("time")
        if (node.operators.includes("|&")) rejectDifference("|&")
        for (const command of node.commands) this.#node(command)
        return
      case "Redirected":
        this.#node(node.command)
        for (const each of node.redirects) readRedirection(each, this.#listing, this, this.#substitutions > 0)
        return
      case "If":
        for (const branch of [node, ...node.elif]) for (const list of [branch.clause, branch.then]) this.#list(list)
        if (node.else) this.#list(node.else)
        return
      case "While":
        this.#list(node.clause)
        this.#list(node.body)
        return
      case "For":
        if (!/^[A-Za-z_]\w*$/.test(node.name.text)) rejectDifference(`the loop variable ${node.name.text}`)
        this.assignment(node.name.text)
        for (const word of node.wordlist ?? []) this.#word(word)
        this.#list(node.body)
        return
      case "Case":
        this.#case(node)
        return
      case "Subshell":
        if (node.body.commands[0]?.pos === node.pos + 1 && startsWithParenthesis(node.body)) rejectDifference("((")
        this.#list(node.body)
        return
      case "BraceGroup":
        this.#list(node.body)
        return
      case "Function":
      case "CompoundList":
        throw new Unreadable("it defines a function")
      default:
        rejectDifference(DIFFERENT[node.type] ?? "an unknown construct")
    }
  }

  #case(node: Case): void {
    // Older versions of bash end the substitution at the first pattern.
    if (this.#substitutions > 0) rejectDifference("case inside a substitution")
    this.#word(node.word)
    for (const { pattern, body, terminator } of node.items) {
      if (terminator !== undefined && terminator !== ";;") rejectDifference(terminator)
      for (const word of pattern) this.#word(word)
      this.#list(body)
    }
  }

  #command(node: Command): void {
    const variables: string[] = []
    for (const each of node.prefix) if (each.type === "Assignment") variables.push(this.#assigned(each))
    for (const each of node.redirects) readRedirection(each, this.#listing, this, this.#substitutions > 0)
    if (node.name === undefined) {
      for (const name of variables) this.assignment(name)
      return
    }
    const name = this.#word(node.name)
    if (!name.isFixed) reject(`the name of a program is computed (${name.text})`)
    if (KEYWORDS.has(name.text)) rejectDifference(`${name.text} as the name of a program`)
    if (name.text.includes("=")) rejectDifference(`${name.text} as the name of a program`)
    const args = node.args.map((arg) =>
      arg.type === "Assignment" ? reject(`what ${name.text} runs or changes cannot be determined`) : this.#word(arg),
    )
    this.#start({ words: [name, ...args], isOpen: false, variables, isProgram: false })
  }

  #assigned({ name, value, append, index }: Assignment): string {
    if (append) rejectDifference("+=")
    if (index !== undefined || value.type === "ArrayValue") rejectDifference("arrays")
    this.#word(value)
    return name
  }
}

function isOneCommand({ commands: [first, second] }: ParsedScript): boolean {
  return (
    second === undefined && first?.command.type === "Command" && first.command.name !== undefined && !first.background
  )
}

/** `((` starts arithmetic in bash, and two subshells in sh. */
function startsWithParenthesis(list: CompoundList): boolean {
  let node: PipelineNode | AndOr | undefined = list.commands[0]?.command
  while (node?.type === "AndOr" || node?.type === "Pipeline") node = node.commands[0]
  if (node?.type === "Redirected") return node.command.type === "Subshell"
  return node?.type === "Subshell"
}
