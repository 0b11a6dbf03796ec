import { type Tool, type ToolContext, ToolError } from "../contract/tool.ts"
import { usesNothing } from "../lib/access/arguments.ts"
import { checkShape } from "../lib/schema/shape.ts"
import { defineTool } from "./kernel/define-tool.ts"
import { onOneLine } from "./shared.ts"

export interface TaskToolsOptions {
  /** Maximum number of runs with a list; beyond it, the least recently extended list is dropped. Default 1000. */
  readonly maxRuns?: number
}

/**
 * A list of tasks for each run: TaskCreate, TaskGet, TaskList and TaskUpdate. In memory only: if a run continues in
 * another process, the list starts empty.
 */
export function taskTools(options: TaskToolsOptions = {}): readonly Tool[] {
  checkShape<TaskToolsOptions>("taskTools", options, { maxRuns: "number" })
  const lists = new TaskLists(options.maxRuns ?? 1000)
  return [createTool(lists), getTool(lists), listTool(lists), updateTool(lists)]
}

const statuses = ["pending", "in_progress", "completed", "cancelled"] as const
type TaskStatus = (typeof statuses)[number]

interface Task {
  readonly id: string
  readonly subject: string
  readonly description: string
  readonly status: TaskStatus
}

interface TaskList {
  readonly tasks: Map<string, Task>
  /** The task that a call created, so that it creates none twice. */
  readonly made: Map<string, Task>
}

const mostTasks = 200
const subject = {
  type: "string",
  minLength: 1,
  maxLength: 200,
  description: "The task, in a few words.",
} as const
const description = { type: "string", maxLength: 2000, description: "Further details." } as const
const taskId = {
  type: "string",
  minLength: 1,
  maxLength: 20,
  description: "The number that TaskCreate returned.",
} as const

function createTool(lists: TaskLists): Tool {
  return defineTool({
    name: "TaskCreate",
    description:
      "Adds a pending task to this run's list and returns its number. Use the list to plan work with several steps " +
      `and to keep track of it. At most ${mostTasks} tasks; the list is lost when the program ends.`,
    // Not `once`: a second attempt at the same call finds the first one's task.
    uses: usesNothing,
    effect: "repeatable",
    risk: "low",
    inputSchema: {
      type: "object",
      properties: { subject, description: { ...description, default: "" } },
      required: ["subject"],
      additionalProperties: false,
    },
    run: (args: Pick<Task, "subject" | "description">, context) => {
      const { tasks, made } = lists.open(context)
      const before = made.get(context.idempotencyKey)
      if (before === undefined && tasks.size >= mostTasks) {
        throw new ToolError("conflict", `There are already ${mostTasks} tasks. Update some of them instead.`)
      }
      const task = before ?? { id: String(tasks.size + 1), ...args, status: "pending" as const }
      if (before === undefined) tasks.set(task.id, task)
      made.set(context.idempotencyKey, task)
      return `Created task ${task.id}: ${onOneLine(task.subject)}`
    },
  })
}

function getTool(lists: TaskLists): Tool {
  return defineTool({
    name: "TaskGet",
    description: "Returns all details of one task of this run.",
    uses: usesNothing,
    effect: "none",
    inputSchema: { type: "object", properties: { id: taskId }, required: ["id"], additionalProperties: false },
    run: ({ id }: { readonly id: string }, context) => describeTask(taskOf(lists.of(context), id)),
  })
}

function listTool(lists: TaskLists): Tool {
  return defineTool({
    name: "TaskList",
    description: "Returns all tasks of this run, one per line: number, status and subject.",
    uses: usesNothing,
    effect: "none",
    inputSchema: { type: "object", properties: {}, additionalProperties: false },
    run: (_args, context) => {
      const lines = Array.from(lists.of(context).tasks.values(), lineOf)
      return lines.length === 0 ? "There are no tasks." : lines.join("\n")
    },
  })
}

function updateTool(lists: TaskLists): Tool {
  return defineTool({
    name: "TaskUpdate",
    description:
      "Changes a task of this run: its status, subject or description. Omitted fields are unchanged. " +
      "Set in_progress before working on it and completed right afterwards.",
    uses: usesNothing,
    effect: "repeatable",
    risk: "low",
    inputSchema: {
      type: "object",
      properties: { id: taskId, status: { type: "string", enum: [...statuses] }, subject, description },
      required: ["id"],
      additionalProperties: false,
    },
    run: ({ id, ...changes }: Pick<Task, "id"> & Partial<Task>, context) => {
      const list = lists.of(context)
      const task = { ...taskOf(list, id), ...changes }
      list.tasks.set(id, task)
      return describeTask(task)
    },
  })
}

function taskOf({ tasks }: TaskList, id: string): Task {
  const task = tasks.get(id)
  if (task !== undefined) return task
  throw new ToolError("not_found", `Task ${JSON.stringify(id)} does not exist; the list has ${tasks.size}.`)
}

function lineOf({ id, status, subject }: Task): string {
  return `${id} [${status}] ${onOneLine(subject)}`
}

function describeTask(task: Task): string {
  return task.description === "" ? lineOf(task) : `${lineOf(task)}\n${task.description}`
}

class TaskLists {
  readonly #lists = new Map<string, TaskList>()
  readonly #maxRuns: number

  constructor(maxRuns: number) {
    this.#maxRuns = maxRuns
  }

  /** Read access: a run without tasks takes no memory. */
  of({ runScope }: ToolContext): TaskList {
    return this.#lists.get(runScope) ?? { tasks: new Map(), made: new Map() }
  }

  /** Write access: it becomes the last one to be dropped. */
  open(context: ToolContext): TaskList {
    const list = this.of(context)
    this.#lists.delete(context.runScope)
    this.#lists.set(context.runScope, list)
    const [oldest] = this.#lists.keys()
    if (this.#lists.size > this.#maxRuns && oldest !== undefined) this.#lists.delete(oldest)
    return list
  }
}
