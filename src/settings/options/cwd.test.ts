import { expect, test } from "vitest"
import { recordedCwd, workingDirectory } from "./cwd.ts"

test.each([
  ["/project", "/project", "."],
  ["/project", "/project/notes", "notes"],
  ["/project", "/project/notes/old", "notes/old"],
  ["/project/", "/project/notes", "notes"],
  ["/", "/etc", "etc"],
  ["/project", "/projects", "/projects"],
  ["/project", "/elsewhere", "/elsewhere"],
  [".", ".", "."],
  [".", "notes", "notes"],
  ["C:\\project", "C:\\project\\notes", "notes"],
])("in the workspace %s the working directory %s is recorded as %s and found again", (workspace, cwd, recorded) => {
  expect(recordedCwd(workspace, cwd)).toBe(recorded)
  const found = workingDirectory(workspace, recorded)
  expect(found.replace("C:\\project/", "C:\\project\\").replace(/^\/project\/$/, "/project")).toBe(cwd)
})

test("a relative working directory is found in a workspace at another path", () => {
  expect(workingDirectory("/elsewhere", recordedCwd("/project", "/project/notes"))).toBe("/elsewhere/notes")
})
