import { expect, test } from "vitest"
import { acp } from "../../../backends/acp/index.ts"
import type { BackendEnv, ProgramSpec } from "../../../contract/backend-env.ts"
import type { Told } from "../../../contract/capabilities.ts"
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

const told: Readonly<Record<string, readonly Told[]>> = {
  "claude-sdk": ["subagents", "compaction"],
  "claude-cli": ["subagents", "compaction"],
  codex: ["subagents", "compaction"],
  "acp:gemini": ["subagents"],
  "acp:copilot": [],
  "acp:opencode": ["subagents"],
  "acp:cursor": [],
  pi: ["subagents", "compaction"],
}

test.each(namedBackends.names)("%s says that it reports what it does, and nothing else", async (name) => {
  const { capabilities } = (await namedBackends.create(name)) ?? expect.fail("There is no such backend")
  expect(capabilities.tells).toEqual(told[name])
})

test("an agent that only its command names says that it reports neither its agents nor its compactions", () => {
  expect(acp({ name: "other", command: "other" }).capabilities.tells).toEqual([])
})
