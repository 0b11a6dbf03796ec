import type { CommandTable } from "./arguments.ts"

/** Each command loads when it is called, so that help is instant. */
export const commands: CommandTable = {
  run: { summary: "Run a task to its end.", load: () => import("./commands/run.ts") },
  chat: { summary: "Talk with a model that has the tools.", load: () => import("./commands/chat.ts") },
  resume: { summary: "Go on with a run that is not over.", load: () => import("./commands/resume.ts") },
  approve: { summary: "Let the call run that a run waits with.", load: () => import("./commands/approve.ts") },
  reject: { summary: "Refuse the call that a run waits with.", load: () => import("./commands/reject.ts") },
  cancel: { summary: "Cancel a run, wherever it is.", load: () => import("./commands/cancel.ts") },
  runs: { summary: "List the runs, newest first.", load: () => import("./commands/runs.ts") },
  show: { summary: "Show one run, step by step, from its journal.", load: () => import("./commands/show.ts") },
  logs: { summary: "Print the records of a run, or follow it.", load: () => import("./commands/logs.ts") },
  fork: { summary: "Copy the beginning of a run, to go on from there.", load: () => import("./commands/fork.ts") },
  replay: { summary: "Show a run as it went, asking nothing.", load: () => import("./commands/replay.ts") },
  rm: { summary: "Delete runs.", load: () => import("./commands/rm.ts") },
  recover: { summary: "Find runs that lost their process.", load: () => import("./commands/recover.ts") },
  cost: { summary: "Sum up what the runs have cost.", load: () => import("./commands/cost.ts") },
  crashtest: {
    summary: "Kill runs at every moment and count the harm.",
    load: () => import("./commands/crashtest.ts"),
  },
  simulate: { summary: "Serve a simulated model provider.", load: () => import("./commands/simulate.ts") },
  mcp: { summary: "Serve the tools to an MCP client.", load: () => import("./commands/mcp.ts") },
  doctor: { summary: "Look at what a run would find on this machine.", load: () => import("./commands/doctor.ts") },
  init: { summary: "Write a configuration and an example to begin with.", load: () => import("./commands/init.ts") },
  completion: { summary: "Print a shell's completion script.", load: () => import("./commands/completion.ts") },
}
