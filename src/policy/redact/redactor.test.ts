import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { createRedactor } from "./redactor.ts"
import { work } from "./token-search.ts"
import { ValueSearch } from "./value-search.ts"

const encoder = new TextEncoder()
const base64 = (text: string) => btoa(String.fromCharCode(...encoder.encode(text)))
const hex = (text: string) => Array.from(encoder.encode(text), (byte) => byte.toString(16).padStart(2, "0")).join("")

function escapedCodes(text: string, isUpper = false): string {
  const code = (index: number) => text.charCodeAt(index).toString(16).padStart(4, "0")
  const codes = Array.from({ length: text.length }, (_, index) => (isUpper ? code(index).toUpperCase() : code(index)))
  return codes.map((each) => `\\u${each}`).join("")
}

/** Programs that put a secret into a text. */
const carriers: readonly [string, (secret: string) => string][] = [
  ["plain text", (secret) => `a ${secret} b`],
  ["an address in an address", (secret) => `?next=${encodeURIComponent(`/a?key=${encodeURIComponent(secret)}`)}`],
  ["decimal numbers", (secret) => `[${encoder.encode(secret).join(", ")}]`],
  ["decimal numbers without spaces", (secret) => `[${encoder.encode(secret).join(",")}]`],
  ["reverse", (secret) => `a ${Array.from(secret).reverse().join("")} b`],
  ["a word for a shell", (secret) => `echo ${secret.replace(/[^A-Za-z0-9%+,./:=@_^-]/g, "\\$&")}`],
  ["single quotes of a shell", (secret) => `echo '${secret.replaceAll("'", "'\\''")}'`],
  ["a JSON body", (secret) => JSON.stringify({ message: `Incorrect key ${secret}.` })],
  ["JSON in JSON", (secret) => JSON.stringify({ body: JSON.stringify({ key: secret }) })],
  ["JSON with escaped slashes", (secret) => JSON.stringify({ key: secret }).replaceAll("/", "\\/")],
  [
    "JSON in ASCII",
    (secret) =>
      JSON.stringify(secret).replace(
        /[^ -~]/g,
        (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
      ),
  ],
  ["JSON with every character escaped", (secret) => `"${escapedCodes(secret)}"`],
  ["JSON with every character escaped in upper case", (secret) => `"${escapedCodes(secret, true)}"`],
  [
    "JSON of a program that escapes angle brackets",
    (secret) =>
      JSON.stringify(secret).replace(/[<>&]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16).padStart(2, "0")}`),
  ],
  [
    "JSON in JSON with escaped slashes",
    (secret) => JSON.stringify({ body: JSON.stringify(secret).replaceAll("/", "\\/") }),
  ],
  ["a query with every byte escaped", (secret) => `/?${hex(secret).replace(/../g, "%$&")}&`],
  [
    "a query with every byte escaped in upper case",
    (secret) => `/?${hex(secret).toUpperCase().replace(/../g, "%$&")}&`,
  ],
  [
    "a path quoted by Python",
    (secret) => {
      const strict = (sign: string) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`
      return `/x/${encodeURIComponent(secret)
        .replace(/[!'()*]/g, strict)
        .replaceAll("%2F", "/")}?`
    },
  ],
  [
    "HTML with numbers for quotes",
    (secret) => {
      const html = secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
      return `<p>${html.replaceAll('"', "&#34;").replaceAll("'", "&#39;")}</p>`
    },
  ],
  ["a query", (secret) => `https://host/?key=${encodeURIComponent(secret)}&x=1`],
  [
    "a query in lower case",
    (secret) =>
      `https://host/?key=${encodeURIComponent(secret).replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())}`,
  ],
  ["a form", (secret) => new URLSearchParams({ key: secret }).toString()],
  ["base64", (secret) => base64(secret)],
  ["basic authorization", (secret) => `Authorization: Basic ${base64(`user:${secret}`)}`],
  ["base64 behind two bytes", (secret) => base64(`ab${secret}tail`)],
  ["base64url", (secret) => base64(`a${secret}`).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")],
  ["hex", (secret) => `0x${hex(secret)}`],
  ["upper-case hex", (secret) => hex(secret).toUpperCase()],
  [
    "HTML",
    (secret) =>
      `<p>${secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;").replaceAll("'", "&#39;")}</p>`,
  ],
]

/** What must not remain: the secret itself after every decoding that an attacker could do in one step. */
function decodings(text: string): string[] {
  const attempts = [
    () => decodeURIComponent(text.replaceAll("+", "%20")),
    () => text.replace(/\\u([0-9a-f]{4})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16))),
    () => JSON.parse(`"${text.replaceAll('"', "")}"`) as string,
    () =>
      new TextDecoder().decode(Uint8Array.from(text.match(/[0-9a-f]{2}/gi) ?? [], (byte) => Number.parseInt(byte, 16))),
    ...[0, 1, 2, 3].map((from) => () => {
      const [longest = ""] = (text.match(/[A-Za-z0-9+/_-]+/g) ?? []).toSorted(
        (left, right) => right.length - left.length,
      )
      return new TextDecoder().decode(
        Uint8Array.from(
          atob(longest.slice(from).replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, "")),
          (character) => character.charCodeAt(0),
        ),
      )
    }),
  ]
  return [
    text,
    ...attempts.map((attempt) => {
      try {
        return attempt()
      } catch {
        return ""
      }
    }),
  ]
}

const secretText = fc
  .oneof(
    fc.string({ unit: fc.constantFrom(..."abcXYZ0189-_+/=%&<>\"'\\ .:@é漢"), minLength: 8, maxLength: 60 }),
    fc.string({ minLength: 8, maxLength: 80 }),
    fc.base64String({ minLength: 20, maxLength: 88 }),
  )
  .filter(
    (value) => value.trim().length >= 8 && !/^[\d.:]+$/.test(value.trim()) && !/secret:|\p{Surrogate}/u.test(value),
  )

describe("known values", () => {
  test.each(carriers)("a secret in %s is masked in text, in objects and over random cuts", (_, carry) => {
    fc.assert(
      fc.property(secretText, fc.array(fc.nat(200), { maxLength: 12 }), (value, cuts) => {
        const secret = value.trim()
        const redactor = createRedactor({ NAME: secret })
        const carried = carry(secret)
        const text = redactor.text(carried)
        expect(text).toContain("{{secret:NAME")
        for (const decoded of decodings(text)) expect(decoded).not.toContain(secret)
        const object = { [carried]: [1, { deep: carried }], other: true }
        expect(JSON.stringify(redactor.json(object))).not.toContain(JSON.stringify(carried).slice(1, -1))
        const stream = redactor.stream()
        let streamed = ""
        let from = 0
        for (const cut of cuts.toSorted((left, right) => left - right)) {
          streamed += stream.push(carried.slice(from, cut))
          from = Math.max(from, cut)
        }
        streamed += stream.push(carried.slice(from)) + stream.end()
        expect(streamed).toBe(text)
      }),
      { examples: [["((A((0('", []]] },
    )
  })

  test.each(carriers)("a secret in %s is restored exactly", (_, carry) => {
    fc.assert(
      fc.property(secretText, (value) => {
        const redactor = createRedactor({ NAME: value.trim() })
        const args = { command: carry(value.trim()), list: [carry(value.trim()), 1, null] }
        expect(redactor.expand(redactor.json(args))).toEqual(args)
      }),
    )
  })

  test("JSON stays JSON, and text without a secret stays the same object", () => {
    fc.assert(
      fc.property(fc.jsonValue(), secretText, (value, secret) => {
        const redactor = createRedactor({ NAME: secret.trim() })
        const json = JSON.stringify({ value, secret })
        expect(() => JSON.parse(redactor.text(json))).not.toThrow()
      }),
    )
    const clean = { a: ["text", { b: 1 }], c: null }
    const redactor = createRedactor({ NAME: "correct-horse-battery" })
    expect(redactor.json(clean)).toBe(clean)
  })

  test("of two secrets that start together the longer one wins, also if it arrives later", () => {
    const redactor = createRedactor({ SHORT: "correct-horse", LONG: "correct-horse-battery" })
    expect(redactor.text("correct-horse correct-horse-battery")).toBe("{{secret:SHORT}} {{secret:LONG}}")
    const stream = redactor.stream()
    expect(stream.push("correct-horse") + stream.push("-battery") + stream.end()).toBe("{{secret:LONG}}")
  })

  test("a text that was cut within a secret keeps no long part of it", () => {
    const redactor = createRedactor({ NAME: "correct-horse-battery" })
    expect(redactor.cut("it is correct-hor")).toBe("it is {{secret:NAME}}")
    expect(redactor.cut("it is correct")).toBe("it is correct")
  })

  test("each long line of a multi-line secret is masked alone", () => {
    const key = "-----BEGIN X-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nshort\nZDJSa1ZEYnhVbVZ6ZEdsdVp3\n-----END X-----"
    const redactor = createRedactor({ PEM: key })
    expect(redactor.text("line MIIEvQIBADANBgkqhkiG9w0BAQ, short")).toBe("line {{secret:PEM:line2}}, short")
  })

  test("a secret that is a number is masked and restored where JSON writes it without quotes", () => {
    const redactor = createRedactor({ PIN: "73519264" })
    const args = { pin: 73519264, list: [73519264, 1], text: "73519264" }
    const masked = { pin: "{{secret:PIN:number}}", list: ["{{secret:PIN:number}}", 1], text: "{{secret:PIN}}" }
    expect(redactor.json(args)).toEqual(masked)
    expect(redactor.expand(redactor.json(args))).toEqual(args)
    const literal = { pin: "{{secret:PIN:number}}" }
    expect(redactor.expand(redactor.json(literal))).toEqual(literal)
  })

  test("a secret that only some notation makes a number masks no number", () => {
    const redactor = createRedactor({ HEX: "0x10000000", PADDED: "0073519264" })
    const args = { size: 268435456, count: 73519264 }
    expect(redactor.json(args)).toEqual(args)
  })

  test("media are not scanned, their names are", () => {
    const redactor = createRedactor({ NAME: "correct-horse-battery" })
    const part = {
      type: "file",
      mediaType: "application/pdf",
      data: base64("The inside of a file: correct-horse-battery."),
      name: "correct-horse-battery",
    }
    expect(redactor.json(part)).toEqual({ ...part, name: "{{secret:NAME}}" })
  })

  test("a text under the names of a medium is scanned, if it is no file", () => {
    const redactor = createRedactor({ NAME: "correct-horse-battery" })
    for (const data of [
      "correct-horse-battery",
      `${"A".repeat(100)} correct-horse-battery`,
      { a: "correct-horse-battery" },
    ]) {
      expect(JSON.stringify(redactor.json({ mediaType: "text/plain", data }))).not.toContain("correct-horse")
    }
  })
})

describe("references", () => {
  const redactor = createRedactor({ NAME: "correct-horse-battery" }, { "model/api-key": "key-of-the-model" })

  test("a literal reference is escaped when it enters and never expanded", () => {
    for (const literal of [
      "{{secret:NAME}}",
      "{{{{secret:NAME}}",
      "{{secret:NAME:base64-0}}",
      "{{secret:{{secret:NAME}}}}",
    ]) {
      const entered = redactor.json({ command: literal })
      expect(redactor.expand(entered)).toEqual({ command: literal })
      expect(entered.command).not.toMatch(/\{\{secret:[^:]/)
      const stream = redactor.stream()
      const pieces = [...literal].map((character) => stream.push(character)).join("") + stream.end()
      expect(pieces).toBe(entered.command)
    }
  })

  test("what was escaped already stays, so that a model can repeat it", () => {
    expect(redactor.text(redactor.text("{{secret:X}}"))).toBe("{{secret::X}}")
    expect(redactor.expand("{{secret::X}}")).toBe("{{secret:X}}")
  })

  test("a second redaction leaves references alone", () => {
    expect(redactor.again("{{secret:NAME}} correct-horse-battery")).toBe("{{secret:NAME}} {{secret:NAME}}")
    expect(redactor.again("https://user:{{secret:NAME}}@host")).toBe("https://user:{{secret:NAME}}@host")
  })

  test("a reference without a value here expands to nothing", () => {
    for (const reference of [
      "{{secret:OTHER}}",
      "{{secret:token/github}}",
      "{{secret:model/api-key}}",
      "{{secret:NAME:x}}",
    ]) {
      expect(redactor.expand({ command: `a ${reference}` })).toBeUndefined()
    }
    expect(redactor.text("key-of-the-model")).toBe("{{secret:model/api-key}}")
  })

  test("expansion is not repeated: a secret may contain a reference", () => {
    const odd = createRedactor({ A: "x{{secret:B}}y", B: "second-secret" })
    expect(odd.expand("{{secret:A}}")).toBe("x{{secret:B}}y")
  })
})

describe("lengths", () => {
  test.each(["abc", " ab ", "true", "5432", "localhost", "localhost:8080", "https://example.com/docs"])(
    "a declared secret %j is config_invalid, a found one is skipped",
    (value) => {
      expect(() => createRedactor({ NAME: value })).toThrow(expect.objectContaining({ code: "config_invalid" }))
      expect(createRedactor({}, { found: value }).text(`a ${value} b`)).toBe(`a ${value} b`)
    },
  )

  test.each([
    "https://hooks.example.com/T000/aVeryLongTokenInThePath",
    "https://example.com/?sig=x",
    "postgres://u:p@h/d",
  ])("the address %s may be a secret", (value) => {
    expect(createRedactor({ NAME: value }).text(`a ${value} b`)).toBe("a {{secret:NAME}} b")
  })

  test("a secret of 4 to 7 characters is masked in its plain, JSON and percent forms, and reported", () => {
    const redactor = createRedactor({ PIN: 'a"1/' })
    expect(redactor.weak).toEqual(["PIN"])
    expect(redactor.text(`a"1/ ${JSON.stringify('a"1/')} ${encodeURIComponent('a"1/')} ${btoa('a"1/')}`)).toBe(
      `{{secret:PIN}} "{{secret:PIN:json}}" {{secret:PIN:url}} ${btoa('a"1/')}`,
    )
  })

  test("a found word of up to 7 letters is skipped: local servers take any word as a key", () => {
    expect(createRedactor({}, { "model/api-key": "ollama" }).text("ollama")).toBe("ollama")
    expect(createRedactor({}, { "model/api-key": "k3y-1" }).text("k3y-1")).toBe("{{secret:model/api-key}}")
  })

  test("a name that cannot be referenced is config_invalid", () => {
    expect(() => createRedactor({ "a}}b": "correct-horse" })).toThrow("cannot be referenced")
  })
})

const doubled = (make: (size: number) => string) => [make(20_000), make(40_000)] as const

describe("hostile input", () => {
  test.each([
    ["the start of a secret", "aaaaaaa"],
    ["a secret without its last character", "aaaaaaaaaaaaaaab"],
    ["one character", "a"],
  ])("comparisons with values grow linearly if %s is repeated", (_, piece) => {
    const counts = doubled((size) => piece.repeat(size / piece.length)).map((text) => {
      const search = new ValueSearch([{ text: "aaaaaaaaaaaaaaaaaaab-never", reference: "x" }])
      search.hits(text)
      return search.compared
    })
    expect(counts[1]).toBeLessThanOrEqual((counts[0] ?? 0) * 2 + 10)
  })

  test.each(["eyJ-", "eyJaaaaaaaaa.", "sk-ant-", "://a:", "-----BEGIN PRIVATE KEY-----\n", "SG.", "basic ", "ghp_"])(
    "attempts to match a token grow linearly if %j is repeated",
    (piece) => {
      const redactor = createRedactor({})
      const counts = doubled((size) => piece.repeat(size / piece.length)).map((text) => {
        const before = work.attempts
        redactor.text(text)
        return work.attempts - before
      })
      expect(counts[1]).toBeLessThanOrEqual((counts[0] ?? 0) * 2 + 10)
      expect(counts[1]).toBeLessThanOrEqual(40_000 / piece.length + 1)
    },
  )
})

describe("opaque data of others", () => {
  const { known, expand } = createRedactor({ PIN: "harbour-pin-7719" }, { "mcp/key": "header-key-4410" })

  test("opaque data comes back unchanged, with known values as references and tokens as they are", () => {
    const token = `ghp_${"a1B2".repeat(9)}`
    const data = { state: `{{secret:PIN}} ${token} harbour-pin-7719`, list: [1, null, "x"] }
    const masked = known(data)
    expect(JSON.stringify(masked)).not.toContain("harbour-pin-7719")
    expect(JSON.stringify(masked)).toContain(token)
    expect(expand(masked)).toEqual(data)
  })

  test("opaque data with a credential that is not expanded cannot be restored", () => {
    expect(expand(known({ state: "x header-key-4410" }))).toBeUndefined()
  })

  test("opaque data is restored whatever it contains, except for the mark of an escaped reference", () => {
    const piece = fc.oneof(fc.constantFrom("harbour-pin-7719", "{{secret:", "{{secret:PIN}}", "::", "}}"), fc.string())
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const text = pieces.join("")
        // The mark of an escaped reference stays as it is: callers compare.
        fc.pre(!text.includes("{{secret::"))
        expect(expand(known(text))).toBe(text)
      }),
    )
  })
})

describe("a secret in encodings of several lines", () => {
  const secret = "sk-local-7Qw9ZtR4mX2vLp8N"
  const { text: masked } = createRedactor({ KEY: secret })
  const lines = (text: string, width: number) => text.match(new RegExp(`.{1,${width}}`, "g"))?.join("\n") ?? ""
  const dump = (text: string, row: (offset: string, pairs: readonly string[], shown: string) => string) =>
    (text.match(/[\s\S]{1,16}/g) ?? [])
      .map((part, index) => row((index * 16).toString(16).padStart(8, "0"), hex(part).match(/../g) ?? [], part))
      .join("\n")
  const decimal = (pair: string, width: number) => String(Number.parseInt(pair, 16)).padStart(width)
  const forms: readonly [string, (text: string) => string][] = [
    ["base64 in lines of 76", (text) => lines(base64(text), 76)],
    ["base64 in lines of 64", (text) => lines(base64(text), 64)],
    ["indented base64", (text) => lines(base64(text), 76).replaceAll("\n", "\n  ")],
    ["xxd -p", (text) => lines(hex(text), 60)],
    [
      "xxd",
      (text) =>
        dump(text, (at, pairs, shown) => `${at}: ${(pairs.join("").match(/.{1,4}/g) ?? []).join(" ")}  ${shown}`),
    ],
    [
      "hexdump -C",
      (text) =>
        dump(
          text,
          (at, pairs, shown) => `${at}  ${pairs.slice(0, 8).join(" ")}  ${pairs.slice(8).join(" ")}  |${shown}|`,
        ),
    ],
    ["od -tx1", (text) => dump(text, (at, pairs) => `${at.slice(1)} ${pairs.join(" ")}`)],
    ["od -An -tx1", (text) => dump(text, (_, pairs) => ` ${pairs.join(" ")}`)],
    ["od -tu1", (text) => dump(text, (at, pairs) => `${at.slice(1)}${pairs.map((pair) => decimal(pair, 4)).join("")}`)],
    [
      "an array as Node prints it",
      (text) => `[\n${dump(text, (_, pairs) => `  ${pairs.map((pair) => decimal(pair, 3)).join(", ")},`)}\n]`,
    ],
    ["an array with one number in a line", (text) => JSON.stringify(Array.from(Buffer.from(text)), null, 2)],
  ]

  test.each(forms)("%s is masked at every offset, and nothing of it is left", (_, encode) => {
    for (let offset = 0; offset < 90; offset++) {
      const encoded = encode(`${"x".repeat(offset)}${secret}${"y".repeat(40)}`)
      const shown = masked(`before\n${encoded}\nafter`)
      expect(shown, encoded).toContain("{{secret:KEY")
      const bytes = shown.replace(/\s+/g, "")
      expect(bytes).not.toContain(hex(secret.slice(0, 8)))
      expect(shown).not.toContain(secret.slice(4, 16))
      expect(shown.replace(/[\s,]+/g, " ")).not.toContain(Array.from(Buffer.from(secret.slice(0, 8))).join(" "))
      expect(shown.startsWith("before\n") && shown.endsWith("\nafter")).toBe(true)
    }
  })

  test("a secret within a line of an encoding of another one leaves nothing of that one", () => {
    const whole = "sk-local-7Qw9ZtR4mX2vLp8N-and-more-of-it-to-fill-lines"
    const [, part = ""] = lines(hex(whole), 60).split("\n")
    const shown = createRedactor({ WHOLE: whole, PART: part }).text(`before\n${lines(hex(whole), 60)}\nafter`)
    expect(shown).toBe("before\n{{secret:WHOLE:hex}}\nafter")
  })

  test("texts without a secret stay as they are", () => {
    for (const [, encode] of forms) {
      const text = encode("nothing to see here, only an ordinary text of some length. ".repeat(5))
      expect(masked(text)).toBe(text)
    }
  })
})

test("the password of an address without a user is masked", () => {
  expect(createRedactor({}).text("redis://:hunter2hunter2@cache:6379")).not.toContain("hunter2")
})
