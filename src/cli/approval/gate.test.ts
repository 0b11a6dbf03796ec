import { expect, test } from "vitest"
import { guardMetadata, guardOf, recordedGuard } from "./gate.ts"

const recorded = (policy: string) => recordedGuard(guardMetadata(guardOf({ policy })))

test("a resumed run keeps the policy file that it began under", () => {
  expect(guardOf({}, recorded("/etc/longhaul.policy.yaml"))).toMatchObject({ policy: "/etc/longhaul.policy.yaml" })
})

test.each(["/w/support.yaml", "/w/longhaul.policy.js", "/w/policy.json"])(
  "a recorded policy file %s is not used again unless it is named: tools may have changed it",
  (policy) => {
    expect(() => guardOf({}, recorded(policy))).toThrow("may have changed since")
    expect(guardOf({ policy }, recorded(policy))).toMatchObject({ policy })
  },
)
