import type { GuardedFetch } from "../../contract/env.ts"
import { LonghaulError } from "../../contract/error.ts"
import { ToolError } from "../../contract/tool.ts"
import { credentialsOf } from "../../lib/http/credentials.ts"
import { allowedHosts } from "../../lib/http/target-host.ts"
import { textsByName } from "../../lib/schema/contract-shapes.ts"
import { recordOf, required, type Shape, shapeOf } from "../../lib/schema/shape.ts"
import { oneLine } from "../../lib/text/data-fence.ts"
import { decoded } from "./discover.ts"
import { splitSkill } from "./frontmatter.ts"
import { MAX_DESCRIPTION_LENGTH, MAX_SKILL_NAME_LENGTH, MAX_TEXT_LENGTH, type Skill } from "./skill.ts"

/** A skill that the host gives. It has a `body` or a `url`. */
export interface GivenSkill {
  readonly name: string
  readonly description: string
  readonly body?: string
  /** Where the body is. It is fetched when the model asks for it, once per run. */
  readonly url?: string
  /** Sent to the origin of `url` only. Never recorded, and masked wherever they appear. */
  readonly headers?: Readonly<Record<string, string>>
  /** Texts, or their URLs, by path: `pages/errors.md`. */
  readonly pages?: Readonly<Record<string, string | { readonly url: string }>>
}

/** Throws `config_invalid` before anything is fetched. */
export function checkGiven(skills: readonly GivenSkill[], hosts: readonly string[] | undefined): void {
  const isAllowed = hosts && allowedHosts(hosts)
  for (const [index, skill] of skills.entries()) {
    const where = `skills[${index}]`
    checkText(`${where}.name`, skill.name, MAX_SKILL_NAME_LENGTH)
    checkText(`${where}.description`, skill.description, MAX_DESCRIPTION_LENGTH)
    if ((skill.body === undefined) === (skill.url === undefined)) {
      throw invalidSkill(
        `${where} has ${skill.body === undefined ? "neither" : "both"} body and url`,
        "Give one of them.",
      )
    }
    if (skill.headers && skill.url === undefined)
      throw invalidSkill(`${where} has headers without a url`, "Remove them.")
    if (skills.findIndex(({ name }) => name === skill.name) !== index) {
      throw invalidSkill(`Two skills have the name ${skill.name}`, "Give one of them another name.")
    }
    for (const path of Object.keys(skill.pages ?? {})) {
      if (!isPagePath(path))
        throw invalidSkill(`${where}.pages has the path ${JSON.stringify(path)}`, "Use names and slashes.")
    }
    for (const url of urlsOf(skill)) checkUrl(where, url, isAllowed)
  }
}

/** A relative path that stays below its folder. */
export function isPagePath(path: string): boolean {
  return !/[\\\p{Cc}]/u.test(path) && path.split("/").every((name) => name !== "" && name !== "." && name !== "..")
}

export function givenCredentials(skills: readonly GivenSkill[]): Readonly<Record<string, string>> {
  const all = skills.flatMap((skill) =>
    urlsOf(skill).flatMap((url, index) =>
      Object.entries(credentialsOf(url, skill.headers ?? {})).map(([name, value]) => [
        `${skill.name}/${index === 0 ? "" : `${index}/`}${name}`,
        value,
      ]),
    ),
  )
  return Object.fromEntries(all)
}

/** The given skills of one run: each URL is fetched once. */
export function givenSkills(
  skills: readonly GivenSkill[],
  hosts: readonly string[] | undefined,
  web: GuardedFetch | undefined,
): readonly Skill[] {
  const fetched = new Map<string, Promise<string>>()
  const fetchOnce = (url: string, headers: Readonly<Record<string, string>>, signal: AbortSignal) => {
    const known = fetched.get(url)
    if (known) return known
    const text = fetchText(web, url, headers, allowedHosts(hosts ?? [hostOf(url)]), signal)
    fetched.set(url, text)
    // A failed attempt is not the text of the skill: the model may ask again.
    text.catch(() => fetched.delete(url))
    return text
  }
  return skills.map((skill) => {
    const { name, description, body, url, headers = {}, pages = {} } = skill
    const origin = url === undefined ? undefined : new URL(url).origin
    const ownHeaders = (target: string) => (new URL(target).origin === origin ? headers : {})
    return {
      name: oneLine(name),
      description: oneLine(description),
      source: origin === undefined ? "given by the host" : `${origin}${new URL(url ?? "").pathname}`,
      body: async (signal) => splitSkill(url === undefined ? (body ?? "") : await fetchOnce(url, headers, signal)).body,
      pages: async () => Object.keys(pages),
      page: async (path, signal) => {
        const page = Object.hasOwn(pages, path) ? pages[path] : undefined
        if (page === undefined) throw new ToolError("not_found", `The skill ${name} has no page ${path}.`)
        return typeof page === "string" ? page : fetchOnce(page.url, ownHeaders(page.url), signal)
      },
    }
  })
}

async function fetchText(
  web: GuardedFetch | undefined,
  url: string,
  headers: Readonly<Record<string, string>>,
  isAllowed: (url: URL) => boolean,
  signal: AbortSignal,
): Promise<string> {
  if (web === undefined) throw new ToolError("io", "The skill is on the web, which is not available here.")
  const { status, bytes, truncated } = await web.get(url, {
    signal,
    headers,
    maxBytes: MAX_TEXT_LENGTH,
    timeoutMs: FETCH_MS,
    admit: async (target) => {
      if (!isAllowed(new URL(target))) {
        throw new ToolError("denied", `The skill's address redirects to ${new URL(target).host}, which is not allowed.`)
      }
    },
  })
  if (status !== 200) throw new ToolError("io", `The skill could not be fetched: status ${status}.`)
  if (truncated) throw new ToolError("io", `The skill is longer than ${MAX_TEXT_LENGTH} bytes.`)
  return decoded(bytes, "The skill")
}

function urlsOf({ url, pages = {} }: GivenSkill): readonly string[] {
  const others = Object.values(pages).flatMap((page) => (typeof page === "string" ? [] : [page.url]))
  return [...(url === undefined ? [] : [url]), ...others]
}

function checkUrl(where: string, text: string, isAllowed: ((url: URL) => boolean) | undefined): void {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") {
    throw invalidSkill(`${where} has an invalid url`, "Use an http or https address without a user or password.")
  }
  if (isAllowed && !isAllowed(url)) {
    throw invalidSkill(
      `${where} is at ${url.host}, which is not one of allowedHosts`,
      "Add the host, or remove the skill.",
    )
  }
}

function hostOf(url: string): string {
  return new URL(url).host
}

function checkText(where: string, value: unknown, longest: number): void {
  if (typeof value === "string" && oneLine(value) !== "" && value.length <= longest) return
  throw invalidSkill(`${where} is not a text of 1 to ${longest} characters`, "Correct it.")
}

function invalidSkill(message: string, fix: string): LonghaulError {
  return new LonghaulError("config_invalid", `${message}.`, { fix })
}

export const skillShape: Shape<GivenSkill> = {
  name: required("text"),
  description: required("text"),
  body: "text",
  url: "text",
  headers: textsByName,
  pages: recordOf(["text", shapeOf<{ readonly url: string }>({ url: required("text") })]),
}
const FETCH_MS = 30_000
