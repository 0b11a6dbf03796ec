import { accessSync, constants, statSync, unlinkSync, writeFileSync } from "node:fs"
import { release } from "node:os"
import { dirname, join, resolve } from "node:path"
import { LonghaulError } from "../../contract/error.ts"
import { proxyNames, proxyVariables } from "../../hosts/node/http/find-route.ts"
import { defaultStoreRoot } from "../../hosts/node/index.ts"
import { namedModel, namedProviders, type Variables } from "../../hosts/node/model-names.ts"
import { findPolicyFile, loadFoundPolicy } from "../../hosts/node/policy/load-policy.ts"
import { findRipgrep, type Ripgrep } from "../../hosts/node/search/ripgrep.ts"
import { pathOutside } from "../../hosts/node/shell/find-program.ts"
import { fsStore, isCoherent } from "../../hosts/node/store/fs-store.ts"
import { newNonce } from "../../lib/id.ts"
import { vendorPrograms } from "../../settings/backends/vendors.ts"
import { invocation } from "../arguments.ts"
import { type ConfigChoice, type ConfigFile, findConfig, readConfig } from "../config/file.ts"
import { chooseModel, chooseStore } from "../run-settings.ts"
import { version } from "../version.ts"
import { damagedRuns, type Problem } from "./check-runs.ts"
import { type FoundProgram, probePrograms } from "./probe-programs.ts"
import { type FoundSandbox, probeSandbox } from "./probe-sandbox.ts"
import { hostOf, type LocalServer, probeServers } from "./probe-servers.ts"

/** The resources available to a run on this machine. Contains names and hosts; never a key, a password or part of one. */
export interface DoctorReport extends FoundSandbox {
  /** True if there are no problems. */
  readonly ok: boolean
  /** Problems that keep runs from working, each with its fix. */
  readonly problems: readonly Problem[]
  readonly longhaul: string
  readonly node: string
  readonly nodeOk: boolean
  readonly platform: string
  /** `partial`: without the sandbox and without protection against paths that change during a tool call. */
  readonly platformSupport: "full" | "partial" | "none"
  readonly store: string
  readonly storeExists: boolean
  readonly storeWritable: boolean
  /** `create-only` is slower and correct on every file system. Null: could not be determined. */
  readonly storeForm: "appending" | "create-only" | null
  /** The config file in use. */
  readonly config: string | null
  /** A config file that was found and ignored because it is a program. */
  readonly configNotLoaded: string | null
  /** The policy file that restricts runs in this folder, unless they name one. */
  readonly policy: string | null
  /** Names of the variables that hold a key. */
  readonly keys: readonly string[]
  /** Host by variable; null: invalid address. */
  readonly baseUrls: Readonly<Record<string, string | null>>
  readonly proxies: Readonly<Record<string, string | null>>
  readonly localServers: readonly LocalServer[]
  readonly clis: readonly FoundProgram[]
  readonly programs: readonly FoundProgram[]
  /**
   * The ripgrep that Grep uses: from `@vscode/ripgrep`, else from PATH. Null: the built-in search, with the same
   * results.
   */
  readonly ripgrep: Ripgrep | null
  /** The default model. */
  readonly model: string
  readonly modelReason: string
  readonly next: readonly string[]
}

export async function examine(
  choice: ConfigChoice & { readonly store?: string },
  variables: Variables = process.env,
): Promise<DoctorReport> {
  const problems: Problem[] = []
  const file = await readConfig(choice, () => {}, { planted: "ignore" }).catch((error: unknown) => {
    // An invalid file named with --config is a usage error; an invalid auto-discovered file is a problem.
    if (choice.config !== undefined || choice["no-config"]) throw error
    problems.push(problemOf(error))
    return undefined
  })
  const found = choice["no-config"] || choice.config !== undefined ? { planted: [] } : findConfig(choice.workspace)
  const nodeOk = nodeIsFit(process.versions.node)
  if (!nodeOk)
    problems.push({ message: `Node ${process.versions.node} is too old.`, fix: "Install Node 20.19 or later." })
  const store = resolve(chooseStore(choice.store, file, variables) ?? defaultStoreRoot(variables))
  const storeState = examineStore(store)
  if (!storeState.storeWritable) {
    const fix = "Check the folder and its permissions, or choose another with --store or LONGHAUL_STORE."
    problems.push({ message: `Cannot store runs in ${store}.`, fix })
  }
  // Reads every journal, so only on request.
  if (choice.store !== undefined && storeState.storeExists) {
    problems.push(...(await damagedRuns(fsStore(store))))
  }
  const { model, reason } = await chooseModel(undefined, file, variables)
  try {
    namedModel(model, variables)
  } catch (error) {
    problems.push(problemOf(error))
  }
  const policy = await examinePolicy(choice, file, problems)
  // Runs before the program probes, which keep the machine busy: the servers' deadline is short.
  const localServers = await probeServers(variables)
  // A repository may have programs of these names.
  const outside = [resolve(choice.workspace ?? ".")]
  const programVariables = { ...variables, PATH: pathOutside(variables.PATH, outside) }
  const programs = await probePrograms([...cliNames, ...programNames], programVariables)
  const known = {
    ok: problems.length === 0,
    problems,
    longhaul: await version(),
    node: process.versions.node,
    nodeOk,
    platform: platformName(),
    platformSupport: supportOf(process.platform),
    store,
    ...storeState,
    config: file?.path ?? found.data?.path ?? null,
    configNotLoaded: found.program ?? null,
    policy,
    keys: namedProviders.flatMap(({ keyNames }) => keyNames).filter((name) => variables[name]),
    baseUrls: hostsOf(
      namedProviders.flatMap(({ baseUrlName }) => baseUrlName ?? []),
      variables,
    ),
    proxies: hostsOf(Object.values(proxyNames).flat(), variables, "http://"),
    localServers,
    clis: programs.filter(({ name }) => cliNames.includes(name)),
    programs: programs.filter(({ name }) => programNames.includes(name)),
    ripgrep: (await findRipgrep({ path: programVariables.PATH ?? "" })) ?? null,
    ...(await probeSandbox(programVariables)),
    model,
    modelReason: reason,
  }
  return { ...known, next: nextSteps(known, file, variables) }
}

const cliNames: readonly string[] = [...new Set(Object.values(vendorPrograms))]
const programNames: readonly string[] = ["git", "rg", "bwrap"]

/** From 20.19. */
export function nodeIsFit(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  return major > 20 || (major === 20 && minor >= 19)
}

export function supportOf(platform: string): DoctorReport["platformSupport"] {
  if (platform === "linux") return "full"
  return platform === "darwin" ? "partial" : "none"
}

function platformName(): string {
  return process.platform === "linux" && /microsoft/i.test(release()) ? "linux (WSL)" : process.platform
}

/** A file that runs would refuse is a problem: they do not start without it. */
async function examinePolicy(
  { workspace }: ConfigChoice,
  file: ConfigFile | undefined,
  problems: Problem[],
): Promise<string | null> {
  const { workspace: configured, tools = [] } = file?.settings ?? {}
  let path: string | undefined
  try {
    path = findPolicyFile(resolve(workspace ?? configured ?? "."))
    if (path !== undefined) await loadFoundPolicy(path, { tools: tools.map(({ name }) => name) })
  } catch (error) {
    problems.push(problemOf(error))
  }
  return path ?? null
}

/** If the folder exists, a file is really written; if not, nothing is created. */
function examineStore(root: string): Pick<DoctorReport, "storeExists" | "storeWritable" | "storeForm"> {
  const storeExists = isFolder(root)
  const state = { storeExists, storeWritable: true, storeForm: null } as const
  try {
    if (storeExists) {
      // Uses a name that readers of the store ignore.
      const probe = join(root, `.tmp-${newNonce()}`)
      writeFileSync(probe, "", { flag: "wx" })
      unlinkSync(probe)
    } else {
      accessSync(nearestFolder(root), constants.W_OK | constants.X_OK)
    }
    return { ...state, storeForm: isCoherent(root) ? "appending" : "create-only" }
  } catch {
    return { ...state, storeWritable: false }
  }
}

/** Throws if a file is in the way. */
function nearestFolder(path: string): string {
  const state = statSync(path, { throwIfNoEntry: false })
  if (state === undefined) return nearestFolder(dirname(path))
  if (state.isDirectory()) return path
  throw new Error(`${path} is not a folder`)
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

/** The host of each variable that is set. A proxy may lack the `http://`. */
function hostsOf(names: readonly string[], variables: Variables, scheme = ""): Record<string, string | null> {
  const isSet = names.filter((name) => variables[name])
  return Object.fromEntries(
    isSet.map((name) => {
      const value = variables[name] ?? ""
      return [name, hostOf(value.includes("://") ? value : `${scheme}${value}`)]
    }),
  )
}

function problemOf(error: unknown): Problem {
  if (LonghaulError.is(error)) return { message: error.message, fix: error.fix ?? "See docs/errors.md." }
  throw error
}

function nextSteps(
  { ok, model, keys, localServers, proxies }: Omit<DoctorReport, "next">,
  file: ConfigFile | undefined,
  variables: Variables,
): readonly string[] {
  const self = invocation()
  const task = '"List the files here and say what they are about"'
  const server = localServers.find(({ models }) => models.some(isPlainName))
  const steps: string[] = []
  if (!ok) steps.push(`Fix the marked problems, then run: ${self} doctor`)
  else steps.push(`${self} run ${task}`)
  if (model === "offline") {
    const provider = namedProviders.find(({ keyNames }) => keyNames.some((name) => keys.includes(name)))
    if (server) steps.push(`${self} run --model ${server.name}:${server.models.find(isPlainName)} ${task}`)
    if (provider) steps.push(`To use an LLM, name the model: --model ${provider.name}:<model>, or LONGHAUL_MODEL.`)
    else steps.push("To use an LLM, set ANTHROPIC_API_KEY or the key of another provider.")
  }
  if (file === undefined && ok) steps.push(`${self} init  # write a config file and an example program`)
  const isProxied = Object.keys(proxies).some((name) => /^(http|all)_/i.test(name))
  if (server && isProxied && !variables.NO_PROXY && !variables.no_proxy) {
    steps.push(`Set NO_PROXY=127.0.0.1,localhost: otherwise ${server.name} is reached through the proxy.`)
  }
  const proxy = proxyVariables(variables)?.https
  if (proxy && /^socks/i.test(proxy.value)) {
    steps.push(`Set https_proxy to an http proxy: ${proxy.name} names a SOCKS proxy, which model calls cannot use.`)
  }
  return steps
}

/** Safe to paste into a shell: the server chose the name. */
function isPlainName(model: string): boolean {
  return /^\w[\w./:@-]*$/.test(model)
}
