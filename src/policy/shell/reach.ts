import type { ShellCommand } from "./command-line.ts"

/** What a command does beyond the paths and programs that its words name. */
export interface Reach {
  /** It reads everything below these paths. */
  readonly below: readonly string[]
  /** An option, or a word of its own language, makes it start other programs or open other files. */
  readonly starts: boolean
}

/** Interpreters and builders are not here: they can do anything, and are a third of all commands. */
export function reachOf({ words: [program, ...args] }: ShellCommand): Reach {
  const name = (program?.text ?? "").replace(/^.*\//s, "").toLowerCase()
  const texts = args.map(({ text }) => text)
  if (name !== "git") return reach(programs.get(name), texts)
  let at = 0
  while (texts[at]?.startsWith("-")) at += texts[at] === "-C" ? 2 : 1
  return reach(gitCommands.get(texts[at] ?? ""), texts.slice(at + 1))
}

interface Program {
  /** Options that make it read what is below its operands. True: it always does. */
  readonly below?: RegExp | true
  /** Operands in front of its paths. */
  readonly skip?: number
  /** It starts in the working folder if it is given no path, or whatever it is given. */
  readonly here?: "default" | "always"
  /** Options whose value is the next word. */
  readonly values?: RegExp
  /** Options that start programs. */
  readonly starts?: RegExp
  /** Operands that do, as scripts. */
  readonly script?: RegExp
  /** Words with which it shows no content, or changes nothing. */
  readonly quiet?: RegExp
}

const nothing: Reach = { below: [], starts: false }

function reach(program: Program | undefined, args: readonly string[]): Reach {
  if (program === undefined) return nothing
  const { below, skip = 0, here, values, starts, script, quiet } = program
  const has = (pattern: RegExp | undefined) => pattern !== undefined && args.some((word) => pattern.test(word))
  const operands = args.filter((word, index) => {
    return !/^-./.test(word) && !(index > 0 && values?.test(args[index - 1] ?? "") === true)
  })
  // Before `--`, what git is given may be revisions.
  const end = args.indexOf("--")
  const paths = here !== "always" ? operands.slice(skip) : end === -1 ? [] : args.slice(end + 1)
  const isRecursive = (below === true || has(below)) && !has(quiet)
  return {
    below: isRecursive ? (paths.length === 0 && here !== undefined ? ["."] : paths) : [],
    starts: has(starts) || (script !== undefined && !has(quiet) && operands.some((word) => script.test(word))),
  }
}

const grep: Program = {
  below: /^-[A-Za-z]*[rR]|^--(dere|rec|dir)|^-d/,
  skip: 1,
  here: "default",
  values: /^(-[ABCmefd]|--(include|exclude|exclude-dir|file|regexp))$/,
}
const searcher: Program = {
  below: true,
  skip: 1,
  here: "default",
  values: /^(-[ABCmefgtTjrM]|--(glob|type|regexp|file|max-count|replace|sort))$/,
  starts: /^--(pre|hostname-bin)(=|$)/,
  quiet: /^--files$/,
}
const archiver: Program = { below: true, here: "default", skip: 1 }
// A script of sed: `e`, `r` and `w`, or a flag of `s`.
const sedScript = /(^|[;{}\n\d$/])\s*[erRwW](\s|$)|[^\s\w][gpiImM\d]*[ew][gpiImM\d]*(\s|;|$)/

/** Long options can be abbreviated. */
const programs: ReadonlyMap<string, Program> = new Map<string, Program>([
  ["grep", grep],
  ["egrep", grep],
  ["fgrep", grep],
  ["zgrep", grep],
  ["rg", searcher],
  ["ag", searcher],
  ["ack", searcher],
  ["cp", { below: /^-[A-Za-z]*[rRa]|^--(rec|ar)/ }],
  ["scp", { below: /^-[A-Za-z]*r/, starts: /^-[SoF]/ }],
  ["rsync", { below: /^-[A-Za-z]*[ra]|^--(rec|ar)/, starts: /^(-[A-Za-z]*e|--(rsh|rsync-p))/ }],
  [
    "tar",
    {
      below: /^-?[A-Za-z]*[cru]|^--(cr|app|upd)/,
      values: /^(-[A-Za-z]*[fCTX]|[A-Za-z]+f)$/,
      starts: /^(--(to-c|checkpoint-a|use-c|rsh|info-s|new-v)|-[A-Za-z]*[IF])/,
    },
  ],
  ["zip", { below: /^-[A-Za-z]*r|^--rec/, skip: 1, starts: /^(-[A-Za-z]*TT|--unz)/ }],
  ["7z", archiver],
  ["7za", archiver],
  ["cpio", { below: true, here: "always", starts: /^--(rsh|to-c)/ }],
  ["pax", archiver],
  ["diff", { below: /^-[A-Za-z]*r|^--rec/ }],
  ["sed", { starts: /^(-[A-Za-z]*f|--(fi|ex.*[^\w]e))/, script: sedScript }],
  ["sort", { starts: /^--(comp|files)/ }],
  ["split", { starts: /^--fil/ }],
  ["curl", { starts: /^(-[A-Za-z]*K|--conf)/ }],
  ["wget", { starts: /^--(use-a|conf|exec)|^-[A-Za-z]*e/ }],
  ["man", { starts: /^(-[A-Za-z]*[PH]|--(pager|html))/ }],
  ["less", { starts: /^\+|^--(tag|lesskey)/ }],
  ["nc", { starts: /^(-[A-Za-z]*[ec]|--(sh-)?exec)/ }],
  ["ncat", { starts: /^(-[A-Za-z]*[ec]|--(sh-)?exec)/ }],
  ["fd", { starts: /^(-[A-Za-z]*[xX]|--exec)/ }],
  ["fdfind", { starts: /^(-[A-Za-z]*[xX]|--exec)/ }],
])

const shown = { below: true, here: "always", quiet: /^--(stat|name|short|num|check|summ|dirst)/ } as const
const fromElsewhere: Program = { starts: /^--(upload-p|exec|receive-p)/ }

const gitCommands: ReadonlyMap<string, Program> = new Map<string, Program>([
  ["add", { below: true, here: "default" }],
  ["stash", { below: /^(-p|--patch)$|^show$/, here: "always" }],
  ["diff", { ...shown, starts: /^--ext/ }],
  ["show", { ...shown, starts: /^--ext/ }],
  ["log", { below: /^(-[pucSGL]|--(patch|cc))/, here: "always", starts: /^--ext/ }],
  ["grep", { below: true, skip: 1, here: "default", starts: /^(-[A-Za-z]*O|--open)/ }],
  ["archive", { below: true, here: "always", starts: /^--(exec|remote)/ }],
  ["format-patch", { below: true, here: "always" }],
  ["cat-file", { below: true, here: "always" }],
  ["bundle", { below: true, here: "always" }],
  [
    "config",
    {
      starts: /^(--(add|edit|replace)|-e)/,
      quiet: /^(--(get|list|show)|-l$|get$|list$)/,
      script:
        /^(set|edit)$|^(alias|core|diff|merge|filter|pager|include|includeif|credential|gpg|sequence|difftool|mergetool|browser|man|interactive|protocol|url|ssh|uploadpack|receive|remote|submodule|hook)\./i,
    },
  ],
  ["bisect", { script: /^run$/ }],
  ["submodule", { script: /^(foreach|update)$/ }],
  ["rebase", { starts: /^(-[a-z]*[xi]|--(exec|inter))/ }],
  ["filter-branch", { starts: /^/, script: /^/ }],
  ["difftool", { starts: /^/, script: /^/ }],
  ["mergetool", { starts: /^/, script: /^/ }],
  ["clone", { starts: /^(-[uc]|--(upload-p|conf|templ))/ }],
  ["init", { starts: /^--templ/ }],
  ["fetch", fromElsewhere],
  ["pull", fromElsewhere],
  ["push", fromElsewhere],
  ["ls-remote", fromElsewhere],
])
