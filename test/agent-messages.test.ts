import { expect, test } from "vitest"
import type { Store } from "../src/contract/store.ts"
import { memoryStore } from "../src/stores/memory.ts"
import { agent, calls, part, processOver } from "./support/agent-scene.ts"

const send = part("SendMessage", { to: "1-0", text: "Mind the step." })
const background = (prompt: string) => agent(prompt, { background: true })

function signal() {
  let set = () => {}
  const isSet = new Promise<void>((resolve) => {
    set = resolve
  })
  return { set, isSet }
}

test("a message for an agent that is about to answer reaches it before it ends", { tags: ["TOOL-14"] }, async () => {
  const sent = signal()
  const asked = signal()
  const { runtime, model } = processOver(memoryStore(), {
    lead: [
      calls(background("child")),
      async () => {
        await asked.isSet
        return calls(send)
      },
      () => {
        sent.set()
        return "a"
      },
      "b",
    ],
    child: [
      async () => {
        asked.set()
        await sent.isSet
        return "Done already."
      },
      "I minded it.",
    ],
  })
  const result = await runtime.run({ task: "lead", runId: "r" })
  expect(result.toolCalls.at(-1)).toMatchObject({ name: "SendMessage", status: "ok" })
  expect(JSON.stringify(model.asked)).toContain("Message from the agent that started you: Mind the step.")
  expect(JSON.stringify(model.asked.at(-1))).toContain("I minded it.")
})

test("a message for an agent that takes no more is refused, although its end is not recorded yet", {
  tags: ["TOOL-14"],
}, async () => {
  const ends = signal()
  const sent = signal()
  const { runtime } = processOver(endingAfter(memoryStore(), ends.set, sent.isSet), {
    lead: [
      calls(background("child")),
      async () => {
        await ends.isSet
        return calls(send)
      },
      () => {
        sent.set()
        return "a"
      },
      "b",
    ],
    child: ["Done already."],
  })
  const result = await runtime.run({ task: "lead", runId: "r" })
  expect(result.toolCalls.at(-1)).toMatchObject({ name: "SendMessage", status: "error" })
  expect(result.toolCalls.at(-1)?.result).toContain("has ended")
})

/** A store that writes the end of an agent only after `until`. */
function endingAfter(inner: Store, ends: () => void, until: Promise<void>): Store {
  const folder = (path: string) => {
    const inside = inner.folder(path)
    const { append } = inside
    if (!append || !path.includes("subagents")) return inside
    const open = async (name: string, first: Uint8Array) => {
      const file = await append.open(name, first)
      const write = async (bytes: Uint8Array) => {
        if (new TextDecoder().decode(bytes).includes('"run-end"')) {
          ends()
          await until
        }
        await file?.write(bytes)
      }
      return file && { ...file, write }
    }
    return { ...inside, append: { ...append, open } }
  }
  return { ...inner, folder }
}
