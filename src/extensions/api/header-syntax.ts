import { LonghaulError } from "../../contract/error.ts"

export function isHeaderName(name: string): boolean {
  return /^[!#$%&'*+\-.^_`|~\dA-Za-z]{1,128}$/.test(name)
}

/** One line of Latin characters: anything else is rejected by `fetch` with an error that quotes the value. */
export function isHeaderValue(value: unknown): value is string {
  return typeof value === "string" && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
}

/** Servers that pass headers on as variables read `_` and `-` alike. */
export function comparedName(name: string): string {
  return name.toLowerCase().replaceAll("_", "-")
}

export function checkedHeaderName(where: string, name: string): void {
  if (typeof name === "string" && isHeaderName(name)) return
  throw new LonghaulError("config_invalid", `${where} names a header that cannot be sent.`, {
    fix: "Use letters, digits and `-`.",
  })
}
