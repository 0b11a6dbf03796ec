import { expect, test } from "vitest"
import { isSecretName } from "../../lib/text/credential.ts"
import { secretsIn } from "./names.ts"
import { createRedactor } from "./redactor.ts"

const redactor = createRedactor({ NAME: "correct-horse-battery" })

test("what is shown has no fields with secret names, tokens or known values, and keeps everything else", {
  tags: ["APR-06"],
}, () => {
  const args = {
    url: "https://host/",
    headers: { authorization: "Bearer x", api_key: "short", accept: "text/html" },
    list: [{ password: 12345, note: "correct-horse-battery" }],
    command: "DB_PASSWORD='a b' API_TOKEN=x run --password=hunter2 --name=me",
    body: '{"client_secret": "a\\"b", "name": "me"}',
  }
  expect(redactor.shown(args)).toEqual({
    url: "https://host/",
    headers: { authorization: "[masked]", api_key: "[masked]", accept: "text/html" },
    list: [{ password: "[masked]", note: "{{secret:NAME}}" }],
    command: "DB_PASSWORD=[masked] API_TOKEN=[masked] run --password=[masked] --name=me",
    body: '{"client_secret": "[masked]", "name": "me"}',
  })
})

test("names say what is masked only in what is shown: the journal keeps such fields", () => {
  const args = { password: "hunter2", command: "TOKEN=x" }
  expect(redactor.json(args)).toBe(args)
})

test("what is shown keeps references", () => {
  expect(redactor.shown({ a: "{{secret:NAME}}" })).toEqual({ a: "{{secret:NAME}}" })
})

test("the secrets of an environment are its variables with secret names and values that are no ordinary words", () => {
  const variables = { OPENAI_API_KEY: "sk-12345678", HOME: "/home/somebody", X_TOKEN: "dummy", GH_TOKEN: undefined }
  expect(secretsIn(variables)).toEqual({ OPENAI_API_KEY: "sk-12345678" })
  expect(["maxTokens", "tokens", "keyboard"].filter(isSecretName)).toEqual([])
})
