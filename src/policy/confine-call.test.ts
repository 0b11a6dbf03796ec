import { expect, test } from "vitest"
import { policyCall } from "../../test/support/policy-scene.ts"
import { outsideWorkspace } from "./confine-call.ts"

const read = (path: string) => policyCall("Read", { file_path: path })

test("a vendor's file tool is refused where one of its paths cannot be read from its arguments", async () => {
  const unreadable = { ...read("a.txt"), uses: () => ({ read: [undefined] }) }
  expect(await outsideWorkspace(unreadable)).toBe("one of its paths cannot be read")
})

test("a vendor's file tool is refused where one of its paths cannot be resolved", async () => {
  const resolvePath = async (path: string) => {
    if (path.endsWith("loop")) throw new Error("ELOOP")
    return path
  }
  expect(await outsideWorkspace(read("loop"), resolvePath)).toBe("loop cannot be resolved")
  expect(await outsideWorkspace(read("a.txt"), resolvePath)).toBeUndefined()
})
