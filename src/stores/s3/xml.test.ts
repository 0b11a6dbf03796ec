import { describe, expect, test } from "vitest"
import { elementText, encodeText, readListing } from "./xml.ts"

const listing = (inside: string) => `<?xml version="1.0"?><ListBucketResult xmlns="x">${inside}</ListBucketResult>\n`

describe("an S3 listing", () => {
  test("a listing returns keys and common prefixes, without the requested prefix", () => {
    const xml = listing(
      "<Prefix>a/</Prefix><Contents><Key>a/1</Key><Size>3</Size></Contents><Contents>\n<Key>a/2</Key></Contents>" +
        "<CommonPrefixes><Prefix>a/b/</Prefix></CommonPrefixes><CommonPrefixes><Prefix>a/c/</Prefix></CommonPrefixes>",
    )
    expect(readListing(xml)).toEqual({ names: ["a/1", "a/2", "a/b/", "a/c/"] })
  })

  test("a listing decodes XML entities once", () => {
    const key = "&lt;a&gt; &amp;amp; &quot;&apos;&#39;&#x1F69A; &euro; &#x110000;"
    const xml = listing(`<Contents><Key>${key}</Key></Contents>`)
    expect(readListing(xml)?.names).toEqual(["<a> &amp; \"''🚚 &euro; &#x110000;"])
  })

  test("a listing returns the token of the next page", () => {
    const more = "<IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;b</NextContinuationToken>"
    expect(readListing(listing(more))).toEqual({ names: [], next: "a&b" })
    expect(readListing(listing("<IsTruncated>false</IsTruncated>"))).toEqual({ names: [] })
  })

  test.each([
    ["cut off", listing("<Contents><Key>a</Key></Contents>").slice(0, -12)],
    ["another document", "<html><body>Sign in</body></html>"],
    ["an error", "<Error><Code>InternalError</Code></Error>"],
    ["nothing", ""],
    ["more, and not where", listing("<IsTruncated>true</IsTruncated>")],
    ["an object without a key", listing("<Contents><Size>1</Size></Contents>")],
  ])("an incomplete listing is rejected: %s", (_, xml) => {
    expect(readListing(xml)).toBeNull()
  })
})

test("text survives being written and parsed as XML", () => {
  const text = '"a" & <b> &amp;'
  expect(elementText(`<T>${encodeText(text)}</T>`, "T")).toBe(text)
  expect(elementText("<T>a</T>", "U")).toBeUndefined()
})
