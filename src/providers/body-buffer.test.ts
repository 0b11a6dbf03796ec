import fc from "fast-check"
import { expect, test } from "vitest"
import type { Message } from "../contract/message.ts"
import { BodyBuffer } from "./body-buffer.ts"

const say = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] })

const step = fc.oneof(
  fc.record({ kind: fc.constant("add" as const), text: fc.string({ maxLength: 40, unit: "grapheme" }) }),
  fc.record({ kind: fc.constant("replace-last" as const), text: fc.string({ maxLength: 10 }) }),
  fc.record({ kind: fc.constant("drop" as const), count: fc.nat(3) }),
)

test.each([{ marked: true }, { marked: false }])(
  "the buffered body equals a full serialisation (marked: $marked)",
  ({ marked }) => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        let serialised = 0
        const buffer = new BodyBuffer({
          prefix: '{"p":"ö","messages":[',
          suffix: "]}",
          fragment(message) {
            serialised++
            return JSON.stringify(message)
          },
          ...(marked && { lastMessage: { plain: "}]}", marked: ',"mark":1}]}' } }),
        })
        const messages: Message[] = []
        let added = 0
        for (const each of steps) {
          if (each.kind === "add") messages.push(say(each.text))
          else if (each.kind === "replace-last") messages.splice(-1, 1, say(each.text))
          else messages.length = Math.max(0, messages.length - each.count)
          if (each.kind !== "drop") added++
          const body = JSON.parse(new TextDecoder().decode(buffer.body(messages)))
          const expected = structuredClone(messages) as unknown as { content: Record<string, unknown>[] }[]
          if (marked) Object.assign(expected.at(-1)?.content.at(-1) ?? {}, { mark: 1 })
          expect(body).toEqual({ p: "ö", messages: expected })
        }
        expect(serialised).toBeLessThanOrEqual(added)
      }),
    )
  },
)

test("the body buffer grows at any length, including in the last bytes", () => {
  for (let length = 1900; length < 2200; length++) {
    const buffer = new BodyBuffer({
      prefix: '{"messages":[',
      suffix: "]}",
      fragment: (message) => JSON.stringify(message),
      lastMessage: { plain: "}]}", marked: ',"mark":1}]}' },
    })
    for (const messages of [[say("x".repeat(length))], [say("é".repeat(length / 2)), say("y")]]) {
      expect(() => JSON.parse(new TextDecoder().decode(buffer.body(messages)))).not.toThrow()
    }
  }
})
