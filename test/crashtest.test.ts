import { mkdtempSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { afterAll, beforeAll, expect, test } from "vitest"
import { type CampaignOptions, type CampaignReport, runCampaign } from "../src/cli/crashtest/campaign.ts"
import { allCrashes as all, damageOf, noDamage, program, timeout } from "./support/campaign.ts"
import { removeFolder } from "./support/remove-folder.ts"
import { startS3 } from "./support/s3-server.ts"

const repository = fileURLToPath(new URL("..", import.meta.url))
const saboteur = "saboteur.mjs"

let scratch: string
beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), "longhaul-crashtest-"))
  // Its imports resolve as if it were in the repository.
  symlinkSync(join(repository, "node_modules"), join(scratch, "node_modules"))
  const entryPoints = [join(repository, "test/crashtest/saboteur.ts")]
  const outfile = join(scratch, saboteur)
  await build({ entryPoints, bundle: true, packages: "external", platform: "node", format: "esm", outfile })
})
afterAll(() => removeFolder(scratch))

function campaign(options: Pick<CampaignOptions, "kills"> & Partial<CampaignOptions>): Promise<CampaignReport> {
  return runCampaign({ program, store: "fs", folder: mkdtempSync(join(scratch, "campaign-")), seed: 1, ...options })
}

test("runs killed at any operation and time lose no record and repeat no effect", { timeout }, async () => {
  const report = await campaign(all ? { kills: 1000 } : { kills: 2, sample: 6 })
  expect(damageOf("crashtest", report)).toEqual(noDamage)
  expect(report.rows.map(({ kind }) => kind)).toEqual(["before", "torn", "after", "random"])
  // A slow run does a little more than a fast one: its last points are not in every run.
  expect(report.total.kills).toBeGreaterThanOrEqual(all ? 1000 : 6)
  // A few kills may all miss the moments between an intent and its result.
  if (all) expect(report.total.flagged).toBeGreaterThan(0)
})

test("runs killed on a create-only store lose no record and repeat no effect", { timeout }, async () => {
  const report = await campaign({ store: "create-only", ...(all ? { kills: 100 } : { kills: 1, sample: 2 }) })
  expect(damageOf("crashtest", report)).toEqual(noDamage)
  expect(report.rows.map(({ kind }) => kind)).toEqual(["before", "after", "random"])
})

test("runs killed on a bucket lose no record, repeat no effect and leave nothing behind", { timeout }, async () => {
  const server = await startS3()
  const { endpoint, accessKeyId, secretAccessKey } = server.options
  const keys = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_ENDPOINT_URL: endpoint }
  try {
    Object.assign(process.env, keys)
    const report = await campaign({ store: "s3://runs/crashes", ...(all ? { kills: 50 } : { kills: 0, sample: 1 }) })
    expect(damageOf("crashtest", report)).toEqual(noDamage)
    const [folder = ""] = await server.freshStore({ prefix: "crashes" }).list("")
    expect(folder).toBe("")
  } finally {
    for (const name of Object.keys(keys)) delete process.env[name]
    await server.close()
  }
})

test("control: without intents effects are repeated, and the crash test detects it", { timeout }, async () => {
  const report = await sabotaged("no-intents")
  expect(report.total.duplicated).toBeGreaterThan(0)
  expect(report.violations.join("\n")).toMatch(/had its effect in the processes \d+,\d+/)
  expect(report.total.lost).toBe(0)
  console.log(`without intents: ${report.total.duplicated} effects of ${report.total.runs} runs happened twice`)
})

test("control: records published before they are durable are lost, and the crash test detects it", {
  timeout,
}, async () => {
  const report = await sabotaged("early-acks")
  expect(report.total.lost).toBeGreaterThan(0)
  expect(report.violations.join("\n")).toMatch(/the acknowledged record \d+ of run (is missing|has changed)/)
  expect(report.total.duplicated).toBe(0)
  console.log(`told too early: ${report.total.lost} records of ${report.total.runs} runs were lost`)
})

test("control: an unnamed takeover by a dead process blocks the run, and the crash test detects it", {
  timeout,
}, async () => {
  const report = await sabotaged("nameless-claims")
  expect(report.violations.join("\n")).toMatch(/it did not finish: .*(active in another process|exists already)/)
  expect(report.total.resumed).toBeLessThan(report.total.runs)
  const locked = report.total.runs - report.total.resumed
  console.log(`claims that say nothing: ${locked} of ${report.total.runs} runs were locked by a dead process`)
})

async function sabotaged(how: string): Promise<CampaignReport> {
  process.env.SABOTAGE = how
  try {
    return await campaign({ program: join(scratch, saboteur), kills: 0, sample: all ? 18 : 6 })
  } finally {
    delete process.env.SABOTAGE
  }
}
