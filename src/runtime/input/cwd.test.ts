import { expect, test } from "vitest"
import { recordedCwd, workingDirectory } from "./cwd.ts"

test.each([
  ["/work", "/work", "."],
  ["/work", "/work/notes", "notes"],
  ["/work", "/work/notes/old", "notes/old"],
  ["/work/", "/work/notes", "notes"],
  ["/", "/etc", "etc"],
  ["/work", "/workshop", "/workshop"],
  ["/work", "/elsewhere", "/elsewhere"],
  [".", ".", "."],
  [".", "notes", "notes"],
  ["C:\\work", "C:\\work\\notes", "notes"],
])("in the workspace %s the working directory %s is recorded as %s and found again", (workspace, cwd, recorded) => {
  expect(recordedCwd(workspace, cwd)).toBe(recorded)
  const found = workingDirectory(workspace, recorded)
  expect(found.replace("C:\\work/", "C:\\work\\").replace(/^\/work\/$/, "/work")).toBe(cwd)
})

test("a relative working directory is found in a workspace at another path", () => {
  expect(workingDirectory("/elsewhere", recordedCwd("/work", "/work/notes"))).toBe("/elsewhere/notes")
})
