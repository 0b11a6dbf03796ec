import { type Command, commonOptions, onlyPositional, parseCommandLine, UsageError } from "../arguments.ts"
import { type CompletedCommand, completionScripts } from "../completion-scripts.ts"

const options = { help: commonOptions.help } as const

const shells = Object.keys(completionScripts)

export const command: Command = {
  summary: "Print a script that completes the commands, options and run ids of this version.",
  usage: "<bash|zsh|fish>",
  options,
  completes: shells,
  notes: [
    'bash: eval "$(longhaul completion bash)" in ~/.bashrc',
    'zsh:  eval "$(longhaul completion zsh)" in ~/.zshrc, after compinit',
    "fish: longhaul completion fish | source in ~/.config/fish/config.fish",
  ],
  async run(args, output, commands) {
    const { positionals } = parseCommandLine("completion", args, options)
    const shell = onlyPositional("completion", "shell", positionals)
    const script = Object.hasOwn(completionScripts, shell) ? completionScripts[shell] : undefined
    if (script === undefined) {
      throw new UsageError(`Unsupported shell: ${JSON.stringify(shell)}.`, `Use one of: ${shells.join(", ")}.`)
    }
    const loaded = Object.entries(commands).map(async ([name, { summary, load }]): Promise<CompletedCommand> => {
      const { options, completes } = (await load()).command
      return { name, summary, options, ...(completes && { completes }) }
    })
    output.print(script(await Promise.all(loaded)))
    return 0
  },
}
