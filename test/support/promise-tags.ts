import { promises } from "../promises.ts"

/** The promise that a test proves is a tag of the test: `npx vitest run --tags-filter=BK-02` runs the tests of one promise. */
export const promiseTags = promises.map(({ id, text }) => ({ name: id, description: text }))
