import { LonghaulError } from "../../contract/error.ts"
import { ToolError } from "../../contract/tool.ts"

/** A place in the knowledge of a workspace. */
export type KnowledgeRef =
  | { readonly kind: "file"; readonly base: string; readonly path: string; readonly slug?: string }
  | { readonly kind: "external"; readonly name: string; readonly slug?: string }

export const INDEX_NAME = "_index.json"

/** Reads `base/file.md`, `base/file.md#section` or `ext:name`. Anything else is `invalid_input`. */
export function parseRef(ref: string): KnowledgeRef {
  const [, place = "", , slug] = /^([^#]*)(#(.*))?$/s.exec(ref) ?? []
  const isSlug = slug === undefined || (slug.length <= MAX_SLUG_LENGTH && isPlainSlug(slug))
  const section = slug === undefined ? {} : { slug }
  if (place.startsWith("ext:")) {
    const name = place.slice("ext:".length)
    if (isSlug && isExternalName(name)) return { kind: "external", name, ...section }
  } else if (isSlug && isSafePath(place)) {
    const [base = "", ...rest] = place.split("/")
    const path = rest.join("/")
    if (path !== "" && rest.at(-1) !== INDEX_NAME) return { kind: "file", base, path, ...section }
  }
  throw new ToolError(
    "invalid_input",
    `${shownRef(ref)} is not a reference. Use one as SearchKnowledge returns it, such as base/file.md#section.`,
  )
}

/** The text of an invalid reference for a message: short, and without characters that hide something. */
export function shownRef(ref: string): string {
  return JSON.stringify(ref.slice(0, MAX_SHOWN_LENGTH).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "?"))
}

/**
 * True for names separated by slashes that mean the same on every store: no absolute path, no `..`, no hidden file, no character that
 * a file system, a shell or a URL reads in another way.
 */
function isSafePath(path: string): boolean {
  return path.length <= MAX_PATH_LENGTH && path.split("/").every((part) => isSafeName(part))
}

export function isSafeName(name: string): boolean {
  return name.length <= MAX_NAME_LENGTH && safeName.test(name) && !name.includes("..")
}

const safeName = /^[\p{L}\p{N}_](?:[\p{L}\p{M}\p{N} ._()+,&'@=!-]*[\p{L}\p{M}\p{N}_)!+-])?$/u

export function isExternalName(name: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name)
}

/** A folder that the host names: a base, or a folder in one. */
export function checkedFolder(what: string, path: unknown): string {
  if (typeof path === "string" && isSafePath(path)) return path
  const shown = typeof path === "string" ? shownRef(path) : `a ${typeof path}`
  throw new LonghaulError("config_invalid", `${what} is ${shown}, which is not a folder of knowledge.`, {
    fix: "Use the name of a base, or of a folder in it, such as handbook or handbook/policies.",
  })
}

/** The name of a base, as a host writes it. */
export function checkedBase(base: string): string {
  if (isSafeName(base)) return base
  throw new LonghaulError("config_invalid", `${shownRef(base)} is not the name of a knowledge base.`, {
    fix: "Use letters, digits, spaces, dots, hyphens and underscores, starting with a letter or a digit.",
  })
}

/** A heading as part of a reference: lower case, words joined by hyphens. */
export function slugOf(heading: string): string {
  const slug = heading
    .normalize("NFC")
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}_\s-]/gu, "")
    .trim()
    .replace(/[\s-]+/g, "-")
  return [...slug].slice(0, MAX_HEADING_LENGTH).join("") || "section"
}

/** Distinguishes equal slugs of one file: `-2`, `-3`. */
export function uniqueSlugs(): (heading: string) => string {
  const used = new Set<string>()
  const counts = new Map<string, number>()
  return (heading) => {
    const slug = slugOf(heading)
    let count = counts.get(slug) ?? 0
    let unique = slug
    do unique = ++count === 1 ? slug : `${slug}-${count}`
    while (used.has(unique))
    counts.set(slug, count)
    used.add(unique)
    return unique
  }
}

function isPlainSlug(slug: string): boolean {
  return /^[\p{L}\p{M}\p{N}_-]+$/u.test(slug)
}

const MAX_PATH_LENGTH = 500
const MAX_NAME_LENGTH = 200
const MAX_HEADING_LENGTH = 80
const MAX_SLUG_LENGTH = 200
const MAX_SHOWN_LENGTH = 100
