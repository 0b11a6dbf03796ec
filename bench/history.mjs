import { toolUseId } from "./frames.mjs"
import { stepResult, task, taskMark, turnText } from "./script.mjs"

const modelMark = /"model"\s*:\s*"([^"]+)"/
const resultMark = /^"tool_use_id"\s*:\s*"([^"]+)"/

/**
 * What a request says of itself at its two ends: its run and model, and the call that its last result is of. The server must
 * not take longer as requests get longer, or clients would be billed for the wait.
 */
export function glance(chunks) {
  const [first, last] = [front(chunks), back(chunks)]
  const mark = first.indexOf(taskMark)
  const id = mark === -1 ? undefined : /^[^;]+/.exec(first.slice(mark + taskMark.length))?.[0]
  const model = modelMark.exec(first) ?? modelMark.exec(last)
  const result = resultMark.exec(last.slice(Math.max(0, last.lastIndexOf('"tool_use_id"'))))
  return { id, model: model?.[1], lastResult: result?.[1] }
}

function front(chunks) {
  let bytes = chunks[0]
  for (let next = 1; bytes.length < GLANCE && next < chunks.length; next++) bytes = Buffer.concat([bytes, chunks[next]])
  return bytes.toString("latin1", 0, GLANCE)
}

function back(chunks) {
  let bytes = chunks.at(-1)
  for (let next = chunks.length - 2; bytes.length < GLANCE && next >= 0; next--)
    bytes = Buffer.concat([chunks[next], bytes])
  return bytes.toString("latin1", Math.max(0, bytes.length - GLANCE))
}

/** More than system, tools and the first message take, or the last two messages. */
const GLANCE = 4096

/** Checks the whole history against the script: undefined if it is right, else the first difference. */
export function historyFault(body, id, script) {
  const { messages } = JSON.parse(body)
  const calls = script.turns - 1
  if (messages.length !== 1 + 2 * calls) return `${messages.length} messages, expected ${1 + 2 * calls}`
  if (plainText(messages[0].content) !== task(id)) return "the task is not the first message"
  const said = turnText(script.deltas)
  for (let n = 0; n < calls; n++) {
    const assistant = messages[1 + 2 * n]
    const user = messages[2 + 2 * n]
    const [text, use] = assistant.content
    if (assistant.role !== "assistant" || assistant.content.length !== 2) return `turn ${n}: not one text and one call`
    if (text.type !== "text" || text.text !== said) return `turn ${n}: the text differs from the messages`
    if (use.type !== "tool_use" || use.name !== "step" || use.id !== toolUseId(n) || use.input.n !== n)
      return `turn ${n}: the call differs from the one that was made`
    const [result] = user.content
    if (user.role !== "user" || user.content.length !== 1) return `turn ${n}: not one result`
    if (result.type !== "tool_result" || result.tool_use_id !== use.id || result.is_error)
      return `turn ${n}: the result does not belong to the call`
    if (plainText(result.content) !== stepResult(id, n)) return `turn ${n}: wrong result`
  }
  return undefined
}

const plainText = (content) => (typeof content === "string" ? content : content.map((part) => part.text).join(""))
