import { serve } from "../dist/hosts/node/index.js"
import { createSimulator } from "../dist/testing/index.js"

/** A simulated model that runs so many commands, one after another, whatever the vendor calls its shell. */
const turns = Number(process.argv[2])
const shells = ["Bash", "exec_command", "bash", "run_shell_command"]
const simulator = createSimulator({
  script({ tools, messages }) {
    const shell = shells.find((name) => tools.some((tool) => tool.name === name))
    const made = messages.flatMap(({ toolCalls }) => toolCalls).length
    if (shell === undefined || made >= turns) return "Done."
    const args = { [shell === "exec_command" ? "cmd" : "command"]: `echo ${made}`, description: "Counts." }
    return { parts: [{ text: "I go on. ".repeat(20) }, { toolCall: { name: shell, args } }] }
  },
})
const { url } = await serve(simulator.fetch)
process.send?.({ url })
