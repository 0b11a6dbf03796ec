import { mkdtemp, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { runScript } from "./processes.mjs"
import { defaultSubjects } from "./scenarios.mjs"

const timeoutMs = 120_000

/**
 * One measurement for all its subjects: a fresh process each, interleaved, starting with another subject each time.
 * Resolves with the samples of each subject and the failures.
 */
export async function measure(measurement, { server, root, reps, available, progress }) {
  const subjects = (measurement.subjects ?? defaultSubjects).filter((subject) => available.includes(subject))
  const samples = Object.fromEntries(subjects.map((subject) => [subject, []]))
  const failures = []
  for (let rep = 0; rep < reps; rep++) {
    for (let index = 0; index < subjects.length; index++) {
      const subject = subjects[(rep + index) % subjects.length]
      progress(`${rep + 1}/${reps} ${subject}`)
      try {
        samples[subject].push(await sample(subject, measurement, server, root))
      } catch (error) {
        failures.push(`${subject}: ${error.message}`)
      }
    }
  }
  return { samples, failures }
}

/** Its folder stays until the benchmark ends: ext4 is slow to create files where many were just deleted. */
async function sample(subject, measurement, server, root) {
  const dir = await mkdtemp(join(root, `${subject}-`))
  const baseUrl = measurement.tls ? server.secureUrl : server.baseUrl
  const argument = JSON.stringify({ subject, measurement, baseUrl, dir })
  const env = measurement.tls ? await trusting(server.authority, dir) : {}
  const [child] = await Promise.allSettled([runScript("child.mjs", argument, timeoutMs, env)])
  const seen = await server.takeCounts()
  if (seen.faults.length > 0) throw new Error(`the server refused ${seen.faults[0]}\n${child.reason?.message ?? ""}`)
  if (child.status === "rejected") throw child.reason
  const { runs, requests } = child.value.checks
  if (seen.runs !== runs || seen.requests !== requests)
    throw new Error(`the server saw ${seen.requests} requests of ${seen.runs} runs, not ${requests} of ${runs}`)
  return child.value
}

async function trusting(authority, dir) {
  const path = join(dir, "authority.pem")
  await writeFile(path, authority)
  return { NODE_EXTRA_CA_CERTS: path }
}

/** The samples of each target, imported in fresh processes. */
export async function measureImport(targets, { reps, progress }) {
  const samples = Object.fromEntries(targets.map((target) => [target, []]))
  for (let rep = 0; rep < reps; rep++) {
    for (const target of targets) {
      progress(`${rep + 1}/${reps} ${target}`)
      samples[target].push(await runScript("import-child.mjs", target, 20_000))
    }
  }
  return samples
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
