/**
 * Checks that may be removed without a test failing, each with the reason:
 * - equivalent: what comes after it does the same, only slower or with more steps;
 * - logged: only a text for people changes;
 * - second: another check refuses the same; `path.test.ts "name"` is the test that covers both.
 */
export const survivors = [
  {
    file: "src/journal/published.ts",
    check: 'if (record.type !== "tool-question") return record',
    reason: "equivalent: no other record has `state`, so that leaving it out copies the record as it is",
  },
  {
    file: "src/journal/row.ts",
    check: "if (base === null) return own",
    reason: "equivalent: without a base the loop below is not entered, and the only part is the head's own records",
  },
  {
    file: "src/backends/acp/tools.ts",
    check: "if (native === undefined) return undefined",
    reason: "equivalent: the names that `serverTool` returns never include undefined, so that no tool is found",
  },
  {
    file: "src/backends/acp/run.ts",
    check: "if (event === undefined) return",
    reason: "equivalent: the queue of the recording drops the error of reading an update that means nothing",
  },
  {
    file: "src/journal/inbox.ts",
    check: "if (folder.append && !(await folder.exists(name))) return null",
    reason: "equivalent: reading a file that is not there gives null, too, only slower",
  },
]
