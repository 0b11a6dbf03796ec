import { expect, test } from "vitest"
import { chooseStore } from "../run-settings.ts"
import { storeAt } from "./store-choice.ts"

const aws = { AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "secret", AWS_REGION: "eu-west-1" }

test("--store accepts a folder or a bucket with a prefix", async () => {
  expect((await storeAt("/tmp/runs")).location).toBe("/tmp/runs")
  expect((await storeAt("s3://bucket/a/b", aws)).location).toBe("s3://bucket/a/b")
  expect((await storeAt("s3://bucket", { ...aws, AWS_REGION: "", AWS_DEFAULT_REGION: "x" })).location).toBe(
    "s3://bucket",
  )
})

test("a bucket without a name or credentials is rejected with a fix", async () => {
  await expect(storeAt("s3://", aws)).rejects.toMatchObject({ fix: "Write s3://bucket/prefix." })
  await expect(storeAt("s3://bucket", {})).rejects.toMatchObject({ fix: expect.stringContaining("AWS_REGION") })
})

test("a bucket in LONGHAUL_STORE is used unless --store names another store", () => {
  const variables = { LONGHAUL_STORE: "s3://bucket/x" }
  expect(chooseStore(undefined, undefined, variables)).toBe("s3://bucket/x")
  expect(chooseStore("/tmp/runs", undefined, variables)).toBe("/tmp/runs")
  expect(chooseStore(undefined, undefined, { LONGHAUL_STORE: "/tmp/other" })).toBeUndefined()
})
