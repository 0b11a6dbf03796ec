import type { Command, OptionSpec } from "./arguments.ts"

/** The input of the script generators. */
export interface CompletedCommand extends Pick<Command, "summary" | "options" | "completes"> {
  readonly name: string
}

export const completionScripts: Readonly<Record<string, (commands: readonly CompletedCommand[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
}

/** Number of run ids offered. */
const offeredRuns = 20

/**
 * Run ids contain only letters, digits, "_" and "-", and quotes within a task are escaped, so this matches nothing
 * else.
 */
const idsIn = `grep -o '"runId":"[A-Za-z0-9_-]*"' | cut -d '"' -f 4`

type Completion = readonly string[] | "runId" | "folder" | "file" | "nothing"

/** Completion of an option's value; undefined: it takes no value. */
function completionOf({ type, value, values }: OptionSpec): Completion | undefined {
  if (type === "boolean") return undefined
  if (values) return values
  if (value === "<dir>") return "folder"
  return value === "<file>" ? "file" : "nothing"
}

function flagsOf(options: Command["options"]): readonly string[] {
  return Object.entries(options).flatMap(([name, { short }]) => [...(short ? [`-${short}`] : []), `--${name}`])
}

/** Also works with bash 3.2, the version on macOS. */
function bashScript(commands: readonly CompletedCommand[]): string {
  const names = commands.map(({ name }) => name)
  const offer = (what: Exclude<Completion, "nothing">) => {
    if (what === "runId") return '_longhaul_offer "$(_longhaul_runs "$1")"'
    if (what === "folder" || what === "file") return `_longhaul_paths ${what === "folder" ? "-d" : "-f"}`
    return `_longhaul_offer ${quoted(what.join(" "))}`
  }
  const values = commands.flatMap(({ name, options }) =>
    Object.entries(options).flatMap(([option, spec]) => {
      const what = completionOf(spec)
      if (what === undefined) return []
      const names = [`--${option}`, ...(spec.short ? [`-${spec.short}`] : [])].map((flag) => `"${name} ${flag}"`)
      return [`    ${names.join(" | ")}) ${what === "nothing" ? "" : `${offer(what)}; `}return ;;`]
    }),
  )
  const flags = commands.map(({ name, options }) => `    ${name}) flags=${quoted(flagsOf(options).join(" "))} ;;`)
  const positionals = [
    `    help) ${offer(names)} ;;`,
    ...commands.flatMap(({ name, completes }) => (completes ? [`    ${name}) ${offer(completes)} ;;`] : [])),
  ]
  return `# longhaul completion for bash. To load it: eval "$(longhaul completion bash)"
_longhaul_offer() {
  local word
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$1" -- "$cur")
}
_longhaul_paths() {
  local path
  compopt -o filenames 2>/dev/null
  while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen "$1" -- "$cur")
}
_longhaul_runs() {
  local index store=()
  for ((index = 2; index < COMP_CWORD - 1; index++)); do
    if [[ \${COMP_WORDS[index]} == --store ]]; then
      [[ \${COMP_WORDS[index + 1]} == "=" ]] && index=$((index + 1))
      store=(--store "\${COMP_WORDS[index + 1]/#\\~/$HOME}")
    fi
  done
  "$1" runs --json --limit ${offeredRuns} \${store[@]+"\${store[@]}"} 2>/dev/null | ${idsIn}
}
_longhaul() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" option="\${COMP_WORDS[COMP_CWORD - 1]}" command="\${COMP_WORDS[1]}" flags="" index
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    _longhaul_offer ${quoted([...names, "help", "--help", "--version"].join(" "))}
    return
  fi
  # Words after -- are not options, and --option=value arrives as three words.
  for ((index = 2; index < COMP_CWORD; index++)); do [[ \${COMP_WORDS[index]} == -- ]] && return; done
  if [[ $cur == "=" ]]; then
    cur=""
  elif [[ $option == "=" ]]; then
    option="\${COMP_WORDS[COMP_CWORD - 2]}"
  fi
  case "$command $option" in
${values.join("\n")}
  esac
  case "$command" in
${flags.join("\n")}
  esac
  if [[ $cur == -* ]]; then
    _longhaul_offer "$flags"
    return
  fi
  case "$command" in
${positionals.join("\n")}
    *) _longhaul_offer "$flags" ;;
  esac
}
complete -F _longhaul longhaul`
}

function zshScript(commands: readonly CompletedCommand[]): string {
  const action = (what: Completion) => {
    if (what === "nothing") return " "
    if (what === "runId") return "_longhaul_runs"
    if (what === "folder") return "_files -/"
    return what === "file" ? "_files" : `(${what.join(" ")})`
  }
  const described = commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`)
  const cases = commands.map(({ name, options, completes }) => {
    const specs = Object.entries(options).map(([option, spec]) => zshOption(option, spec, action))
    const rest = completes ? `'1:argument:${action(completes)}'` : "'*: : '"
    return `    ${name})\n      _arguments \\\n        ${[...specs, rest].join(" \\\n        ")}\n      ;;`
  })
  return `#compdef longhaul
# longhaul completion for zsh. To load it, after compinit: eval "$(longhaul completion zsh)"
_longhaul_runs() {
  local -a ids
  ids=(\${(f)"$(longhaul runs --json --limit ${offeredRuns} 2>/dev/null | ${idsIn})"})
  compadd -a ids
}
_longhaul() {
  local -a commands
  commands=(
${described.join("\n")}
    'help:Show the help of a command.'
  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
${cases.join("\n")}
    help)
      ((CURRENT == 2)) && _describe command commands
      ;;
  esac
}
# In a file of $fpath this is the function body; otherwise register it.
if [[ $funcstack[1] == _longhaul ]]; then
  _longhaul "$@"
else
  compdef _longhaul longhaul
fi`
}

function zshOption(
  name: string,
  { short, multiple, help, ...spec }: OptionSpec,
  action: (what: Completion) => string,
): string {
  const what = completionOf({ help, ...spec })
  const description = `[${help.replaceAll(/[[\]\\:]/g, "\\$&")}]`
  const value = what === undefined ? "" : `:value:${action(what)}`
  if (short) return `'(-${short} --${name})'{-${short},--${name}}${quoted(`${description}${value}`)}`
  return quoted(`${multiple ? "*" : ""}--${name}${what === undefined ? "" : "="}${description}${value}`)
}

function fishScript(commands: readonly CompletedCommand[]): string {
  const offer = (what: Completion) => {
    if (what === "nothing") return ""
    if (what === "runId") return " -a '(__longhaul_runs)'"
    if (what === "folder") return " -a '(__fish_complete_directories)'"
    return what === "file" ? " -F" : ` -a ${fishQuoted(what.join(" "))}`
  }
  const lines = commands.flatMap(({ name, summary, options, completes }) => [
    `complete -c longhaul -n __longhaul_needs_command -a ${name} -d ${fishQuoted(summary)}`,
    ...(completes ? [`complete -c longhaul -n '__longhaul_uses ${name}'${offer(completes)}`] : []),
    ...Object.entries(options).map(([option, spec]) => {
      const what = completionOf(spec)
      const flags = `${spec.short ? ` -s ${spec.short}` : ""} -l ${option}`
      const value = what === undefined ? "" : `${what === "file" ? " -r" : " -x"}${offer(what)}`
      return `complete -c longhaul -n '__longhaul_uses ${name}'${flags}${value} -d ${fishQuoted(spec.help)}`
    }),
  ])
  return `# longhaul completion for fish. To load it: longhaul completion fish | source
function __longhaul_needs_command
  test (count (commandline -opc)) -eq 1
end
function __longhaul_uses
  set -l words (commandline -opc)
  test (count $words) -ge 2; and test $words[2] = $argv[1]
end
function __longhaul_runs
  longhaul runs --json --limit ${offeredRuns} 2>/dev/null | ${idsIn}
end
complete -c longhaul -f
complete -c longhaul -n __longhaul_needs_command -a help -d 'Show the help of a command.'
complete -c longhaul -n '__longhaul_uses help' -a ${fishQuoted(commands.map(({ name }) => name).join(" "))}
complete -c longhaul -n __longhaul_needs_command -l version -s v -d 'Show the version.'
complete -c longhaul -n __longhaul_needs_command -l help -s h -d 'Show the help.'
${lines.join("\n")}`
}

/** For bash and zsh. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll(/['\\]/g, "\\$&")}'`
}
