import type { Brand } from "../../../contract/brand.ts"
import type { Search } from "../../../contract/env.ts"
import { StartupError } from "../../../contract/error.ts"
import { defaultBrand } from "../../../lib/brand.ts"
import { brandShape, texts } from "../../../lib/schema/contract-shapes.ts"
import { checkShape, required, type Shape, shapeOf } from "../../../lib/schema/shape.ts"
import { findProgram, type ProgramSearch } from "../shell/find-program.ts"

export interface NodeSearchOptions {
  /** Searchable folders, as for `nodeFiles`. */
  readonly roots: readonly string[]
  readonly readOnlyRoots?: readonly string[]
  readonly hidden?: readonly string[]
  /** The ripgrep to use. Default: from `@vscode/ripgrep` if installed, else `rg` on PATH, else none. */
  readonly ripgrepPath?: string
  /** Its `doctorCommand` is in the advice of errors. */
  readonly brand?: Partial<Brand>
}

const optionsShape: Shape<NodeSearchOptions> = {
  roots: required(texts),
  readOnlyRoots: texts,
  hidden: texts,
  ripgrepPath: "text",
  brand: shapeOf<Partial<Brand>>(brandShape),
}

/** A ripgrep that works. */
export interface Ripgrep {
  readonly path: string
  readonly version: string
}

/**
 * Uses ripgrep to select candidate files. Nothing is started before the first search, unless a program was configured:
 * one that does not work throws a `StartupError` here.
 */
export function nodeSearch(options: NodeSearchOptions): Search {
  checkShape<NodeSearchOptions>("nodeSearch", options, optionsShape)
  const { ripgrepPath, brand, ...roots } = options
  const configured = ripgrepPath === undefined ? undefined : requireRipgrep(ripgrepPath, { ...defaultBrand, ...brand })
  let opening: Promise<Search | undefined> | undefined
  const open = async (): Promise<Search | undefined> => {
    const ripgrep = configured ?? (await findRipgrep({ outside: foldersIn(roots) }))
    if (ripgrep === undefined) return undefined
    // Loaded on demand: most importers of this package search nothing.
    return (await import("../lazy.ts")).ripgrepSearch(ripgrep.path, roots)
  }
  const opened = () => {
    opening ??= open()
    return opening
  }
  return {
    guarded: (guard) => ({ find: async (request) => (await opened())?.guarded?.(guard).find(request) }),
    find: async (request) => (await opened())?.find(request),
  }
}

/** The bundled one, then the one on PATH. One that does not work is skipped. */
export async function findRipgrep(search?: ProgramSearch): Promise<Ripgrep | undefined> {
  for (const candidate of [await bundledPath(), findProgram("rg", search)]) {
    const ripgrep = candidate === undefined ? undefined : await ask(candidate)
    if (ripgrep !== undefined) return ripgrep
  }
  return undefined
}

/** Unconfined tools could replace a system program anyway. */
function foldersIn({ roots, readOnlyRoots = [] }: NodeSearchOptions): readonly string[] {
  return [...roots, ...readOnlyRoots].filter((path) => path !== "/")
}

async function bundledPath(): Promise<string | undefined> {
  try {
    return (await import("@vscode/ripgrep")).rgPath
  } catch {
    // Not installed, or not for this platform.
    return undefined
  }
}

/** Older versions parse patterns and ignore files differently. */
const oldest = 15

function requireRipgrep(path: string, { doctorCommand }: Brand): Ripgrep {
  const { stdout } = process.getBuiltinModule("node:child_process").spawnSync(path, question, manners)
  const ripgrep = toRipgrep(path, stdout ?? "")
  if (ripgrep !== undefined) return ripgrep
  throw new StartupError(`${JSON.stringify(path)} is not a ripgrep ${oldest} or later.`, {
    fix: `Set \`ripgrepPath\` to a working ripgrep, or omit it; \`${doctorCommand}\` shows which one is found.`,
  })
}

function ask(path: string): Promise<Ripgrep | undefined> {
  return new Promise((resolve) => {
    const { execFile } = process.getBuiltinModule("node:child_process")
    execFile(path, question, manners, (_, stdout) => resolve(toRipgrep(path, stdout)))
  })
}

const question = ["--no-config", "--version"]
const manners = { env: {}, encoding: "utf8", timeout: 3000, killSignal: "SIGKILL", maxBuffer: 64 * 1024 } as const

/** Undefined if it is not ripgrep, or too old. */
function toRipgrep(path: string, said: string): Ripgrep | undefined {
  const [, version, major] = /^ripgrep ((\d+)[\w.-]*)/.exec(said) ?? []
  return version !== undefined && Number(major) >= oldest ? { path, version } : undefined
}
