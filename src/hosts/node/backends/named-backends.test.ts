import { expect, test } from "vitest"
import type { BackendEnv, ProgramSpec } from "../../../contract/backend-env.ts"
import { LonghaulError } from "../../../contract/error.ts"
import { namedBackends } from "./named-backends.ts"

test.each(namedBackends.names)("a probe of %s starts no program in the folder of this process", async (name) => {
  const started: ProgramSpec[] = []
  // Safe: a probe uses nothing else of the host before its program runs.
  const env = {
    deadlines: { openMs: 1000, replyMs: 1000, stopMs: 1000 },
    async spawn(program: ProgramSpec) {
      started.push(program)
      throw new LonghaulError("backend_missing", "There is no program.")
    },
  } as Partial<BackendEnv> as BackendEnv
  const probe = await (await namedBackends.create(name))?.probe(env)
  expect(probe).toMatchObject({ found: false })
  // The Claude SDK and Pi are packages.
  if (name !== "claude-sdk" && name !== "pi") expect(started).not.toEqual([])
  expect(started.filter(({ cwd }) => cwd !== "/")).toEqual([])
})
