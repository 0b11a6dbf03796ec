import { describe, expect, test } from "vitest"
import { createRedactor } from "./redactor.ts"

const redactor = createRedactor({})
const x = (length: number) => "aB3dE5gH1jK2mN4pQ6rS7tU8vW9xY0zZ".repeat(8).slice(0, length)
const f = (length: number) => "0123456789abcdef".repeat(8).slice(0, length)

/** Assembled here, so that no scanner mistakes this file for a leak. */
const samples: readonly [string, string][] = [
  ["anthropic", `sk-ant-${x(40)}`],
  ["openai", `sk-proj-${x(40)}`],
  ["openai", `sk-svcacct-${x(40)}`],
  ["openai", `sk-${x(20)}T3BlbkFJ${x(20)}`],
  ["openrouter", `sk-or-v1-${f(64)}`],
  ["google", `AIza${x(35)}`],
  ["google-oauth", `ya29.${x(60)}`],
  ["google-oauth", `GOCSPX-${x(28)}`],
  ["aws", "AKIAIOSFODNN7EXAMPLE"],
  ["aws", "ASIAIOSFODNN7EXAMPLE"],
  ["github", `ghp_${x(36)}`],
  ["github", `ghs_${x(36)}`],
  ["github", `github_pat_${x(22)}_${x(59)}`],
  ["gitlab", `glpat-${x(20)}`],
  ["npm", `npm_${x(36)}`],
  ["pypi", `pypi-${x(80)}`],
  ["slack", `xoxb-${f(12)}-${x(24)}`],
  ["slack", `xapp-1-${x(24)}`],
  ["stripe", `sk_live_${x(24)}`],
  ["stripe", `rk_test_${x(24)}`],
  ["webhook", `whsec_${x(32)}`],
  ["sendgrid", `SG.${x(22)}.${x(43)}`],
  ["mailgun", `key-${f(32)}`],
  ["huggingface", `hf_${x(34)}`],
  ["groq", `gsk_${x(52)}`],
  ["xai", `xai-${x(80)}`],
  ["replicate", `r8_${x(37)}`],
  ["databricks", `dapi${f(32)}`],
  ["digitalocean", `dop_v1_${f(64)}`],
  ["doppler", `dp.pt.${x(43)}`],
  ["linear", `lin_api_${x(40)}`],
  ["notion", `ntn_${x(46)}`],
  ["notion", `secret_${x(43)}`],
  ["shopify", `shpat_${f(32)}`],
  ["postman", `PMAK-${x(24)}-${x(34)}`],
  ["vault", `hvs.${x(90)}`],
  ["supabase", `sbp_${f(40)}`],
  ["atlassian", `ATATT3${x(180)}`],
  ["resend", `rl_${x(24)}`],
  ["jwt", `eyJ${x(20)}.eyJ${x(2000)}.${x(43)}`],
  ["private-key", `-----BEGIN RSA PRIVATE KEY-----\n${`${x(64)}\n`.repeat(12)}-----END RSA PRIVATE KEY-----`],
]

/** Only the part in braces is masked: the rest says what it was. */
const partial: readonly [string, string, string][] = [
  ["authorization", "Authorization: Bearer ", x(32)],
  ["authorization", "authorization: basic ", btoa("user:passw0rd-123")],
  ["telegram", "123456789:", `AA${x(33)}`],
  ["url", "postgres://user:", "passw0rd-123"],
  ["azure-storage", "AccountName=x;AccountKey=", `${x(86)}==`],
  ["azure-sas", "https://x.blob/y?sig=", x(44)],
  ["slack", "https://hooks.slack.com/", `services/T000/B000/${x(24)}`],
  ["discord", "https://discord.com/api/webhooks/", `123456/${x(60)}`],
]

describe("token formats", () => {
  test.each(samples)("a token of the format %s is masked as a whole", (name, token) => {
    for (const [before, after] of [
      ["", ""],
      ["key ", " end"],
      ['{"a":"', '"}'],
      ["x=", "\n"],
      ["(", ")"],
      ["漢", "漢"],
    ]) {
      expect(redactor.text(`${before}${token}${after}`)).toBe(`${before}{{secret:token/${name}}}${after}`)
    }
  })

  test.each(partial)("a text with a secret of the format %s has only the secret masked: %s", (name, kept, secret) => {
    const after = name === "url" ? "@host/db" : " end"
    expect(redactor.text(`${kept}${secret}${after}`)).toBe(`${kept}{{secret:token/${name}}}${after}`)
  })

  test.each([
    ...samples,
    ...partial.map(([name, kept, secret]) => [name, `${kept}${secret}${name === "url" ? "@h" : ""}`] as const),
  ])("a token of the format %s is masked if it arrives in pieces of any size", (_, token) => {
    const text = `It is ${token} and ${token}.`
    for (const size of [1, 2, 3, 7, 12, 40]) {
      const stream = redactor.stream()
      let streamed = ""
      for (let at = 0; at < text.length; at += size) streamed += stream.push(text.slice(at, at + size))
      expect(streamed + stream.end()).toBe(redactor.text(text))
    }
  })

  test("a private key that was cut is masked up to the cut", () => {
    const key = `-----BEGIN PRIVATE KEY-----\n${`${x(64)}\n`.repeat(3)}${x(20)}`
    expect(redactor.text(`${key} [cut]`)).toBe("{{secret:token/private-key}} [cut]")
    expect(redactor.text(JSON.stringify({ key }))).toBe('{"key":"{{secret:token/private-key}}"}')
  })

  test.each([
    "Based on the basic internationalization of a bear",
    "See https://example.com:8080/docs/key-value and http://[::1]:3000",
    "task-ant-colony ghp_short npm_config_registry secret_name sk-learn",
    "--- a/file\n+++ b/file\n-----\n",
    "data:image/png;base64,iVBORw0KGgo=",
    "eyJ is how JSON starts in base64",
  ])("ordinary text stays as it is: %s", (text) => {
    expect(redactor.text(text)).toBe(text)
  })

  test("a token that leaves in parts, because it is too long to hold back, is not shown", () => {
    const stream = redactor.stream()
    let streamed = stream.push("It is ")
    for (let piece = 0; piece < 40; piece++)
      streamed += stream.push(piece === 0 ? `sk-ant-${x(200)}` : x(1000).slice(0, 256) + x(244))
    streamed += stream.push(" end") + stream.end()
    expect(streamed).toBe("It is {{secret:token/anthropic}} end")
  })
})
