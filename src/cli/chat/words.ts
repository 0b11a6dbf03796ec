import { LonghaulError } from "../../contract/error.ts"
import { closest } from "../../lib/closest.ts"
import { addUsage, noUsage } from "../../lib/usage.ts"
import { clip, counted, failureLines, modelLabel, spending } from "../format.ts"
import type { Colours } from "../output.ts"
import type { Conversation, Spent } from "./conversation.ts"

/** What a line that begins with a slash leads to. */
export interface Reply {
  readonly lines: readonly string[]
  readonly exit?: boolean
}

/** Undefined: the line is none of ours, but meant for the model. `working`: a run is under way. */
export function slashReply(
  line: string,
  conversation: Conversation,
  { working, colours }: { readonly working: boolean; readonly colours: Colours },
): Reply | undefined {
  const [, name, rest = ""] = /^\/([a-z]+)(?:\s+(.*))?$/.exec(line.trim()) ?? []
  if (name === undefined) return undefined
  const word = Object.hasOwn(words, name) ? words[name] : undefined
  if (word === undefined) {
    const meant = closest(name, Object.keys(words))
    return { lines: [`There is no /${name}. ${meant ? `Did you mean /${meant}?` : "/help lists what there is."}`] }
  }
  if (working && word.changes && (name !== "model" || rest !== ""))
    return { lines: [`/${name} has to wait until the run is over.`] }
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
  /** What the run under way was started with would no longer be so. */
  readonly changes?: boolean
  reply(conversation: Conversation, rest: string): Reply
}

const forget: Word = {
  help: "Begin a new conversation.",
  changes: true,
  reply(conversation) {
    conversation.forget()
    return { lines: ["Forgotten. The next message begins a new conversation."] }
  },
}

const words: Readonly<Record<string, Word>> = {
  help: { help: "This list.", reply: () => ({ lines: helpLines() }) },
  forget,
  clear: { ...forget, help: "The same as /forget." },
  turns: {
    help: "The turns so far, and the limit.",
    reply: ({ turns, maxTurns }) => ({
      lines: [`${counted(turns, "turn")} in this conversation; at most ${maxTurns} for each message.`],
    }),
  },
  cost: { help: "Tokens and dollars so far, by conversation.", reply: ({ spent }) => ({ lines: costLines(spent) }) },
  model: {
    usage: "[name]",
    help: "Show the model, or use another one from now on.",
    changes: true,
    reply(conversation, name) {
      if (name !== "") conversation.use(name)
      return { lines: [`Model: ${modelLabel(conversation.model)}`] }
    },
  },
  exit: { help: "Leave. Ctrl-D does the same.", reply: () => ({ lines: [], exit: true }) },
}

function helpLines(): readonly string[] {
  const rows = Object.entries(words).map(([name, { usage, help }]) => [`/${name}${usage ? ` ${usage}` : ""}`, help])
  return [
    ...rows.map(([usage = "", help = ""]) => `${usage.padEnd(14)}${help}`),
    "A line that ends in \\ goes on in the next one. What you type while a run works is told to its model.",
    "Ctrl-C lets the current step finish; pressed again, it stops at once.",
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
