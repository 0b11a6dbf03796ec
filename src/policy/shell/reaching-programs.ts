import { sedReachesFurther } from "./sed-script.ts"

/** When a program reaches further than its words say. */
export interface Reaching {
  /** Words with which it reads what is below its operands. True: it always does. */
  readonly below?: RegExp | true
  /** The same for what it changes, moves or removes. */
  readonly changes?: RegExp | true
  /** It changes what is below this folder, which an option names; else below the working folder. */
  readonly into?: RegExp
  /** Operands in front of its paths. */
  readonly skip?: number
  /** It starts in the working folder if it is given no path, or whatever it is given. */
  readonly here?: "default" | "always"
  /** The last operand is where it writes. */
  readonly hasTarget?: boolean
  /** Its first word may be letters of options without a dash. */
  readonly hasLetters?: boolean
  /** Options whose value is the next word. */
  readonly values?: RegExp
  /** Words that start programs, or name files to open. */
  readonly starts?: RegExp | true | ((args: readonly string[]) => boolean)
  /** Words with which it shows no content, or changes nothing. */
  readonly quiet?: RegExp
}

/** Long options, also abbreviated, and letters of short ones, which may stand together. */
function options(long: string, letters = ""): RegExp {
  const names = long.split(" ").filter((name) => name !== "")
  const abbreviated = names.map((name) => Array.from(name).reduceRight((rest, letter) => `${letter}(?:${rest})?`, ""))
  const short = letters === "" ? [] : [`-[A-Za-z0-9]*[${letters}]`]
  return new RegExp(`^(?:${[...abbreviated.map((name) => `--${name}(?:=|$)`), ...short].join("|")})`)
}

const grep: Reaching = {
  below: /^-[A-Za-z]*[rR]|^--(dere|rec|dir)|^-d/,
  skip: 1,
  here: "default",
  values: /^(-[ABCmefd]|--(include|exclude|exclude-dir|file|regexp))$/,
}
const searcher: Reaching = {
  below: true,
  skip: 1,
  here: "default",
  values: /^(-[ABCmefgtTjrM]|--(glob|type|regexp|file|max-count|replace|sort))$/,
  starts: /^--(pre|hostname-bin)(=|$)/,
  quiet: /^--files$/,
}
const tar: Reaching = {
  below: /^-[A-Za-z]*[cruA]|^--(cr|app|up|con|cat)/,
  changes: /^-[A-Za-z]*x|^--(ex|get)/,
  // Among other letters with values, it is not certain which word it is.
  into: /^(?:-[A-EG-SU-WYZa-eg-z]*C|--(?:dir|cd)[a-z]*(?:=|$))(.*)$/s,
  hasLetters: true,
  values: /^-[A-Za-z]*[fCTX]$/,
  starts: options(
    "to-command checkpoint-action use-compress-program rsh-command rmt-command info-script new-volume-script files-from",
    "IFT",
  ),
}
const zipper: Reaching = {
  below: true,
  changes: /^[ex]$/,
  into: /^-o(.+)$/s,
  here: "default",
  skip: 1,
}
const modes: Reaching = { changes: options("recursive", "R"), skip: 1 }
const editor: Reaching = { starts: /^(\+.|-[A-Za-z]*[cSsuU]|--cmd)/ }
const network: Reaching = { starts: options("exec sh-exec", "ec") }
const finder: Reaching = { starts: options("exec exec-batch", "xX") }
const counter: Reaching = { starts: options("files0-from") }
/** Settings of ssh are known in any case. */
const connecting = (letters: RegExp): Reaching => ({
  starts: (args) => args.some((word) => letters.test(word) || programSetting.test(word)),
})
const programSetting = /(Proxy|Local|KnownHosts)Command|(Provider|XAuthLocation)\b/i
const copier = connecting(/^-[A-Za-z]*[FSDb]/)

export const programs: ReadonlyMap<string, Reaching> = new Map<string, Reaching>([
  ...["grep", "egrep", "fgrep", "zgrep", "ugrep"].map((name) => [name, grep] as const),
  ["rgrep", { ...grep, below: true }],
  ...["rg", "ag", "ack"].map((name) => [name, searcher] as const),
  ["cp", { below: /^-[A-Za-z]*[rRa]|^--(rec|ar)/, hasTarget: true }],
  ["mv", { below: true, changes: true, hasTarget: true }],
  ["rm", { changes: options("recursive", "rR") }],
  ...["chmod", "chown", "chgrp"].map((name) => [name, modes] as const),
  ["find", { changes: /^-delete$/, here: "default" }],
  ["scp", { below: /^-[A-Za-z]*r/, hasTarget: true, ...copier }],
  ["sftp", copier],
  ["ssh", connecting(/^-[A-Za-z]*F/)],
  [
    "rsync",
    { below: /^-[A-Za-z]*[ra]|^--(rec|ar)/, hasTarget: true, starts: options("rsh rsync-path files-from", "e") },
  ],
  ...["tar", "gtar", "bsdtar", "star"].map((name) => [name, tar] as const),
  ["zip", { below: /^-[A-Za-z]*[rR]|^--rec|[*?[]/, skip: 1, starts: /^(-[A-Za-z]*(TT|@)|--unz)/ }],
  ["unzip", { changes: true, into: /^-d(.*)$/s, quiet: /^-[A-Za-z]*[lptZvcz]/ }],
  ...["7z", "7za", "7zr"].map((name) => [name, zipper] as const),
  [
    "cpio",
    {
      below: options("create pass-through", "op"),
      changes: options("extract", "ip"),
      here: "always",
      starts: options("rsh-command to-command"),
    },
  ],
  ["pax", { below: true, changes: /^-[A-Za-z]*r/, here: "default", skip: 1 }],
  ["patch", { changes: true, into: /^-d(.*)$/s, quiet: options("dry-run") }],
  ["diff", { below: /^-[A-Za-z]*r|^--rec/ }],
  ["sed", { starts: sedReachesFurther }],
  ["sort", { starts: options("compress-program files0-from") }],
  ["wc", counter],
  ["du", counter],
  ["split", { starts: options("filter") }],
  ["curl", { starts: options("config", "K") }],
  ["wget", { starts: options("use-askpass config execute", "e") }],
  ["man", { starts: options("pager html", "PH") }],
  ["less", { starts: /^\+|^--(tag|lesskey)|^-[A-Za-z]*k/ }],
  ["more", { starts: /^\+/ }],
  ...["vi", "vim", "nvim", "view", "ex"].map((name) => [name, editor] as const),
  ["emacs", { starts: /^--?(eval|execute|f|func|load|l|script|x|batch|command)/ }],
  ["nc", network],
  ["ncat", network],
  ["socat", { starts: /^(exec|system|shell):/i }],
  ["fd", finder],
  ["fdfind", finder],
])

const shown: Reaching = {
  below: true,
  here: "always",
  quiet: /^--(stat|name|short|num|check|summ|dirst)/,
  starts: /^--ext/,
}
const patches = /^-[pucSGLU]|^--(patch|cc|unified|word|bin|full)/
const plumbing: Reaching = { below: patches, here: "always", starts: /^--ext/ }
const whole: Reaching = { below: true, here: "always" }
const fromElsewhere: Reaching = { starts: /^--(upload-p|exec|receive-p)/ }

export const gitCommands: ReadonlyMap<string, Reaching> = new Map<string, Reaching>([
  ["add", { below: true, here: "default" }],
  ["stash", { below: /^(-p|--patch)$|^show$/, here: "always" }],
  ["diff", shown],
  ["show", shown],
  ["log", plumbing],
  ...["whatchanged", "reflog", "request-pull", "diff-tree", "diff-index", "diff-files"].map(
    (name) => [name, plumbing] as const,
  ),
  ["grep", { below: true, skip: 1, here: "default", starts: /^(-[A-Za-z]*O|--open)/ }],
  ["archive", { ...whole, starts: /^--(exec|remote)/ }],
  ...["format-patch", "cat-file", "bundle", "range-diff", "fast-export", "send-email"].map(
    (name) => [name, whole] as const,
  ),
  ["worktree", { below: /^add$/, here: "always" }],
  ["mv", { below: true, changes: true, hasTarget: true }],
  ["rm", { changes: options("", "r") }],
  ["clean", { changes: true, here: "default", quiet: options("dry-run", "n") }],
  ["config", { starts: setsWhatStarts }],
  ["bisect", { starts: /^run$/ }],
  ["submodule", { starts: /^(foreach|update)$/ }],
  ["rebase", { starts: /^(-[a-z]*[xi]|--(exec|inter))/ }],
  ...["filter-branch", "difftool", "mergetool"].map((name) => [name, { starts: true }] as const),
  ["clone", { below: true, here: "default", hasTarget: true, starts: /^(-[uc]|--(upload-p|conf|templ))/ }],
  ["init", { starts: /^--templ/ }],
  ...["fetch", "pull", "push", "ls-remote"].map((name) => [name, fromElsewhere] as const),
])

/** Settings that name programs, files and addresses. */
const startingSetting =
  /^(alias|core|diff|merge|filter|pager|include|includeif|credential|gpg|sequence|difftool|mergetool|browser|man|interactive|protocol|url|ssh|uploadpack|receive|remote|submodule|hook)\./i

function setsWhatStarts(args: readonly string[]): boolean {
  if (args.some((word) => /^(--(add|edit|replace)|-e|set$|edit$)/.test(word))) return true
  const onlyReads = /^(get|list)$/.test(args[0] ?? "") || args.some((word) => /^(--(get|list|show)|-l$)/.test(word))
  return !onlyReads && args.some((word) => startingSetting.test(word))
}
