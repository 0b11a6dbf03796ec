import { parseSync } from "@swc/core"
import { PATIENCE_MS, WATCHDOG_MS } from "../support/watchdog.ts"

/** A node of swc's tree: only what is compared is looked at. */
interface Node {
  readonly type: string
  readonly [key: string]: unknown
}

/**
 * Where a test gives up waiting before its watchdog does: limits of tests, hooks and programs, timers that end what they time, timers in
 * a race, deadlines and counted tries of a loop. Limits are numbers, constants or arithmetic: the least that they can be counts.
 */
export function shortWaits(text: string): readonly string[] {
  const module = parseSync(`;${text}`, { syntax: "typescript", target: "es2022" })
  const nodes = nodesIn(module)
  const constants = new Map<string, Node>()
  const cleared = new Set<string>()
  for (const node of nodes) {
    const { id, init } = node
    if (node.type === "VariableDeclarator" && isNode(id) && isNode(init)) constants.set(String(id.value), init)
    if (node.type === "CallExpression" && nameOf(node.callee) === "clearTimeout")
      cleared.add(nameOf(argumentsOf(node)[0]))
  }
  const found: string[] = []
  const judge = (what: string, limit: Node | undefined) => {
    // A time that is drawn is how long something lasts, not how long it may last.
    if (limit === undefined || nodesIn(limit).some(({ type }) => type === "CallExpression")) return
    const ms = leastOf(limit, constants)
    if (ms !== undefined && ms > 0 && ms < PATIENCE_MS) found.push(`${what}: ${ms} ms`)
  }
  for (const node of nodes) {
    for (const [what, limit] of limitsIn(node, cleared)) judge(what, limit)
    if (isLoop(node)) {
      for (const { right } of comparisonsWithClock(node)) judge("a deadline", placeOf(right, constants))
      if (isCountedWait(node)) found.push("a wait that counts its tries: use `until`")
    }
  }
  return found
}

const tests = /^(test|it|describe|(before|after)(All|Each))$/
const programs = /^(exec|spawn|fork|run)\w*$/
const limitNames = /^(timeout|patience|watchdog)(Ms)?$|^(\w+_)?(TIMEOUT|PATIENCE|WATCHDOG)_MS$/
const endings: readonly string[] = ["kill", "exit", "reject", "abort", "fail", "end", "close", "destroy", "stop"]
const timers: readonly string[] = ["setTimeout", "pause", "sleep", "delay"]

function limitsIn(node: Node, cleared: ReadonlySet<string>): readonly (readonly [string, Node | undefined])[] {
  const { id, init } = node
  if (node.type === "VariableDeclarator" && isNode(init)) {
    const name = nameOf(id)
    if (nameOf(init.callee) !== "setTimeout") return limitNames.test(name) ? [[name, init]] : []
    const [ending, limit] = argumentsOf(init)
    return cleared.has(name) && endsSomething(ending) ? [[`the timer ${name}`, limit]] : []
  }
  if (node.type !== "CallExpression") return []
  const given = argumentsOf(node)
  if (pathOf(node.callee) === "AbortSignal.timeout") return [["AbortSignal.timeout", given[0]]]
  if (pathOf(node.callee) === "Promise.race") {
    const waits = nodesIn(given).filter((each) => each.type === "CallExpression" && isTimer(each))
    return waits.map((wait) => {
      const [first, second] = argumentsOf(wait)
      return ["a timer in a race", nameOf(wait.callee) === "setTimeout" ? second : first] as const
    })
  }
  const runner = runnerOf(node.callee)
  if (!tests.test(runner) && !programs.test(runner)) return []
  const options = given
    .filter(({ type }) => type === "ObjectExpression")
    .flatMap(({ properties }) => listOf(properties))
  return [
    ...options.flatMap((property) => (nameOf(property.key ?? property) === "timeout" ? [limitOf(property)] : [])),
    ...(tests.test(runner) ? given.slice(1) : []),
  ].map((limit) => [`the limit of ${runner}`, limit])
}

/** The least that an expression can be, as far as that can be said without running it. */
function leastOf(node: unknown, constants: ReadonlyMap<string, Node>, depth = 0): number | undefined {
  if (!isNode(node) || depth > 9) return undefined
  const least = (part: unknown) => leastOf(part, constants, depth + 1)
  const [left, right] = [least(node.left), least(node.right)]
  switch (node.type) {
    case "NumericLiteral":
      return Number(node.value)
    case "Identifier":
      return ours[String(node.value)] ?? least(constants.get(String(node.value)))
    case "ParenthesisExpression":
    case "TsAsExpression":
    case "TsConstAssertion":
      return least(node.expression)
    case "ConditionalExpression": {
      const either = [least(node.consequent), least(node.alternate)].filter((each) => each !== undefined)
      return either.length > 0 ? Math.min(...either) : undefined
    }
    case "BinaryExpression":
      if (node.operator === "+" && (left ?? right) !== undefined) return (left ?? 0) + (right ?? 0)
      if (left === undefined || right === undefined) return undefined
      return { "*": left * right, "-": left - right, "/": left / right }[String(node.operator)]
    default:
      return undefined
  }
}

const ours: Readonly<Record<string, number>> = { PATIENCE_MS, WATCHDOG_MS }

/** A deadline is often computed before the loop: what is added to the clock counts. */
function placeOf(node: unknown, constants: ReadonlyMap<string, Node>): Node | undefined {
  const init = isNode(node) && node.type === "Identifier" ? (constants.get(String(node.value)) ?? node) : node
  if (!isNode(init)) return undefined
  return init.type === "BinaryExpression" && isClock(init.left) && isNode(init.right) ? init.right : init
}

function comparisonsWithClock({ test }: Node): readonly Node[] {
  return nodesIn(test).filter(
    ({ type, operator, left }) => type === "BinaryExpression" && /^<=?$/.test(String(operator)) && hasClock(left),
  )
}

function isCountedWait({ type, test, body }: Node): boolean {
  const conditions = nodesIn(test).filter((each) => each.type === "BinaryExpression")
  const isBound = conditions.some(
    ({ operator, right }) => operator === "<" && nodesIn(right)[0]?.type === "NumericLiteral",
  )
  const isAwaited = conditions.some(({ operator }) => operator === "&&")
  return type === "ForStatement" && isBound && isAwaited && nodesIn(body).some(isTimer)
}

const isLoop = ({ type }: Node) => /^(For|While|DoWhile)Statement$/.test(type)
const isTimer = ({ type, callee }: Node) => type === "CallExpression" && timers.includes(nameOf(callee))
const isClock = (node: unknown) => isNode(node) && /^(performance|Date)\.now$/.test(pathOf(node.callee))
const hasClock = (node: unknown) => nodesIn(node).some(isClock)

function endsSomething(callback: Node | undefined): boolean {
  if (callback?.type === "Identifier") return endings.includes(nameOf(callback))
  return nodesIn(callback).some(
    ({ type, callee }) => type === "ThrowStatement" || (type === "CallExpression" && endings.includes(nameOf(callee))),
  )
}

/** `test` of `test.each(cases)("name", …)`. */
function runnerOf(callee: unknown): string {
  if (!isNode(callee)) return ""
  if (callee.type === "CallExpression") return runnerOf(callee.callee)
  return callee.type === "MemberExpression" ? runnerOf(callee.object) : nameOf(callee)
}

function pathOf(callee: unknown): string {
  if (!isNode(callee) || callee.type !== "MemberExpression") return nameOf(callee)
  return `${pathOf(callee.object)}.${nameOf(callee.property)}`
}

function nameOf(node: unknown): string {
  if (!isNode(node)) return ""
  if (node.type === "MemberExpression") return nameOf(node.property)
  return node.type === "Identifier" ? String(node.value) : ""
}

function limitOf(property: Node): Node {
  return isNode(property.value) ? property.value : property
}

function argumentsOf(call: Node): readonly Node[] {
  return listOf(call.arguments).flatMap(({ expression }) => (isNode(expression) ? [expression] : []))
}

function listOf(value: unknown): readonly Node[] {
  // An argument has no type of its own.
  return Array.isArray(value) ? value.filter((each) => typeof each === "object" && each !== null) : []
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string"
}

/** The node itself and everything in it. */
function nodesIn(value: unknown, found: Node[] = []): readonly Node[] {
  if (typeof value !== "object" || value === null) return found
  if (isNode(value)) found.push(value)
  for (const part of Object.values(value)) nodesIn(part, found)
  return found
}
