import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll } from "vitest"
import type { RunEvent, RunRecord } from "../../src/contract/event.ts"
import type { Json } from "../../src/contract/json.ts"
import type { Message } from "../../src/contract/message.ts"
import type { Model } from "../../src/contract/provider.ts"
import type { Runtime } from "../../src/contract/runtime.ts"
import type { Store } from "../../src/contract/store.ts"
import { createRuntime, type NodeRuntimeConfig } from "../../src/hosts/node/index.ts"
import { plainText } from "../../src/lib/content.ts"
import { type ScriptedStep, scriptedModel } from "../../src/testing/index.ts"
import { defineTool } from "../../src/tools/kernel/define-tool.ts"
import { removeFolder } from "./remove-folder.ts"

const scratch = mkdtempSync(join(tmpdir(), "longhaul-agents-"))
const runtimes: { readonly runtime: Runtime; readonly store: MortalStore }[] = []
afterAll(async () => {
  // A runtime whose store has died never closes.
  const living = runtimes.splice(0).filter(({ store }) => store.isDead?.() !== true)
  await Promise.all(living.map(({ runtime }) => runtime.close()))
  await removeFolder(scratch)
})

interface MortalStore extends Store {
  isDead?(): boolean
}

export const part = (name: string, args: Json = {}) => ({ toolCall: { name, args } })
export const calls = (...parts: ReturnType<typeof part>[]) => ({ parts })
/** A call of `Agent` whose prompt is the name of a role. */
export const agent = (prompt: string, more: { readonly [key: string]: Json } = {}) =>
  part("Agent", { description: `do ${prompt}`, prompt, ...more })

/** The steps of each role, by the first message of its conversation. */
export type Roles = Readonly<Record<string, readonly ScriptedStep[]>>

/** A model that plays all roles. It keeps no state, so that any process can continue any of its conversations. */
export function playing(roles: Roles): Model & { readonly asked: readonly (readonly Message[])[] } {
  const asked: (readonly Message[])[] = []
  return {
    provider: "scripted",
    id: "scripted",
    asked,
    converse: (setup) => ({
      call(messages, sink, signal) {
        asked.push([...messages])
        const [first] = messages
        // What follows the task in the same message was sent to an agent before it began.
        const role = first?.role === "user" ? plainText(first.content.slice(0, 1), "") : ""
        const step = roles[role]?.[messages.filter((message) => message.role === "assistant").length]
        return scriptedModel(step === undefined ? [] : [step])
          .converse(setup)
          .call(messages, sink, signal)
      },
    }),
  }
}

/** A high-risk tool that records what it received, outside of the run. */
export function acting(ran: Json[], more: object = {}) {
  return defineTool({
    name: "act",
    description: "acts",
    inputSchema: { type: "object" },
    risk: "high",
    concurrent: true,
    run: (args: { readonly [key: string]: Json }) => {
      ran.push(args)
      return `acted ${ran.length}`
    },
    ...more,
  })
}

export const pauses = { policy: { ask: "pause" } } as const

/** Another process over the store. `ran`: what its tool `act` received. */
export function processOver(store: MortalStore, roles: Roles, config: NodeRuntimeConfig = {}) {
  const ran: Json[] = []
  const model = playing(roles)
  const runtime = createRuntime({
    store,
    model,
    workspace: scratch,
    env: {},
    tools: [acting(ran)],
    policy: { mode: "auto" },
    agents: {},
    ...config,
  })
  runtimes.push({ runtime, store })
  return { ran, model, runtime }
}

/** A store whose process stops for ever at its next write to one of these folders once it has died, without an error. */
export function mortalStore(inner: Store, isGuarded: (path: string) => boolean = () => true) {
  let dies = false
  let isDead = () => {}
  const died = new Promise<void>((resolve) => {
    isDead = resolve
  })
  const guard = <Value>(work: () => Promise<Value>): Promise<Value> => {
    if (!dies) return work()
    isDead()
    return new Promise(() => {})
  }
  const folder = (path: string) => {
    const inside = inner.folder(path)
    if (!isGuarded(path)) return inside
    const { append } = inside
    const open = async (name: string, first: Uint8Array) => {
      const file = await guard(async () => append?.open(name, first) ?? null)
      return file && { ...file, write: (bytes: Uint8Array) => guard(() => file.write(bytes)) }
    }
    return {
      ...inside,
      create: (name: string, bytes: Uint8Array) => guard(() => inside.create(name, bytes)),
      ...(append && { append: { ...append, open } }),
    }
  }
  const die = () => {
    dies = true
  }
  return { store: { ...inner, folder, isDead: () => dies }, die, died }
}

/** All events of a run and its agents. */
export async function eventsOf(runtime: Runtime, runId: string): Promise<readonly RunRecord[]> {
  const events: RunEvent[] = []
  for await (const event of runtime.events(runId, { agents: true })) events.push(event)
  return events.filter((event): event is RunRecord => "seq" in event)
}

/** The last results that a role got, as one text. */
export function resultsIn(messages: readonly Message[]): string {
  const last = messages.findLast(({ role }) => role === "tool")
  return last?.role === "tool" ? last.content.map(({ output }) => plainText(output, "\n")).join("\n") : ""
}
