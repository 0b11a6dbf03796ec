export type ApiMethod = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE"

export const methods: readonly ApiMethod[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
