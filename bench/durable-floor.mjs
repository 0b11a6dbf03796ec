import { open as openFile } from "node:fs/promises"
import { join } from "node:path"
import { loop } from "./floor.mjs"

/**
 * The durable floor: the same loop, and each message is a JSONL line on the disk before the loop continues.
 *
 * @param {import("./floor.mjs").Setup} setup
 * @returns {import("./floor.mjs").Subject}
 */
export function open(setup) {
  return {
    async run(run) {
      const file = await openFile(join(setup.dir, `${run.id}.jsonl`), "ax")
      try {
        return await loop(setup, run, async (message) => {
          await file.appendFile(`${JSON.stringify(message)}\n`)
          await file.datasync()
        })
      } finally {
        await file.close()
      }
    },
    close: async () => {},
  }
}
