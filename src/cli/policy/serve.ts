import { open } from "node:fs/promises"
import { homedir } from "node:os"
import { resolve } from "node:path"
import { LonghaulError } from "../../contract/error.ts"
import { serve } from "../../hosts/node/http/serve.ts"
import { isLoopback } from "../../hosts/node/mcp/guard.ts"
import { loadPolicyFile } from "../../hosts/node/policy/load-policy.ts"
import { newNonce } from "../../lib/id.ts"
import { compileRules } from "../../policy/rules/compile-rules.ts"
import type { AuditRecord } from "../../policy/service/server/audit.ts"
import { policyServer } from "../../policy/service/server/handler.ts"
import { numberOption, onlyPositional } from "../arguments.ts"
import { aborted, givenToken, listening, stopSignal } from "../serving.ts"
import type { Subcommand } from "./subcommand.ts"

const keyName = "LONGHAUL_POLICY_API_KEY"

export const subcommand: Subcommand = {
  async run(argument, values, output) {
    const file = onlyPositional("policy serve", "file", argument === undefined ? [] : [argument])
    const port = numberOption("port", values.port, { from: 0, to: 65_535, whole: true }) ?? 0
    const { host = "127.0.0.1" } = values
    const { sources } = await loadPolicyFile(file, { tools: values.tool ?? [] })
    const rules = await compileRules(sources, { homeFolder: homedir() })
    const given = givenToken(keyName)
    const key = given ?? newNonce()
    const auditFile = resolve(values.audit ?? "policy-audit.jsonl")
    const log = await openLog(auditFile)
    const stop = stopSignal()
    const handler = policyServer({ rules, keys: { apiKeys: { default: key } }, audit: log.append })
    const served = await listening(host, port, () => serve(handler, { host, port }))
    // A key from the environment is already known to the user and must not reach a log.
    const shown = given === undefined ? key : undefined
    if (values.json) output.printJson({ type: "serving", url: served.url, apiKey: shown, file, audit: auditFile })
    else {
      output.print(`Policy service at ${served.url}, for ${file}. Press Ctrl-C to stop. Clients need:`)
      output.print(`  export LONGHAUL_POLICY_BASE_URL=${served.url}`)
      output.print(`  export ${keyName}=${shown ?? "<its value here>"}`)
      if (isLoopback(host)) output.print("  export LONGHAUL_POLICY_ALLOW_INSECURE_TRANSPORT=1")
      output.print(`Every decision is appended to ${auditFile}.`)
    }
    if (!isLoopback(host)) {
      output.complain("This address is reachable from other machines: put a TLS proxy in front.")
    }
    await aborted(stop.signal)
    await served.close()
    await log.close()
    return 0
  },
}

/** Lines are written one after another, and are on disk before `append` returns. */
async function openLog(path: string) {
  const file = await open(path, "a", 0o600).catch((cause: unknown) => {
    throw new LonghaulError("config_invalid", `The audit log ${path} cannot be written.`, {
      cause,
      fix: "Name another file with --audit.",
    })
  })
  let last: Promise<void> = Promise.resolve()
  return {
    append(record: AuditRecord): Promise<void> {
      const write = async () => {
        await file.appendFile(`${JSON.stringify(record)}\n`)
        await file.datasync()
      }
      const written = last.then(write)
      last = written.catch(() => {})
      return written
    },
    async close() {
      await last
      await file.close()
    },
  }
}
