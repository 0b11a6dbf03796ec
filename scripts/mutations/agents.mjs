// Promises about agents: one policy, one ledger and one journal for a run and all agents below it.
import { mutation } from "./mutation.mjs"

const agents = "src/run/agents"
const fold = "src/journal/projection.ts"
const tree = (name) => ["test/agents.test.ts", name]
const background = (name) => ["test/agents-background.test.ts", name]
const near = (name) => ["src/run/agents/agents.test.ts", name]
const brief = (name) => ["src/lib/compaction/brief.test.ts", name]

export const mutations = [
  mutation(
    "agents: any number of agents can be started",
    [[agents, "if (shared.started >= total)", "if (shared.started > 2 * total)"]],
    tree("no more agents than `total` are started"),
  ),
  mutation(
    "agents: agents of earlier processes are forgotten",
    [["src/run/open", "input.agents.atOnce : 0, below.agents)", "input.agents.atOnce : 0, 0)"]],
    tree("no more agents than `total` are started"),
  ),
  mutation(
    "agents: an agent at the last depth can start others",
    [
      ["src/settings/tools/agent-tools.ts", "level < agents.depth ?", "true ?"],
      [agents, "if (level >= this.#settings.depth)", "if (level > this.#settings.depth)"],
    ],
    tree("the tool Agent is not offered at the last depth"),
  ),
  mutation(
    "agents: the policy of the run does not reach its agents",
    [
      [
        agents,
        "    policies,\n    mcpServers,\n    extensions: { ...noExtensions",
        "    policies: [],\n    mcpServers,\n    extensions: { ...noExtensions",
      ],
    ],
    tree("a rule of the runtime or of the run denies the call of an agent"),
  ),
  mutation(
    "agents: tools that the run disables come back in its agents",
    [[agents, "all.filter(({ name }) => !agents.disabled.includes(name))", "all"]],
    tree("tools that a run disables are in none of its agents"),
  ),
  mutation(
    "agents: a decision is handed down to a later question",
    [[agents, "decided?.request.ticket === agent.ask.request.ticket ? decided : undefined", "decided"]],
    tree("an earlier decision does not answer a later question of the same agent"),
  ),
  mutation(
    "agents: `always` of one agent is valid for the whole run",
    [[fold, "    if (record.of) return\n", ""]],
    tree("`always` is for that agent only"),
  ),
  mutation(
    "agents: what agents spend is not counted by their run",
    [["src/run/state/ledger.ts", "if (reservedAbove) this.#above?.settle(reservedAbove, usage)", ""]],
    tree("turns, tokens and dollars are limited over the whole tree"),
  ),
  mutation(
    "agents: an answer can end its own fence",
    [[agents, 'withoutTags("agent-(?:answer|message)", visibleText(text))', "text"]],
    tree("an answer that claims an approval"),
  ),
  mutation(
    "agents: a question is asked although gates deny it",
    [
      [
        "src/run",
        "if (run.tree.deniesQuestions && !run.controls.stopping)\n        return",
        "if (run.tree === null)\n        return",
      ],
    ],
    tree("a gated call of an agent is denied with `gates: deny`"),
  ),
  mutation(
    "agents: the journals of agents stay when their run is removed",
    [["src/runtime/manage-runs.ts", "await removeNode(config, agentKey(key, agentId), watch)", ""]],
    tree("removing a run removes its agents"),
  ),
  mutation(
    "agents: a run ends while an agent works in the background",
    [["src/run", "if (agents?.background.isPending) await", "if (agents === null) await"]],
    background("an agent in the background returns its id at once"),
  ),
  mutation(
    "agents: the end of an agent in the background is delivered again after a crash",
    [[fold, "if (record.agentId !== undefined) this.agents.background.delete(record.agentId)", ""]],
    background("a crash after any number of writes"),
  ),
  mutation(
    "agents: a process that resumes a run forgets its agents in the background",
    [["src/run", "await run.agents?.background.resume()", ""]],
    background("a crash after any number of writes"),
  ),
  mutation(
    "agents: a message for an agent that is about to answer waits for its next poll",
    [["src/run/agents/send-message.ts", "await tree.shared.monitor.deliver(key, slot)", "true"]],
    ["test/agent-messages.test.ts", "a message for an agent that is about to answer"],
    ["test/agent-messages.test.ts", "a message for an agent that takes no more is refused"],
  ),
  mutation(
    "agents: the end of an agent lacks the tokens below it",
    [[agents, "tokens: spent.tokens + below.tokens, usd", "tokens: spent.tokens, usd"]],
    ["test/agents-spending.test.ts", "the end of an agent is recorded with the tokens"],
  ),
  mutation(
    "agents: a lost run releases its agent",
    [[agents, 'if (cause?.kind === "lost") below.lose(cause.error)', 'if (cause?.kind === "lost") below.release()']],
    ["src/run/agents/link-controls.test.ts", "an agent is lost with its run"],
  ),
  mutation(
    "agents: an agent that is resumed begins at the first entry of the chain",
    [
      [
        "src/run/open/resume-run.ts",
        "const target = await recalledChain(config.targets, run, given, targets)",
        "const target = { ...(await recalledChain(config.targets, run, given, targets)), ...(targets && { entry: 0 }) }",
      ],
    ],
    ["test/agents-spending.test.ts", "an agent that moved to the second entry of the chain"],
  ),
  mutation(
    "agents: a fork counts the agents of the run that it copies",
    [["src/journal/agent-fold.ts", "    if (isCopied) return\n", ""]],
    ["test/agents-spending.test.ts", "a fork does not count the agents"],
  ),
  mutation(
    "agents: the name of a file that an agent changed forges lines of the runtime",
    [[agents, "changed.add(oneLine(withoutFences(path)))", "changed.add(withoutFences(path))"]],
    near("each within its line, and counts the others"),
  ),
  mutation(
    "agents: any number of changed files is named",
    [[agents, "changed.slice(0, MAX_FILES)", "changed"]],
    near("names twenty of the files that it changed"),
  ),
  mutation(
    "agents: an agent that waits for its slot begins although the run is released",
    [[agents, "if (above.releasing) {", "if (false) {"]],
    near("an agent that waits for its slot while the run is released"),
  ),
  mutation(
    "agents: a description of spaces is one",
    [
      [
        "src/settings/options/agents.ts",
        'text.trim() === "") throw invalidAgent(name',
        'text === "") throw invalidAgent(name',
      ],
    ],
    near("a type of agents with a description of spaces"),
  ),
  mutation(
    "agents: a text ends its fence in another spelling",
    [["src/lib/text/data-fence.ts", '`<(?=[\\\\s/]{0,20}(?:${tags}))`, "gi"', '`<(?=/?(?:${tags}))`, "g"']],
    tree("an answer that claims an approval"),
    brief("the result of a call neither begins nor ends"),
  ),
  mutation(
    "agents: a text of the model ends the record that another backend gets",
    [["src/lib/compaction/brief.ts", "short(inert(part.text), 4 * longest)", "short(part.text, 4 * longest)"]],
    brief("a text of the model neither begins nor ends"),
  ),
  mutation(
    "agents: an agent that must not pause does after a crash",
    [["src/run/calls/finish-open-calls.ts", "run.tree.deniesQuestions || isTold", "isTold"]],
    near("a call of an agent that must not pause is unknown after a crash"),
  ),
]
