import { afterAll, beforeAll, expect, test } from "vitest"
import { commandLine } from "./support/command-line.ts"
import { type S3Server, startS3 } from "./support/s3-server.ts"

const { longhaul } = commandLine()
let s3: S3Server
beforeAll(async () => {
  s3 = await startS3()
})
afterAll(() => s3.close())

test("--store s3://bucket/prefix works with every run command, also with id prefixes", async () => {
  const { accessKeyId, secretAccessKey, endpoint } = s3.options
  const aws = {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_ENDPOINT_URL: endpoint,
  }
  const store = ["--store", "s3://runs/team-a"]
  const on = (...args: string[]) => longhaul([...args, ...store], aws)
  const run = await on("run", "--model", "offline", "--run-id", "run_abcdef", "List the files here")
  expect(run).toMatchObject({ code: 0, stderr: "" })
  expect(run.stdout).toContain("s3://runs/team-a/workspaces/default/")

  const listed = JSON.parse((await on("runs", "--json")).stdout)
  expect(listed).toMatchObject([{ runId: "run_abcdef", status: "done" }])
  for (const command of ["show", "logs", "replay"]) {
    const shown = await on(command, "run_abc")
    expect(shown, command).toMatchObject({ code: 0, stderr: "" })
    expect(shown.stdout, command).not.toBe("")
  }
  expect(await on("cost")).toMatchObject({ code: 0 })
  expect(await on("recover")).toMatchObject({ code: 0 })

  const forked = JSON.parse((await on("fork", "run_abc", "--json")).stdout)
  const resumed = await on("resume", forked.runId, "--answer", "List the files here", "--model", "offline", "--json")
  expect(JSON.parse(resumed.stdout)).toMatchObject({ status: "done", runId: forked.runId })

  const refused = await on("resume", "run_abc")
  expect(refused.code).toBe(1)
  expect(refused.stdout).not.toContain("failed")
  expect(refused.stderr).toContain("done")

  expect(await on("rm", "run_abc", "--yes")).toMatchObject({ code: 0 })
  expect(JSON.parse((await on("runs", "--json")).stdout)).toMatchObject([{ runId: forked.runId }])
  expect((await longhaul(["runs", ...store], { ...aws, AWS_ENDPOINT_URL: "" })).stderr).toContain("AWS_REGION")
})
