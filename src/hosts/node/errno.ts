/** The code of a failed system call, as "ENOENT". */
export function errnoOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown error"
}
