import type { Stop } from "../../contract/backend.ts"
import { LonghaulError } from "../../contract/error.ts"
import type { Extension, ExtensionRun, OpenedExtension, RecordedExtension } from "../../contract/extension.ts"
import type { RunResult } from "../../contract/result.ts"
import type { Tool } from "../../contract/tool.ts"
import { plainText } from "../../lib/content.ts"
import { createDispatcher } from "../../tools/kernel/dispatch.ts"
import type { OpenRun } from "../state/open-run.ts"
import { toolDigest } from "../state/tool-digest.ts"
import { missingExtensions, missingWarning } from "./missing.ts"
import { sampler } from "./sample.ts"
import { scopedStore } from "./scoped-store.ts"

/** The extensions of one run, while this process works on it. */
export class OpenExtensions {
  readonly #run: OpenRun
  readonly #ended = new AbortController()
  readonly #opened: OpenedExtension[] = []

  constructor(run: OpenRun) {
    this.#run = run
  }

  /** Opens all of them side by side, warns of those that are missing, records what they give and adds it to the run's input. Returns a stop if one fails. */
  async open(isNew: boolean): Promise<Stop | undefined> {
    const { input, projection, journal } = this.#run
    const before = isNew ? (input.before?.extensions ?? []) : projection.extensions.values()
    for (const missing of missingExtensions(before, input)) journal.append(missingWarning(missing))
    const { all } = input.extensions
    if (all.length === 0) return undefined
    try {
      const given = await Promise.all(all.map((extension) => this.#openOne(extension)))
      await this.#record(given)
      this.#add(given)
      return this.#missing(given)
    } catch (error) {
      if (this.#run.controls.signal.aborted) return { reason: "interrupted" }
      return { reason: "failed", failure: asError(error).toJSON() }
    }
  }

  /** An extension that fails here has no effect on the run. */
  async close(result: RunResult | undefined): Promise<void> {
    this.#ended.abort()
    const results = await Promise.allSettled(this.#opened.map(async (opened) => opened.close?.(result)))
    const { runId, nodeId } = this.#run.key
    for (const result of results) {
      if (result.status === "rejected")
        this.#run.config.logger?.warn("An extension failed to close.", { runId, nodeId })
    }
  }

  async #openOne(extension: Extension): Promise<Given> {
    const { projection, input, redactor } = this.#run
    const isAnew = input.extensions.anew.includes(extension)
    const recorded = isAnew ? undefined : projection.extensions.get(extension.name)
    const opened = await extension.open(this.#runFor(recorded))
    this.#opened.push(opened)
    const instructions = recorded ? recorded.instructions : opened.instructions && redactor.text(opened.instructions)
    return {
      name: extension.name,
      ...(instructions && { instructions }),
      tools: this.#selected(opened.tools ?? [], recorded),
      ...(opened.facts !== undefined && { facts: redactor.json(opened.facts) }),
      isNew: recorded === undefined,
    }
  }

  #runFor(recorded: RecordedExtension | undefined): ExtensionRun {
    const { key, tenant, input, controls, journal, target } = this.#run
    const { workspaceId, runId, nodeId } = key
    const sample = sampler(this.#run)
    const contextTokens = target.model?.contextTokens ?? target.backend.capabilities.contextTokens
    return {
      workspaceId,
      tenant,
      runId,
      nodeId,
      task: taskOf(this.#run),
      cwd: input.cwd,
      env: this.#run.config.env,
      host: this.#run.config.backendEnv,
      shared: scopedStore(this.#run.config.store, workspaceId),
      signal: AbortSignal.any([controls.signal, this.#ended.signal]),
      ...(contextTokens > 0 && { contextTokens }),
      ...(recorded && { recorded }),
      ...(sample && { sample }),
      warn: (code, message) => {
        journal.append({ type: "warning", code, message: this.#run.redactor.text(message) })
      },
    }
  }

  /** The tools that the run may use. A resumed run gets the same tools as before: its model's tool list is fixed. */
  #selected(tools: readonly Tool[], recorded: RecordedExtension | undefined): readonly Tool[] {
    const { allowed, disabled = [] } = this.#run.input.extensions.filter
    const before = recorded && new Set(recorded.tools.map(({ name }) => name))
    return tools.filter(
      ({ name }) => (allowed?.includes(name) ?? true) && !disabled.includes(name) && (before?.has(name) ?? true),
    )
  }

  async #record(given: readonly Given[]): Promise<void> {
    const { journal } = this.#run
    const extensions = given.flatMap(({ isNew, tools, ...extension }): RecordedExtension[] =>
      isNew ? [{ ...extension, tools: tools.map((tool) => ({ name: tool.name, digest: this.#digest(tool) })) }] : [],
    )
    if (extensions.length > 0) journal.append({ type: "extensions", extensions })
    for (const { name } of given.flatMap((each) => this.#changed(each))) {
      const message = `The tool ${name} has changed since the run started.`
      journal.append({ type: "warning", code: "tool_changed", message })
    }
    await journal.flush()
  }

  #changed({ name, tools, isNew }: Given): readonly Tool[] {
    if (isNew) return []
    const recorded = this.#run.projection.extensions.get(name)?.tools ?? []
    return tools.filter((tool) => recorded.find((each) => each.name === tool.name)?.digest !== this.#digest(tool))
  }

  #digest(tool: Tool): string {
    return toolDigest(this.#run.config, tool)
  }

  #add(given: readonly Given[]): void {
    const { input } = this.#run
    const { dispatcher } = input
    const own = dispatcher.listTools().flatMap(({ name }) => dispatcher.tool(name) ?? [])
    const instructions = given.flatMap((extension) => extension.instructions ?? [])
    const parts = [...(input.system === undefined ? [] : [input.system]), ...instructions]
    const added = given.flatMap(({ tools }) => tools)
    this.#run.input = {
      ...input,
      ...(parts.length > 0 && { system: parts.join("\n\n") }),
      ...(instructions.length > 0 && { instructions: instructions.join("\n\n") }),
      ...(added.length > 0 && { dispatcher: createDispatcher([...own, ...added], this.#run.config.reporting) }),
    }
  }

  /** The calls that the run waits for need their tools. */
  #missing(given: readonly Given[]): Stop | undefined {
    const { projection, input } = this.#run
    const recorded = new Set(
      given.flatMap(({ name }) => projection.extensions.get(name)?.tools.map((tool) => tool.name) ?? []),
    )
    const call = projection.openCalls.find(
      ({ name, executor, question }) =>
        executor === undefined &&
        recorded.has(name) &&
        !input.dispatcher.tool(name) &&
        // A call that ends with its declined question needs no tool.
        question?.answer?.decision !== "deny",
    )
    if (call === undefined) return undefined
    const failure = new LonghaulError(
      "config_invalid",
      `The run waits for a call of ${call.name}, which is not an available tool.`,
      {
        fix: "Make its extension available again, or accept the tools that have changed, then resume the run.",
        retryable: true,
      },
    )
    return { reason: "failed", failure: failure.toJSON() }
  }
}

interface Given extends Omit<RecordedExtension, "tools"> {
  readonly tools: readonly Tool[]
  /** False: the run's journal has it already. */
  readonly isNew: boolean
}

function taskOf({ input }: OpenRun): string {
  const last = input.messages.findLast(({ role }) => role === "user")
  return last?.role === "user" ? plainText(last.content, "\n") : ""
}

function asError(error: unknown): LonghaulError {
  if (LonghaulError.is(error)) return error
  return new LonghaulError("internal", "An extension of the run could not be opened.", { cause: error })
}
