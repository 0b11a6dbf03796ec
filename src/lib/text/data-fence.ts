import { hiddenCharacters } from "./hidden-characters.ts"

/** Characters that people do not see must not reach the model either. */
export function visibleText(text: string): string {
  return text.replace(hiddenCharacters, "")
}

/** A text of unknown origin between two tags. It cannot end the fence itself, and hides nothing from people. */
export function fencedData(tag: string, text: string): string {
  return `<${tag}>\n${withoutTags(tag, visibleText(text)).trim()}\n</${tag}>`
}

/** A text that begins and ends none of these tags, in whatever spelling. `tags`: the source of a pattern. */
export function withoutTags(tags: string, text: string): string {
  return text.replace(new RegExp(`<(?=[\\s/]{0,20}(?:${tags}))`, "gi"), "&lt;")
}

/** On one line, so that a name or a description cannot pass for a line of the host. */
export function oneLine(text: string): string {
  return visibleText(text).replace(/\s+/g, " ").trim()
}
