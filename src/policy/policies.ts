import type { FileEntry } from "../contract/env.ts"
import { LonghaulError } from "../contract/error.ts"
import type {
  Policy,
  PolicyDocument,
  PolicyService,
  PolicyServiceOptions,
  PolicySource,
  RecordedPolicy,
  Rules,
  RunPolicy,
} from "../contract/policy.ts"
import { wholeNumber } from "../lib/known-keys.ts"
import { texts } from "../lib/schema/contract-shapes.ts"
import { checkShape, having, listOf, required, type Shape, shapeOf, words } from "../lib/schema/shape.ts"
import { noRules } from "./no-rules.ts"
import type { ActivePolicy } from "./pipeline.ts"
import { checkDocumentSync } from "./rules/check-document.ts"
import type { CompileOptions } from "./rules/compile-rules.ts"

/** The services that the host adds to a policy. Without them, there are no files, and paths are compared only as written. */
export interface PolicyHost extends Pick<CompileOptions, "resolvePath" | "homeFolder"> {
  /** Reads a policy file that the user named, with the files that it extends. */
  readFile?(path: string): Promise<readonly PolicySource[]>
  /** Lists a folder, to find out whether a search of other software would show a path that the policy hides. */
  listFolder?(path: string): Promise<readonly FileEntry[]>
}

/**
 * Validates the policy of a runtime. The returned function gives the policy of a run: the rules of all policies apply, the other
 * settings of later ones take precedence. Compiled once for runs without a policy of their own.
 */
export function policies(
  base: Policy = {},
  host: PolicyHost,
  tools: readonly string[],
): (own: readonly RunPolicy[]) => Promise<ActivePolicy> {
  checkPolicy(base, policyShape)
  for (const { document, source } of writtenRules(base)) {
    checkDocumentSync(document, source, { tools, hasHomeFolder: host.homeFolder !== undefined })
  }
  const sources = sourcesOf(base, host)
  const activeWith = async (own: readonly RunPolicy[]) =>
    activate([base, ...own], [...(await sources()), ...own.flatMap(writtenRules)], host, tools)
  let common: Promise<ActivePolicy> | undefined
  return (own) => {
    if (own.length > 0) return activeWith(own)
    common ??= activeWith([])
    return common
  }
}

/** Throws `config_invalid` for settings that cannot work. */
export function checkRunPolicy(policy: RunPolicy): RunPolicy {
  checkPolicy(policy, runPolicyShape)
  return policy
}

/** The part of a run's own policy that is stored with the run; nothing if it has none. */
export function recordedPolicy(policy: RunPolicy | undefined): { readonly policy?: RecordedPolicy } {
  if (policy === undefined) return {}
  const { onAsk: _callback, ...stored } = policy
  return { policy: stored }
}

async function activate(
  all: readonly Policy[],
  sources: readonly PolicySource[],
  host: PolicyHost,
  tools: readonly string[],
): Promise<ActivePolicy> {
  const settings: Policy = Object.assign({}, ...all)
  const { mode = "ask", ask, onAsk, askTimeoutMs = 60_000 } = settings
  // A file that was only found must not name a service: it would receive the calls.
  const trusted = sources.flatMap(({ document, restrictsOnly }) => (restrictsOnly ? [] : [document]))
  const services = [...trusted, ...all].flatMap((given) => given.services ?? [])
  return {
    mode,
    rules: await compiled(sources, host, tools),
    services: await Promise.all(services.map(readyService)),
    preApproved: all.flatMap(({ preApproved = [] }) => preApproved),
    askTimeoutMs,
    ...(ask && { ask }),
    ...(onAsk && { onAsk }),
  }
}

/** The rules are loaded only if there are any: they are not needed for tiers and callbacks. */
async function compiled(sources: readonly PolicySource[], host: PolicyHost, tools: readonly string[]): Promise<Rules> {
  if (sources.length === 0) return noRules
  const { resolvePath, homeFolder, listFolder } = host
  const { compileRules } = await import("./rules/compile-rules.ts")
  return compileRules(sources, {
    tools,
    resolvePath,
    listFolder,
    homeFolder,
  })
}

/** The rules of a policy that are not in its file. */
export function writtenRules(policy: Policy): readonly PolicySource[] {
  const { mode: _, preApproved: __, ask: ___, askTimeoutMs: ____, onAsk: _____, services: ______, ...rest } = policy
  const { file: _______, documents = [], ...document } = rest
  return [...documents, ...(Object.keys(document).length > 0 ? [{ document, source: "the policy" }] : [])]
}

/** The rules of a policy and of its file, which is read once: all runs have the same rules, or fail with the same error. */
function sourcesOf(policy: Policy, host: PolicyHost): () => Promise<readonly PolicySource[]> {
  const { file } = policy
  const own = writtenRules(policy)
  if (file === undefined) return async () => own
  if (host.readFile === undefined) {
    throw new LonghaulError("config_invalid", "policy.file needs a file system.", {
      fix: 'Use createRuntime of "longhaul/node", or pass the rules as a value.',
    })
  }
  const readFile = host.readFile.bind(host)
  let read: Promise<readonly PolicySource[]> | undefined
  return async () => {
    read ??= readFile(file)
    return [...(await read), ...own]
  }
}

async function readyService(service: PolicyServiceOptions | PolicyService): Promise<PolicyService> {
  if ("decide" in service) return service
  const { url, onOutage = "closed" } = service
  const { PolicyClient, serviceOf } = await import("./service/index.ts")
  return serviceOf(PolicyClient.fromEnvFor(url, { enforcementFailureMode: onOutage }))
}

const documentShape: Shape<Omit<PolicyDocument, "services" | "tests">> = {
  // Checked as a document, which reports every problem at once.
  version: "any",
  extends: "any",
  default: "any",
  unparsed: "any",
  rules: "any",
  output: "any",
  tiers: "any",
}

const serviceShape: Shape<PolicyServiceOptions> = { url: required("text"), onOutage: words("closed", "open") }

export const runPolicyShape: Shape<RunPolicy> = {
  ...documentShape,
  services: listOf(shapeOf<PolicyServiceOptions>(serviceShape)),
  mode: words("auto", "ask", "deny"),
  preApproved: texts,
  ask: words("wait", "pause"),
  askTimeoutMs: "number",
  onAsk: "function",
  documents: listOf(
    shapeOf<PolicySource>({ document: required("object"), source: required("text"), restrictsOnly: "boolean" }),
  ),
}

export const policyShape: Shape<Policy> = {
  ...runPolicyShape,
  services: listOf([shapeOf<PolicyServiceOptions>(serviceShape), having({ decide: required("function") })]),
  tests: "any",
  file: "text",
}

function checkPolicy<Settings extends RunPolicy | Policy>(policy: Settings, shape: Shape<Settings>): void {
  checkShape("policy", policy, shape, "policy.")
  const { askTimeoutMs } = policy
  if (askTimeoutMs !== undefined) wholeNumber("policy.askTimeoutMs", askTimeoutMs)
}
