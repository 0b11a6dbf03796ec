import type { AssistantMessage, Message, UserMessage } from "../../contract/message.ts"
import { configInvalid } from "../../lib/failures.ts"
import { isJsonObject } from "../../lib/json.ts"
import { kindOf } from "../../lib/known-keys.ts"
import { givenMessage } from "../../lib/schema/contract-shapes.ts"
import { checkArgument } from "../../lib/schema/shape.ts"

/** Validates the caller's messages and converts strings to parts. Throws `config_invalid` for messages no model accepts. */
export function checkedMessages(given: readonly unknown[] = []): readonly Message[] {
  return given.map(checkedMessage)
}

function checkedMessage(message: unknown, index: number): Message {
  const at = `messages[${index}]`
  if (!isJsonObject(message)) throw configInvalid(`${at} is ${kindOf(message)}, not an object.`, EXAMPLE)
  const { role, content } = message
  if (role === "system") throw configInvalid(`${at} has the role "system".`, "Pass these instructions as `system`.")
  if (!isRole(role)) {
    const given = role === undefined ? "no role" : `the role ${JSON.stringify(role)}`
    throw configInvalid(`${at} has ${given}.`, 'Give it the role "user", "assistant" or "tool".')
  }
  if (typeof content === "string" && role !== "tool") {
    checkArgument(at, message, givenMessage)
    return { role, content: [{ type: "text", text: content }] }
  }
  if (!Array.isArray(content)) throw configInvalid(`${at}.content is ${kindOf(content)}, not text or parts.`, EXAMPLE)
  const unknown = content.findIndex((part) => !partTypes[role].includes(part?.type))
  if (unknown !== -1) {
    const known = partTypes[role].join(", ")
    throw configInvalid(
      `${at}.content[${unknown}] is not a valid part of a message with role "${role}".`,
      `Use: ${known}.`,
    )
  }
  checkArgument(at, message, givenMessage)
  // Safe: the role is known, and so is the type of each part. The same object: providers cache by identity.
  return message as unknown as Message
}

function isRole(role: unknown): role is Message["role"] {
  return role === "user" || role === "assistant" || role === "tool"
}

const EXAMPLE = 'Write it as { role: "user", content: "…" }.'

const partTypes: Readonly<Record<Message["role"], readonly string[]>> = {
  user: ["text", "image", "file"] satisfies UserMessage["content"][number]["type"][],
  assistant: ["text", "reasoning", "tool-call"] satisfies AssistantMessage["content"][number]["type"][],
  tool: ["tool-result"],
}
