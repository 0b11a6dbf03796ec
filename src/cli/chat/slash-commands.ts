import { LonghaulError } from "../../contract/error.ts"
import { closest } from "../../lib/closest.ts"
import { addUsage, noUsage } from "../../lib/usage.ts"
import { clip, counted, failureLines, modelLabel, spending } from "../format.ts"
import type { Colours } from "../output.ts"
import type { ChatConversation, Spent } from "./conversation.ts"

/** The result of a line that starts with a slash. */
export interface Reply {
  readonly lines: readonly string[]
  readonly exit?: boolean
}

/** Undefined: the line is not a slash command and goes to the model. `working`: a run is active. */
export function slashReply(
  line: string,
  conversation: ChatConversation,
  { working, colours }: { readonly working: boolean; readonly colours: Colours },
): Reply | undefined {
  const [, name, rest = ""] = /^\/([a-z]+)(?:\s+(.*))?$/.exec(line.trim()) ?? []
  if (name === undefined) return undefined
  const word = Object.hasOwn(words, name) ? words[name] : undefined
  if (word === undefined) {
    const meant = closest(name, Object.keys(words))
    return { lines: [`Unknown command /${name}. ${meant ? `Did you mean /${meant}?` : "/help lists the commands."}`] }
  }
  if (working && word.changes && (name !== "model" || rest !== ""))
    return { lines: [`/${name} is not available while a run is active.`] }
  try {
    return word.reply(conversation, rest.trim())
  } catch (error) {
    if (!LonghaulError.is(error)) throw error
    return { lines: failureLines(error.toJSON(), colours) }
  }
}

interface Word {
  readonly usage?: string
  readonly help: string
  /** Commands that would change the settings of the active run. */
  readonly changes?: boolean
  reply(conversation: ChatConversation, rest: string): Reply
}

const forget: Word = {
  help: "Start a new conversation.",
  changes: true,
  reply(conversation) {
    conversation.forget()
    return { lines: ["Cleared. The next message starts a new conversation."] }
  },
}

const words: Readonly<Record<string, Word>> = {
  help: { help: "Show this list.", reply: () => ({ lines: helpLines() }) },
  forget,
  clear: { ...forget, help: "Same as /forget." },
  turns: {
    help: "Show the number of turns so far and the limit.",
    reply: ({ turns, maxTurns }) => ({
      lines: [`${counted(turns, "turn")} in this conversation; at most ${maxTurns} per message.`],
    }),
  },
  cost: {
    help: "Show tokens and dollars so far, per conversation.",
    reply: ({ spent }) => ({ lines: costLines(spent) }),
  },
  model: {
    usage: "[name]",
    help: "Show the model, or switch to another one.",
    changes: true,
    reply(conversation, name) {
      if (name !== "") conversation.use(name)
      return { lines: [`Model: ${modelLabel(conversation.model)}`] }
    },
  },
  exit: { help: "Leave (also Ctrl-D).", reply: () => ({ lines: [], exit: true }) },
}

function helpLines(): readonly string[] {
  const rows = Object.entries(words).map(([name, { usage, help }]) => [`/${name}${usage ? ` ${usage}` : ""}`, help])
  return [
    ...rows.map(([usage = "", help = ""]) => `${usage.padEnd(14)}${help}`),
    "End a line with \\ to continue it on the next. Input typed while a run works is sent to its model.",
    "Press Ctrl-C to stop after the current step; press it again to stop immediately.",
  ]
}

function costLines(spent: readonly Spent[]): readonly string[] {
  const total = spent.reduce(
    (sum, { turns, usage }) => ({ turns: sum.turns + turns, usage: addUsage(sum.usage, usage) }),
    { turns: 0, usage: noUsage },
  )
  const words = ({ turns, usage }: Omit<Spent, "runId">) => `${counted(turns, "turn")} · ${spending(usage)}`
  return [...spent.map((each) => `${clip(each.runId, 64)}  ${words(each)}`), `total: ${words(total)}`]
}
