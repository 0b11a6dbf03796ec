import { mutations as aborts } from "./aborts.mjs"
import { mutations as agents } from "./agents.mjs"
import { mutations as approvals } from "./approvals.mjs"
import { mutations as backends } from "./backends.mjs"
import { mutations as compaction } from "./compaction.mjs"
import { mutations as config } from "./config.mjs"
import { mutations as confinement } from "./confinement.mjs"
import { mutations as effects } from "./effects.mjs"
import { mutations as extensions } from "./extensions.mjs"
import { mutations as gates } from "./gates.mjs"
import { mutations as hostile } from "./hostile.mjs"
import { mutations as journal } from "./journal.mjs"
import { mutations as mcp } from "./mcp.mjs"
import { mutations as money } from "./money.mjs"
import { mutations as offload } from "./offload.mjs"
import { mutations as ownership } from "./ownership.mjs"
import { mutations as policy } from "./policy.mjs"
import { mutations as policyLines } from "./policy-lines.mjs"
import { mutations as policyPaths } from "./policy-paths.mjs"
import { mutations as questions } from "./questions.mjs"
import { mutations as results } from "./results.mjs"
import { mutations as runs } from "./runs.mjs"
import { mutations as secrets } from "./secrets.mjs"
import { mutations as shapes } from "./shapes.mjs"
import { mutations as tenants } from "./tenants.mjs"

export const mutations = [
  ...journal,
  ...money,
  ...effects,
  ...aborts,
  ...ownership,
  ...backends,
  ...gates,
  ...confinement,
  ...config,
  ...policy,
  ...policyLines,
  ...policyPaths,
  ...approvals,
  ...results,
  ...offload,
  ...secrets,
  ...agents,
  ...compaction,
  ...questions,
  ...mcp,
  ...extensions,
  ...tenants,
  ...shapes,
  ...hostile,
  ...runs,
]
