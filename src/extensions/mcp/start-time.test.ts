import { expect, test } from "vitest"
import { startMs } from "./start-time.ts"

test("a server gets a minute to start, and ten if its command may have to install it first", () => {
  const programs = ["npx", "/usr/bin/npx", "C:\\nodejs\\npx.cmd", "uvx", "docker", "node", "./npx-like", "npxx"]
  const given = programs.map((command) => startMs({ command }))
  expect(given).toEqual([600_000, 600_000, 600_000, 600_000, 600_000, 60_000, 60_000, 60_000])
  expect(startMs({ url: "https://mcp.example/npx" })).toBe(60_000)
})
