import type { Brand } from "../../contract/brand.ts"
import type { Environment } from "../../contract/env.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Hooks } from "../../contract/hooks.ts"
import type { Observer } from "../../contract/observe.ts"
import type { RuntimeConfig } from "../../contract/run.ts"
import { checkKeys, keys, kindOf } from "../../lib/known-keys.ts"

/** Throws `config_invalid` for settings of the wrong type, which JavaScript callers can pass without a compiler error. */
export function checkShapes(config: RuntimeConfig): void {
  const { hooks, observers, logger, executor, brand, env, tools, allowedTools, disabledTools, secrets } = config
  if (hooks !== undefined) checkHooks(hooks)
  for (const [index, observer] of list("observers", observers).entries()) checkObserver(observer, `observers[${index}]`)
  if (logger !== undefined) needsFunction("logger", logger, "warn")
  if (executor !== undefined) needsFunction("executor", executor, "run")
  if (brand !== undefined) checkKeys("brand", brand, brandKeys)
  if (env !== undefined) checkKeys("env", env, environmentKeys)
  if (secrets !== undefined && kindOf(secrets) !== "an object") throw wrong("secrets", secrets, "an object")
  checkTools(tools)
  list("allowedTools", allowedTools)
  list("disabledTools", disabledTools)
}

export function checkTools(tools: unknown): void {
  for (const [index, tool] of list("tools", tools).entries()) {
    needsFunction(`tools[${index}]`, tool, "run", "Make each tool with defineTool().")
  }
}

/** Returns an array as it is, and an empty one if the value is undefined. */
export function list(name: string, value: unknown): readonly unknown[] {
  if (value === undefined) return []
  if (Array.isArray(value)) return value
  throw wrong(name, value, "an array")
}

function checkHooks(hooks: Hooks): void {
  checkKeys("hooks", hooks, hookKeys)
  for (const name of hookKeys) {
    const hook: unknown = Reflect.get(hooks, name)
    if (hook !== undefined && typeof hook !== "function") throw wrong(`hooks.${name}`, hook, "a function")
  }
}

function checkObserver(observer: unknown, name: string): void {
  needsFunction(name, observer, "recordEvent")
  checkKeys(name, observer, observerKeys, true)
}

export function needsFunction(name: string, value: unknown, member: string, fix?: string): void {
  const isObject = (typeof value === "object" && value !== null) || typeof value === "function"
  if (!isObject) throw wrong(name, value, "an object", fix)
  if (typeof Reflect.get(value, member) === "function") return
  throw new LonghaulError("config_invalid", `${name} has no function ${member}.`, {
    fix: fix ?? `Give ${name} a function ${member}.`,
  })
}

function wrong(name: string, value: unknown, expected: string, fix?: string): LonghaulError {
  return new LonghaulError("config_invalid", `${name} is ${kindOf(value)}, not ${expected}.`, {
    fix: fix ?? `Pass ${name} as ${expected}.`,
  })
}

const hookKeys = keys<Hooks>()(
  "gateBeforeTool",
  "preRun",
  "postRun",
  "preTurn",
  "postTurn",
  "preToolCall",
  "postToolCall",
  "toolError",
  "compaction",
  "stop",
)
const observerKeys = keys<Observer>()("deltas", "recordEvent", "recordMetric", "flush")
const environmentKeys = keys<Environment>()("files", "search", "shell", "fetch")
const brandKeys = keys<Brand>()(
  "schemaPrefix",
  "mcpClientName",
  "mcpClientVersion",
  "tempdirPrefix",
  "providerModelPrefix",
  "doctorCommand",
  "serviceName",
  "clientInfoName",
  "clientInfoTitle",
)
