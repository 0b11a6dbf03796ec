import { createInterface } from "node:readline"
import { type Command, commonOptions, parseCommandLine, storeOption } from "../arguments.ts"
import { openPrompt } from "../chat-prompt.ts"
import { type ChatSession, createSession } from "../chat-session.ts"
import { configOptions, readConfig } from "../config-file.ts"
import { type Conversation, createConversation } from "../conversation.ts"
import { modelLabel, visible } from "../format.ts"
import { onIdleInterrupt } from "../interrupts.ts"
import { mayDraw, type Output, type TextStream } from "../output.ts"
import { startNotes, startOptions } from "../run-options.ts"
import { chooseModel, inputSettings, openRuntime } from "../run-settings.ts"

const options = { ...startOptions, ...storeOption, ...configOptions, ...commonOptions } as const

export const command: Command = {
  summary: "Talk with a model that has the tools. Every message is a run, and knows what was said before it.",
  usage: "[options] [message…]",
  options,
  notes: [
    ...startNotes,
    "On a terminal: /help lists what else can be typed; what is typed while a run works is told to its model.",
    "In a pipe each line is a message. With a message as argument and no terminal, that one is answered and no other.",
    "With --json: one result on each line. Exit code in a pipe: that of the last run.",
  ],
  async run(args, output) {
    const { values, positionals } = parseCommandLine("chat", args, options)
    const json = values.json ?? false
    const file = await readConfig(values, output.complain)
    const settings = inputSettings(values, file)
    const { runtime, workspace } = await openRuntime(values, file)
    const { model } = await chooseModel(values.model, file)
    const conversation = createConversation(runtime, model, settings)
    const first = positionals.join(" ")
    const terminal = [...(json ? [] : [output.stdout]), output.stderr].find(({ isTTY }) => isTTY)
    if (process.stdin.isTTY && terminal) {
      terminal.write(`${modelLabel(model)} · in ${visible(workspace)} · /help lists what can be typed\n`)
      return talk(conversation, { input: process.stdin, terminal, draws: mayDraw(), output, json, first })
    }
    return answer(conversation, { input: process.stdin, output, json, first })
  },
}

interface Place {
  readonly input: NodeJS.ReadableStream
  readonly output: Output
  readonly json: boolean
  /** What to begin with; empty: nothing. */
  readonly first: string
}

/** Line by line, without a word of our own. */
async function answer(conversation: Conversation, { input, output, json, first }: Place): Promise<number> {
  const session = createSession(conversation, { output, json, interactive: false })
  if (first !== "") {
    await session.take(first)
    await session.finish()
    return session.code
  }
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
  const giveBack = onEnd(() => {
    session.leave()
    lines.close()
  })
  try {
    for await (const line of lines) if (!(await session.take(line))) break
    await session.finish()
    return session.code
  } finally {
    giveBack()
  }
}

/** With a person at a terminal. */
export async function talk(
  conversation: Conversation,
  { input, terminal, draws, output, json, first }: Place & { readonly terminal: TextStream; readonly draws: boolean },
): Promise<number> {
  let code = 0
  const sign = "> "
  const session: ChatSession = createSession(conversation, {
    output,
    json,
    interactive: true,
    ...(draws && { typed: () => `${sign}${visible(prompt.typed())}` }),
  })
  const prompt = openPrompt({ input, terminal, draws, aside: session.aside })
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
  const giveBack = onEnd(leave)
  try {
    if (first !== "") terminal.write(`${sign}${visible(first)}\n`)
    let goesOn = first === "" || (await session.take(first))
    while (goesOn) {
      const line = await prompt.next(session.continues ? "… " : sign)
      interrupts.calm()
      goesOn = line !== undefined && (await session.take(line))
    }
    return code
  } finally {
    giveBack()
    interrupts.giveBack()
    prompt.close()
  }
}

function onEnd(leave: () => void): () => void {
  process.once("SIGTERM", leave)
  process.once("SIGHUP", leave)
  return () => {
    process.off("SIGTERM", leave)
    process.off("SIGHUP", leave)
  }
}
