import fc from "fast-check"
import { expect, test } from "vitest"
import type { Ephemeral } from "../../contract/event.ts"
import { createRedactor } from "../../policy/redact/redactor.ts"
import { callProgress } from "./call-progress.ts"

const secret = "kJ8sQ2vX9mLw"
const starts = fc.nat(7).map((length) => secret.slice(0, length))
const words = fc.constantFrom(" ", "sheep", "k", "kJ8sQ2v", "\n")

/** What is published of these messages, joined. */
function published(messages: readonly string[]): string {
  const texts: string[] = []
  const show = (event: Ephemeral) => void (event.type === "tool-progress" && texts.push(event.message))
  const progress = callProgress({ redactor: createRedactor({ KEY: secret }), show }, "1")
  for (const message of messages) progress.tell(message)
  progress.end()
  return texts.join("")
}

test("messages with no more than seven characters of a secret are published once, whole and in order", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(starts, words), { maxLength: 8 }), (messages) => {
      fc.pre(!messages.join("").includes(secret))
      expect(published(messages)).toBe(messages.join(""))
    }),
  )
})

test("of a secret in any number of messages, at most the first seven characters are published", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(secret.length), { maxLength: 4 }), words, (cuts, before) => {
      const places = [0, ...cuts.toSorted((one, other) => one - other), secret.length]
      const pieces = places.slice(1).map((to, at) => secret.slice(places[at], to))
      const seen = published([before, ...pieces, " after"])
      expect(seen).toMatch(/\{\{secret:KEY\}\} after$/)
      expect(seen.slice(before.length)).not.toContain(secret.slice(0, 8))
    }),
  )
})
