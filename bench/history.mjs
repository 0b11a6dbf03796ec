import { toolUseId } from "./frames.mjs"
import { stepResult, task, taskMark, turnText } from "./script.mjs"

const resultMark = Buffer.from('"tool_result"')
const useMark = Buffer.from('"tool_use"')
const modelMark = /"model"\s*:\s*"([^"]+)"/

/** What a request says of itself at a glance: a scan of its bytes, no parse, so the server stays fast at 400 turns. */
export function glance(body) {
  const mark = body.indexOf(taskMark)
  const id = mark === -1 ? undefined : /^[^;]+/.exec(body.toString("latin1", mark + taskMark.length, mark + 200))?.[0]
  // The model may stand before or after the messages.
  const model = modelMark.exec(body.toString("latin1", 0, 400)) ?? modelMark.exec(body.toString("latin1"))
  return { id, model: model?.[1], results: count(body, resultMark), uses: count(body, useMark) }
}

/** The whole history against the script: undefined where it is exactly right, else the first thing that is wrong. */
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
    if (text.type !== "text" || text.text !== said) return `turn ${n}: the text differs from what was said`
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

function count(body, mark) {
  let found = 0
  for (let at = body.indexOf(mark); at !== -1; at = body.indexOf(mark, at + mark.length)) found++
  return found
}
