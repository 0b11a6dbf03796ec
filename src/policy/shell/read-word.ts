import type { ParameterExpansionPart, ParsedScript, Word as ParsedWord, WordPart } from "unbash"
import type { ReadWord } from "./listing.ts"
import { checkQuotedText, literalText } from "./literal-text.ts"
import { reject, rejectDifference } from "./unreadable.ts"

/** Receives what a word runs and sets when it is expanded. */
export interface WordVisitor {
  substitution(script: ParsedScript): void
  assignment(name: string): void
}

const NAME = /^([A-Za-z_]\w*|\d+)$/
const SIMPLE = /^\$([A-Za-z_]\w*|[0-9@*#?$!-])$/
// Bash evaluates variables in arithmetic, and their values may contain substitutions (`a[$(id)]`).
const NUMBERS_ONLY = /^\$\(\([0-9+*/%() -]*\)\)$/

const DIFFERENT: Readonly<Partial<Record<string, string>>> = {
  AnsiCQuoted: "$'…'",
  LocaleString: '$"…"',
  ProcessSubstitution: "<( ) and >( )",
  ExtendedGlob: "extended globs",
}

export function readWord(word: ParsedWord, visitor: WordVisitor): ReadWord {
  if (word.text.startsWith("#")) reject("a word starts with #")
  const { parts } = word
  if (parts?.some(isExpansion)) {
    visitParts(parts, visitor, false)
    return { text: word.text, isFixed: false, isOne: parts.every(isOneArgument) }
  }
  const text = literalText(word.text)
  if (text === undefined) return { text: word.text, isFixed: false, isOne: false }
  if (text !== word.value) reject(`the quotes of ${word.text} are ambiguous`)
  return { text, isFixed: true, isOne: true }
}

/** Visits the parts of a word, or of a here-document (`isQuoted`). */
export function visitParts(parts: readonly WordPart[], visitor: WordVisitor, isQuoted: boolean): void {
  for (const [index, part] of parts.entries()) {
    if (part.type === "Literal" && isQuoted) checkQuotedText(part.text, index === parts.length - 1)
    else visitPart(part, visitor)
  }
}

function visitPart(part: WordPart, visitor: WordVisitor): void {
  switch (part.type) {
    case "Literal":
      literalText(part.text)
      return
    case "SingleQuoted":
      return
    case "DoubleQuoted":
      visitParts(part.parts, visitor, true)
      return
    case "Glob":
      visitParts(part.parts ?? [], visitor, false)
      return
    case "BraceExpansion":
      if (part.parts) visitParts(part.parts, visitor, false)
      else literalText(part.text)
      return
    case "SimpleExpansion":
      if (!SIMPLE.test(part.text)) rejectDifference(part.text)
      return
    case "ParameterExpansion":
      visitParameter(part, visitor)
      return
    case "ArithmeticExpansion":
      if (!part.text.startsWith("$((")) rejectDifference("$[ ]")
      if (!NUMBERS_ONLY.test(part.text)) reject("bash can run commands that are the value of a variable in $(( ))")
      return
    case "CommandExpansion":
      visitSubstitution(part.text, part.script, visitor)
      return
    default:
      rejectDifference(DIFFERENT[part.type] ?? "an unknown kind of word")
  }
}

function visitSubstitution(text: string, script: ParsedScript | undefined, visitor: WordVisitor): void {
  if (text.startsWith("$((")) rejectDifference("a substitution that starts with $((")
  if (text.startsWith("`")) {
    if (text.includes("\\")) rejectDifference("a backslash inside backquotes")
  } else if (!text.startsWith("$(")) rejectDifference("a substitution in braces")
  // Older versions of bash look for the closing parenthesis in comments too.
  if (/(^|[\s;&|(`])#/.test(text)) rejectDifference("a comment inside a substitution")
  if (script === undefined) reject("a substitution cannot be read")
  visitor.substitution(script)
}

function visitParameter(part: ParameterExpansionPart, visitor: WordVisitor): void {
  const { parameter, prefix, operation, text } = part
  if (part.index !== undefined) rejectDifference("arrays")
  if (prefix === "!") rejectDifference(text)
  if (operation === undefined) {
    const isKnown = prefix === "#" ? NAME.test(parameter) : SIMPLE.test(`$${parameter}`) || NAME.test(parameter)
    if (!isKnown || text !== `\${${prefix ?? ""}${parameter}}`) rejectDifference(text)
    return
  }
  if (prefix !== undefined || !NAME.test(parameter)) rejectDifference(text)
  if (operation.type !== "Default" && operation.type !== "Remove") rejectDifference(text)
  const { operand, operator } = operation
  if (text !== `\${${parameter}${operator}${operand.text}}`) rejectDifference(text)
  if (/["'\\]/.test(operand.text)) rejectDifference("quotes inside an expansion")
  const parts = operand.parts ?? []
  const plain = operand.parts ? parts.map((each) => (each.type === "Literal" ? each.text : "")).join("") : operand.text
  if (/[<>()&|;{}\n]/.test(plain)) rejectDifference("operators inside an expansion")
  if (operand.parts === undefined) checkQuotedText(operand.text, true)
  visitParts(parts, visitor, true)
  if (operator === "=" || operator === ":=") visitor.assignment(parameter)
}

function isExpansion(part: WordPart): boolean {
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
      return false
    case "DoubleQuoted":
      return part.parts.some(isExpansion)
    case "Glob":
    case "BraceExpansion":
      return part.parts?.some(isExpansion) ?? false
    default:
      return true
  }
}

function isOneArgument(part: WordPart): boolean {
  switch (part.type) {
    case "SingleQuoted":
      return true
    case "Literal":
      return /^[\w./:=@%+,-]*$/.test(part.text)
    case "DoubleQuoted":
      // `"$@"` and `"${x:-$@}"` become any number of arguments.
      return part.parts.every(
        ({ type, text }) => text !== "$@" && !(type === "ParameterExpansion" && text.includes("@")),
      )
    default:
      // Numbers, which no separator of words splits into anything but numbers.
      return part.type === "SimpleExpansion" && /^\$[?#$]$/.test(part.text)
  }
}
