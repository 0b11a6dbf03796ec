import { createInterface } from "node:readline"
import type { RunState } from "../../contract/runtime.ts"
import { plainText } from "../../lib/content.ts"
import { guardOptions } from "../approval/gate.ts"
import { type AskOptions, askInline } from "../approval/inline-approval.ts"
import { type Command, commonOptions, invocation, parseCommandLine, storeOption } from "../arguments.ts"
import type { ChatConversation } from "../chat/conversation.ts"
import { type FoundConversation, openChat } from "../chat/open-chat.ts"
import { openPrompt } from "../chat/prompt.ts"
import { type ChatSession, createSession } from "../chat/session.ts"
import { configOptions } from "../config/file.ts"
import { printsJson, type WatchChoice, watchOptions } from "../follow.ts"
import { counted, modelLabel, visible } from "../format.ts"
import { onIdleInterrupt } from "../interrupts.ts"
import { mayDraw, type Output, type TextStream } from "../output.ts"
import { type Repeated, repeatedOptions } from "../repeated-options.ts"
import { extensionOptions } from "../run-extensions.ts"
import { inputOptions, startNotes, startOptions } from "../run-options.ts"
import { wrap } from "../screen.ts"

const options = {
  continue: {
    type: "string",
    value: "[run]",
    help: "Continue an earlier conversation: the named one, else the last one in this folder.",
  },
  ...startOptions,
  ...inputOptions,
  ...extensionOptions,
  ...guardOptions,
  "run-id": { type: "string", value: "<id>", help: "Id of the conversation. Default: a new one." },
  ...storeOption,
  ...configOptions,
  ...watchOptions,
  ...commonOptions,
} as const

export const command: Command = {
  summary: "Chat with a model that can use the tools. A conversation is one run; each message is an exchange of it.",
  usage: "[options] [message…]",
  options,
  notes: [
    ...startNotes,
    "On a terminal: /help lists the commands; input typed while a run works is sent to its model.",
    "In a pipe, each line is a message. With a message as argument and no terminal, only that message is answered.",
    "--continue takes a run id or its first characters; any run can be continued as a conversation. --continue= selects the last.",
    "With --json: one result per line. Exit code in a pipe: that of the last exchange.",
  ],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("chat", optionalValue(args), options)
    const json = printsJson(values)
    const terminal = [...(json ? [] : [output.stdout]), output.stderr].find(({ isTTY }) => isTTY)
    const isInteractive = Boolean(process.stdin.isTTY) && terminal !== undefined
    const opened = await openChat(values, output, isInteractive)
    const { conversation, store, earlier, cwd } = opened
    const repeated = repeatedOptions(values, store)
    const place = { input: process.stdin, output, watch: values, first: positionals.join(" "), repeated, earlier }
    if (!isInteractive || terminal === undefined) return answer(conversation, place)
    return talk(conversation, { ...place, terminal, draws: mayDraw(), approval: opened, cwd })
  },
}

/** `--continue` may have no value. A following word that cannot be a run id is a message. */
function optionalValue(args: readonly string[]): readonly string[] {
  const end = args.indexOf("--")
  return args.map((arg, index) => {
    const next = args[index + 1]
    const isFlag = arg === "--continue" && (end === -1 || index < end)
    return isFlag && (next === undefined || !/^[A-Za-z0-9][\w-]*$/.test(next)) ? "--continue=" : arg
  })
}

interface Place {
  readonly input: NodeJS.ReadableStream
  readonly output: Output
  readonly watch: WatchChoice
  /** The first message; empty: none. */
  readonly first: string
  /** The options of printed commands. */
  readonly repeated?: Repeated
  readonly earlier?: FoundConversation | undefined
}

/** One message per line, without any prompt. */
async function answer(
  conversation: ChatConversation,
  { input, output, watch, first, repeated = repeatedOptions({}), earlier }: Place,
): Promise<number> {
  const session = createSession(conversation, { output, watch, repeated, interactive: false })
  if (earlier && !(await session.settle(earlier.last))) return session.code
  if (first !== "") {
    await session.take(first)
    await session.finish()
    return session.code
  }
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
  const removeHandlers = onEnd(() => {
    session.leave()
    lines.close()
  })
  try {
    for await (const line of lines) if (!(await session.take(line))) break
    await session.finish()
    return session.code
  } finally {
    removeHandlers()
  }
}

interface TalkPlace extends Place {
  readonly terminal: TextStream
  readonly draws: boolean
  readonly approval: Pick<AskOptions, "files">
  readonly cwd: string
}

/** With a person at a terminal. */
export async function talk(conversation: ChatConversation, place: TalkPlace): Promise<number> {
  const { input, terminal, draws, output, watch, first, repeated = repeatedOptions({}), earlier, approval, cwd } = place
  let code = 0
  const sign = "> "
  const colours = terminal === output.stdout ? output.colours : output.errorColours
  const session: ChatSession = createSession(conversation, {
    output,
    watch,
    repeated,
    interactive: true,
    ask: askInline({
      ...approval,
      cwd,
      terminal,
      colours,
      scope: "conversation",
      readLine: (question) => prompt.ask(question),
    }),
    ...(draws && { typed: () => `${sign}${visible(prompt.typed())}` }),
  })
  const prompt = openPrompt({ input, terminal, draws, aside: (line) => session.aside(line) })
  const leave = () => {
    code = 130
    session.leave()
    prompt.close()
  }
  const interrupts = onIdleInterrupt(
    () => !session.working,
    () => prompt.remark("Press Ctrl-C again to leave, or type /exit."),
    leave,
  )
  const removeHandlers = onEnd(leave)
  try {
    const greeting = [modelLabel(conversation.model), `in ${visible(cwd)}`, "/help lists the commands"]
    paragraphs(terminal)(greeting.join(" · "))
    if (earlier) recall(earlier, terminal)
    let goesOn = earlier === undefined || (await session.settle(earlier.last))
    if (goesOn && first !== "") {
      terminal.write(`${sign}${visible(first)}\n`)
      goesOn = await session.take(first)
    }
    while (goesOn) {
      const line = await prompt.next(session.continues ? "… " : sign)
      interrupts.reset()
      goesOn = line !== undefined && (await session.take(line))
    }
    if (session.isPaused) return session.code
    if (conversation.runId !== undefined)
      terminal.write(`Continue with: ${invocation()} chat --continue${repeated.all}\n`)
    return code
  } finally {
    removeHandlers()
    interrupts.removeHandlers()
    prompt.close()
  }
}

/** Shows the last exchange of a conversation that is continued. */
function recall({ exchanges, last, start }: FoundConversation, terminal: TextStream): void {
  const write = paragraphs(terminal)
  write(`Continuing ${last.runId} after ${counted(exchanges.length, "exchange")}. The last one:`)
  const said = start?.input.messages.findLast(({ role }) => role === "user")
  if (said?.role === "user") write(`> ${visible(plainText(said.content, "\n"))}`)
  if (isOver(last) && last.text !== "") write(visible(last.text))
}

function isOver({ status }: RunState): boolean {
  return status !== "paused" && status !== "running"
}

/** Writes text wrapped to the terminal, limited to a readable number of lines. */
function paragraphs(terminal: TextStream): (text: string) => void {
  return (text) => {
    const width = Math.max(20, terminal.columns ?? 80) - 1
    const lines = text
      .trimEnd()
      .split("\n")
      .flatMap((line) => wrap(line.replaceAll("\t", "    "), width))
    for (const line of lines.slice(0, recalledLines)) terminal.write(`${line}\n`)
    if (lines.length > recalledLines) terminal.write(`… ${counted(lines.length - recalledLines, "more line")}\n`)
  }
}

const recalledLines = 20

function onEnd(leave: () => void): () => void {
  process.once("SIGTERM", leave)
  process.once("SIGHUP", leave)
  return () => {
    process.off("SIGTERM", leave)
    process.off("SIGHUP", leave)
  }
}
