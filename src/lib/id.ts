import { LonghaulError } from "../contract/error.ts"

const shape = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

export function isId(id: string): boolean {
  return shape.test(id)
}

/** Ids become names in a store: an id that could escape its workspace is rejected. */
export function checkedId(what: "runId" | "nodeId" | "workspaceId" | "agent", id: string): string {
  if (typeof id === "string" && isId(id)) return id
  throw new LonghaulError("config_invalid", `${what} ${JSON.stringify(String(id).slice(0, 80))} is not a valid id.`, {
    fix: `Use 1 to 64 letters, digits, "_" and "-" for ${what}, starting with a letter or digit.`,
  })
}

export function newRunId(): string {
  return `run_${crypto.randomUUID()}`
}

/** 128 random bits as hex: distinguishes the bytes of different writers. */
export function newNonce(): string {
  return crypto.randomUUID().replaceAll("-", "")
}
