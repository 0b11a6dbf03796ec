import { readFileSync } from "node:fs"
import { random as seeded } from "../../src/cli/crashtest/random.ts"

/** Programs of the oracle that record their arguments. `f` fails, `g` prints text that is an attack if it is evaluated. */
export const STUBS = ["a", "b", "c", "d", "f", "g", "cat", "git", "rm", "é"]

type Random = (below: number) => number

// One token on each line, in four groups; ␤ stands for a newline.
const groups = readFileSync(new URL("./shell-tokens.txt", import.meta.url), "utf8")
  .trimEnd()
  .split("\n\n")
const tokens = groups.map((group) => group.split("\n").map((each) => each.replaceAll("␤", "\n")))
const [ATTACKS = [], SIMPLE = [], QUOTED = [], COMPUTED = []] = tokens

/** Endless lines from one seed: from a grammar, from changes to such lines, and from random tokens. */
export function* shellLines(seed: number): Generator<string> {
  const random = seeded(seed)
  for (let count = 0; ; count++) {
    const kind = count % 5
    if (kind === 4) yield Array.from({ length: 1 + random(8) }, () => token(random)).join(pick(random, ["", " "]))
    else yield kind < 2 ? script(random, 3) : mutate(random, script(random, 3))
  }
}

const pick = <Item>(random: Random, items: readonly Item[]): Item => items[random(items.length)] as Item // never empty

const token = (random: Random) => pick(random, random(3) === 0 ? STUBS : ATTACKS)

function mutate(random: Random, line: string): string {
  let text = line
  for (let times = 1 + random(3); times > 0; times--) {
    const at = random(text.length + 1)
    const to = Math.min(text.length, at + 1 + random(4))
    const how = random(5)
    if (how === 0) text = text.slice(0, at) + text.slice(to)
    else if (how === 1) text = text.slice(0, to) + text.slice(at)
    else if (how === 2) text = text.slice(0, at) + script(random, 1) + text.slice(at)
    else text = text.slice(0, at) + token(random) + text.slice(at)
  }
  return text
}

function script(random: Random, depth: number): string {
  const separators = ["; ", " && ", " || ", " | ", " & ", "\n", ";", "|", "&&", " ;\n "]
  let text = statement(random, depth)
  for (let more = random(3); more > 0; more--) text += pick(random, separators) + statement(random, depth)
  return text
}

function statement(random: Random, depth: number): string {
  if (depth === 0) return command(random, 0)
  const inner = () => script(random, depth - 1)
  switch (random(22)) {
    case 0:
      return `if ${inner()}; then ${inner()}; else ${inner()}; fi`
    case 1:
      return `${pick(random, ["while", "until"])} ${inner()}; do ${inner()}; break; done`
    case 2:
      return `for x in ${word(random, depth)} ${word(random, depth)}; do ${inner()}; done`
    case 3:
      return `case ${word(random, depth)} in ${word(random, 0)}|b) ${inner()};; *) ${inner()};; esac`
    case 4:
      return `(${inner()})${redirect(random, depth)}`
    case 5:
      return `{ ${inner()}; }${redirect(random, depth)}`
    case 6:
      return `! ${command(random, depth)}`
    case 7:
    case 8:
      return hereDocument(random, depth)
    case 9:
    case 10:
    case 11:
    case 12:
      return wrapped(random, depth)
    case 13:
      return `x=${word(random, depth)}; ${command(random, depth)}`
    case 14:
      return pick(random, [
        `[ -n ${word(random, depth)} ]`,
        `test ${word(random, depth)} = b`,
        `[ "$x" = "$(d)" ]`,
        `[ "$y" "$x" ]`,
      ])
    case 15:
      return `${pick(random, ATTACKS)} ${command(random, depth)}`
    default:
      return command(random, depth)
  }
}

function command(random: Random, depth: number): string {
  const name =
    random(12) === 0 ? pick(random, ["'a'", '"b"', "\\c", "c\\\nat", "$x", "$(b)", "{a,d}"]) : pick(random, STUBS)
  const prefix = random(8) === 0 ? `${pick(random, ["x", "LANG", "IFS", "y1"])}=${word(random, depth)} ` : ""
  const words = Array.from({ length: random(4) }, () => ` ${word(random, depth)}`).join("")
  return prefix + name + words + (random(4) === 0 ? redirect(random, depth) : "")
}

function redirect(random: Random, depth: number): string {
  const operator = pick(random, [" >", " >> ", " 2>", " <", ">|", " <>", " 3<", ">"])
  const duplicate = pick(random, [" 2>&1", " >&2", " <&-", " 2>/dev/null", " </dev/null", "", ""])
  return random(2) === 0 ? duplicate : operator + pick(random, ["o1", "'o 2'", '"o3"', word(random, depth)])
}

function hereDocument(random: Random, depth: number): string {
  const end = pick(random, ["E", "EOF"])
  const delimiter = pick(random, [end, end, `'${end}'`, `"${end}"`, `\\${end}`])
  const body = pick(random, [
    `x ${word(random, depth)}`,
    `"$(d)"`,
    `'$(d)'`,
    "\\$(d)",
    "\\\\$(d)",
    "$x $(b)",
    "a$ `d`",
    `${end}x`,
  ])
  const document = `cat <<${pick(random, ["", "-"])}${delimiter}${pick(random, ["", " x", " | b", " && c", "; d", " >o4"])}\n${body}\n${end}\n`
  return random(3) === 0 ? `a "$(${document})"` : document
}

function wrapped(random: Random, depth: number): string {
  const inner = () => command(random, depth - 1)
  const quoted = () => `'${script(random, depth - 1).replaceAll("'", "'\\''")}'`
  const doubled = () => `"${script(random, 0).replace(/["\\]/g, "\\$&")}"`
  return pick(random, [
    () => `env ${pick(random, ["", "x=1 ", "-u x ", 'x="$y" ', "-i ", "x=$x "])}${inner()}`,
    () => `timeout ${pick(random, ["5", "-k 1 5", "-s KILL 5s", "$x"])} ${inner()}`,
    () => `nice ${pick(random, ["", "-n 1 ", "-5 "])}${inner()}`,
    () =>
      `${pick(random, ["nohup", "command", "exec", "stdbuf -oL", "command -v", "exec -a x", "builtin"])} ${inner()}`,
    () => `g | xargs ${pick(random, ["", "-n 1 ", "-I{} ", "-I % ", "-0 ", "-r ", "-n1 -I x "])}${inner()}`,
    () => `a | xargs ${pick(random, ["env", "sh -c", "timeout 5", "find", ""])} ${word(random, 0)}`,
    () => `find . -maxdepth 0 -exec ${inner()} {} ${pick(random, ["\\;", "+", "';'", "x \\;"])}`,
    () =>
      `find . -maxdepth 0 ${pick(random, ["-exec", "-ok", "-execdir"])} ${pick(random, STUBS)} {} \\; -exec ${inner()} \\;`,
    () => `${pick(random, ["sh", "bash", "dash", "sh -e", "bash -eu -o pipefail"])} -c ${quoted()} ${word(random, 0)}`,
    () => `${pick(random, ["sh", "bash"])} -c ${doubled()}`,
    () => `eval ${pick(random, [quoted(), doubled(), inner()])}`,
    () => `trap ${quoted()} EXIT`,
  ])()
}

function word(random: Random, depth: number): string {
  const inner = () => (depth === 0 ? pick(random, STUBS) : script(random, depth - 1))
  const kind = random(12)
  if (kind < 4) return pick(random, SIMPLE)
  if (kind < 6) return pick(random, QUOTED)
  if (kind < 8) return pick(random, COMPUTED)
  if (kind === 8) return `$(${inner()})`
  if (kind === 9) return `"${pick(random, ["", "x ", "'"])}$(${inner()})"`
  if (kind === 10)
    return pick(random, [`\`${inner()}\``, `"\`${inner()}\`"`, `\${x:-$(${inner()})}`, `"\${x:-$(${inner()})}"`])
  return random(3) === 0 ? pick(random, ATTACKS) : pick(random, SIMPLE)
}
