import { fiftyRules } from "./fifty-rules.mjs"
import { open as openOurs } from "./ours.mjs"

const secrets = Object.fromEntries(
  Array.from({ length: 5 }, (_, index) => [`SECRET_${index}`, `value-of-secret-${index}`]),
)

/** The same runtime with a policy that decides every call, and with secrets to redact. @param {import("./floor.mjs").Setup} setup */
export const open = (setup) =>
  openOurs(setup, { secrets, policy: { default: "ask", rules: [...fiftyRules(), { allow: { tool: "step" } }] } })
