import type { CommandTable } from "./arguments.ts"

/** Each command is loaded when it is called, so that help is fast. */
export const commands: CommandTable = {
  run: { summary: "Run a task to completion.", load: () => import("./commands/run.ts") },
  chat: { summary: "Chat with a model that can use the tools.", load: () => import("./commands/chat.ts") },
  resume: { summary: "Continue an unfinished run.", load: () => import("./commands/resume.ts") },
  approve: { summary: "Approve the pending call of a paused run.", load: () => import("./commands/approve.ts") },
  reject: { summary: "Deny the pending call of a paused run.", load: () => import("./commands/reject.ts") },
  cancel: { summary: "Cancel a run in any process.", load: () => import("./commands/cancel.ts") },
  runs: { summary: "List runs, newest first.", load: () => import("./commands/runs.ts") },
  workspaces: { summary: "List the workspaces of a store.", load: () => import("./commands/workspaces.ts") },
  show: { summary: "Show one run step by step from its journal.", load: () => import("./commands/show.ts") },
  logs: { summary: "Print or follow the records of a run.", load: () => import("./commands/logs.ts") },
  fork: { summary: "Copy the beginning of a run to continue from there.", load: () => import("./commands/fork.ts") },
  replay: {
    summary: "Replay a run from its journal without calling a model.",
    load: () => import("./commands/replay.ts"),
  },
  rm: { summary: "Delete runs.", load: () => import("./commands/rm.ts") },
  recover: { summary: "Find runs whose process died.", load: () => import("./commands/recover.ts") },
  cost: { summary: "Sum up the cost of runs.", load: () => import("./commands/cost.ts") },
  backends: { summary: "List the backends and what works here.", load: () => import("./commands/backends.ts") },
  policy: {
    summary: "Check, test, explain, import or serve a policy file.",
    load: () => import("./commands/policy.ts"),
  },
  crashtest: {
    summary: "Kill runs at every step and check that nothing is lost or repeated.",
    load: () => import("./commands/crashtest.ts"),
  },
  simulate: { summary: "Serve a simulated model provider.", load: () => import("./commands/simulate.ts") },
  mcp: {
    summary: "Serve the tools to an MCP client, or use other MCP servers.",
    load: () => import("./commands/mcp.ts"),
  },
  skills: { summary: "List the skills that runs here can use.", load: () => import("./commands/skills.ts") },
  memory: { summary: "Show or add what runs here remember.", load: () => import("./commands/memory.ts") },
  knowledge: {
    summary: "Add, index, search and show documents for runs.",
    load: () => import("./commands/knowledge.ts"),
  },
  doctor: { summary: "Check what is available to runs on this machine.", load: () => import("./commands/doctor.ts") },
  init: { summary: "Write a config file and an example program.", load: () => import("./commands/init.ts") },
  completion: { summary: "Print a shell completion script.", load: () => import("./commands/completion.ts") },
}
