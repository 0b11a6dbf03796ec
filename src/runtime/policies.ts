import { LonghaulError } from "../contract/error.ts"
import type {
  Policy,
  PolicyService,
  PolicyServiceOptions,
  RecordedPolicy,
  Rules,
  RunPolicy,
} from "../contract/policy.ts"
import { checkKeys, keys } from "../lib/known-keys.ts"
import { noRules } from "../policy/no-rules.ts"
import type { ActivePolicy } from "../policy/pipeline.ts"
import { list } from "./input/shapes.ts"
import { oneOf, wholeNumber } from "./input/values.ts"

/** What the host adds to a policy. */
export interface PolicyHost {
  /** Compiles the rules of policies, and of the files that they name: all of them apply. */
  compile(policies: readonly Policy[]): Promise<Rules>
  service(options: PolicyServiceOptions): Promise<PolicyService>
}

/** Without files and without real paths: those need a host. */
export const portableHost: PolicyHost = {
  compile: async () => {
    throw new LonghaulError("config_invalid", "pending")
  },
  async service({ url, onOutage = "closed" }) {
    const { PolicyClient, serviceOf } = await import("../policy/service/index.ts")
    return serviceOf(PolicyClient.fromEnvFor(url, { enforcementFailureMode: onOutage }))
  },
}

/**
 * Validates the policy of a runtime. The returned function gives the policy of a run: the rules of all policies apply, the other
 * settings of later ones take precedence. Compiled once for runs without a policy of their own.
 */
export function policies(base: Policy = {}, host: PolicyHost): (own: readonly RunPolicy[]) => Promise<ActivePolicy> {
  checkPolicy(base, policyKeys)
  let common: Promise<ActivePolicy> | undefined
  return (own) => {
    if (own.length > 0) return activate([base, ...own], host)
    common ??= activate([base], host)
    return common
  }
}

/** Throws `config_invalid` for settings that cannot work. */
export function checkRunPolicy(policy: RunPolicy): RunPolicy {
  checkPolicy(policy, runPolicyKeys)
  return policy
}

/** The part of a run's own policy that is stored with the run; nothing if it has none. */
export function recordedPolicy(policy: RunPolicy | undefined): { readonly policy?: RecordedPolicy } {
  if (policy === undefined) return {}
  const { onAsk: _callback, ...stored } = policy
  return { policy: stored }
}

async function activate(all: readonly Policy[], host: PolicyHost): Promise<ActivePolicy> {
  const settings: Policy = Object.assign({}, ...all)
  const { mode = "ask", ask, onAsk, askTimeoutMs = 60_000 } = settings
  return {
    mode,
    rules: all.some(hasRules) ? await host.compile(all) : noRules,
    services: await Promise.all(all.flatMap(({ services = [] }) => services).map((each) => ready(each, host))),
    preApproved: all.flatMap(({ preApproved = [] }) => preApproved),
    askTimeoutMs,
    ...(ask && { ask }),
    ...(onAsk && { onAsk }),
  }
}

async function ready(service: PolicyServiceOptions | PolicyService, host: PolicyHost): Promise<PolicyService> {
  return "decide" in service ? service : host.service(service)
}

function hasRules({ extends: base, file, rules, output, tiers, default: fallback }: Policy): boolean {
  return [base, file, rules, output, tiers, fallback].some((part) => part !== undefined)
}

function checkPolicy(policy: Policy, known: readonly string[]): void {
  checkKeys("policy", policy, known)
  const { mode, ask, askTimeoutMs, onAsk, preApproved } = policy
  if (mode !== undefined) oneOf("policy.mode", mode, ["auto", "ask", "deny"])
  if (ask !== undefined) oneOf("policy.ask", ask, ["wait", "pause"])
  if (askTimeoutMs !== undefined) wholeNumber("policy.askTimeoutMs", askTimeoutMs)
  list("policy.preApproved", preApproved)
  if (onAsk !== undefined && typeof onAsk !== "function") {
    throw new LonghaulError("config_invalid", "policy.onAsk is not a function.", {
      fix: "Pass a function that returns { decision }.",
    })
  }
}

const runPolicyKeys = keys<RunPolicy>()(
  "version",
  "extends",
  "default",
  "unparsed",
  "rules",
  "output",
  "tiers",
  "services",
  "mode",
  "preApproved",
  "ask",
  "askTimeoutMs",
  "onAsk",
)
const policyKeys = [...runPolicyKeys, "file", "tests"]
