import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, vi } from "vitest"
import type { RunEvent } from "../../src/contract/event.ts"
import type { Model } from "../../src/contract/provider.ts"
import { createRuntime, fsStore, type NodeRuntimeConfig, native, serve } from "../../src/hosts/node/index.ts"
import { type ScriptedStep, scriptedModel } from "../../src/testing/index.ts"
import {
  declared,
  leaksIn,
  ofEnvironment,
  ofModel,
  ofRunWebhook,
  ofStore,
  ofWebhook,
  type Sentinel,
} from "./sentinels.ts"

/** The folder of the current test. */
export let root = ""
export const cleanups: (() => unknown)[] = []
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "longhaul-secrets-"))
  vi.stubEnv("SERVICE_TOKEN", ofEnvironment.SERVICE_TOKEN.value)
  vi.stubEnv("DATABASE_URL", `postgres://app:${ofEnvironment.DATABASE_URL.value}@db.internal/app`)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  rmSync(root, { recursive: true, force: true })
})

const values = (from: Readonly<Record<string, Sentinel>>) =>
  Object.fromEntries(Object.entries(from).map(([name, { value }]) => [name, value]))

/** What an outsider could see, by sink. */
export interface Sinks {
  readonly events: RunEvent[]
  readonly logs: unknown[]
  readonly hooks: unknown[]
  readonly webhooks: string[]
  readonly requests: unknown[]
  /** Tools and output schemas as a model gets them. */
  readonly definitions: unknown[]
  readonly results: unknown[]
}

/** A runtime that knows every sentinel that can be known, with all its sinks. */
export async function scene(steps: readonly ScriptedStep[], extra: Partial<NodeRuntimeConfig> = {}) {
  const sinks: Sinks = { events: [], logs: [], hooks: [], webhooks: [], requests: [], definitions: [], results: [] }
  const receiver = await serve(async (request) => {
    sinks.webhooks.push(await request.text())
    return new Response()
  })
  cleanups.push(() => receiver.close())
  const log = (...logged: unknown[]) => sinks.logs.push(logged)
  const scripted = scriptedModel(steps)
  const model: Model = {
    ...scripted,
    credentials: () => values(ofModel),
    converse(setup) {
      sinks.requests.push(setup.system)
      sinks.definitions.push(structuredClone([setup.tools, setup.outputSchema]))
      const conversation = scripted.converse(setup)
      return {
        async call(messages, sink, signal) {
          sinks.requests.push(structuredClone(messages))
          const answer = await conversation.call(messages, sink, signal)
          return { ...answer, requestId: `req-${asked}`, model: `model-${asked}` }
        },
      }
    },
  }
  let asked = ""
  const runtime = createRuntime({
    store: { ...fsStore(join(root, "store")), credentials: () => values(ofStore) },
    workspace: root,
    model,
    backend: native({ retry: { attempts: 3, firstMs: 1, longestMs: 1 } }),
    secrets: { ...values(declared), RETURNED: () => declared.RETURNED?.value ?? "" },
    webhook: {
      url: `${receiver.url}/hook`,
      secret: ofWebhook.secret.value,
      headers: { "x-auth": ofWebhook.header.value },
    },
    webhookAllow: [new URL(receiver.url).host],
    logger: { debug: log, info: log, warn: log, error: log },
    observers: [{ recordEvent: (event) => sinks.events.push(event) }],
    hooks: {
      toolError: (exception) => sinks.hooks.push(exception),
      postToolCall: (call, outcome) => void sinks.hooks.push([call, outcome]),
      postRun: (result) => void sinks.hooks.push(result),
    },
    ...extra,
  })
  cleanups.push(() => runtime.close())
  /** The same receiver, with the sentinels of a run's own webhook. */
  const webhook = {
    url: `${receiver.url}/own`,
    secret: ofRunWebhook.secret.value,
    headers: { "x-own": ofRunWebhook.header.value, authorization: `Bearer ${ofRunWebhook.bearer.value}` },
  }
  return { runtime, sinks, webhook, model: scripted, echoAsIds: (text: string) => (asked = text) }
}

export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter((path) => statSync(path).isFile())
}

/** Texts as a listener of deltas puts them together. */
function streamedTexts(events: readonly RunEvent[]): string[] {
  const texts = new Map<string, string>()
  for (const event of events) if ("delta" in event) texts.set(event.id, (texts.get(event.id) ?? "") + event.delta)
  return [...texts.values()]
}

export function expectNoLeak(sentinel: Sentinel, sinks: Sinks): void {
  const files = filesBelow(join(root, "store")).map((path) => [path, readFileSync(path, "utf8")] as const)
  const shown = Object.entries(sinks).map(([name, sink]) => [name, JSON.stringify(sink)] as const)
  const streamed = streamedTexts(sinks.events).map((text) => ["deltas", text] as const)
  for (const [sink, text] of [...files, ...shown, ...streamed])
    expect([sink, leaksIn(text, sentinel)]).toEqual([sink, []])
}
