import { expect, test } from "vitest"
import { native } from "../../backends/native/index.ts"
import { createRuntime } from "../../index.ts"
import { memoryStore } from "../../stores/memory.ts"
import { resolveConfig } from "../config.ts"
import { callDigest } from "./decide.ts"

test("a decision is valid for one tool, its arguments, the folder, and the way in which they are known", () => {
  const config = resolveConfig({}, { store: memoryStore, backend: native, again: createRuntime })
  const digests = ["Bash", "Edit"].flatMap((name) =>
    [{ to: "Ada" }, { to: "Eve" }].flatMap((args) =>
      ["/a", "/b"].flatMap((cwd) =>
        [true, undefined].map((inexact) => callDigest(config, { name, args, ...(inexact && { inexact }) }, cwd)),
      ),
    ),
  )
  expect(new Set(digests).size).toBe(16)
})
