import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { loadEntityDecoder } from "./html-entities.ts"
import { htmlToText } from "./html-to-text.ts"
import { htmlTokens } from "./html-tokens.ts"

const url = "https://site.example/docs/page"
const decode = await loadEntityDecoder()
const textOf = (html: string) => htmlToText(html, decode, { url }).text

describe("htmlToText", () => {
  test.each([
    ["headings", "<h1>One</h1><p>text</p><h3>Three <i>x</i></h3>more", "# One\n\ntext\n\n### Three x\n\nmore"],
    ["an empty heading", "<h2> </h2><p>text</p>", "text"],
    [
      "paragraphs and breaks",
      "<p>a\n  b</p>\n<p>c<br>d<br><br>e</p><div>f</div><div>g</div>",
      "a b\n\nc\nd\n\ne\n\nf\ng",
    ],
    ["inline elements", "a<b>b</b> <em> c</em><span>d</span>", "ab cd"],
    ["a rule", "a<hr>b", "a\n\n---\n\nb"],
    ["a list", "<ul><li>a</li><li><p>b</p><p>c</p></li></ul>d", "- a\n- b\n\n  c\n\nd"],
    ["a list without end tags", "<ol><li>a<li>b</ol>", "1. a\n2. b"],
    ["lists in lists", "<ul><li>a<ol><li>b<li>c</ol><li>d</ul>", "- a\n  1. b\n  2. c\n- d"],
    ["quotations", "<blockquote><p>a</p><blockquote>b</blockquote></blockquote>c", "> a\n\n> > b\n\nc"],
    ["code in a line", "use <code>a &lt; b</code> or <kbd>Esc</kbd>", "use `a < b` or `Esc`"],
    [
      "code in blocks",
      "<pre><code>\nif (a &amp;&amp; b) {\n\tc\n}\n</code></pre>end",
      "```\nif (a && b) {\n\tc\n}\n```\n\nend",
    ],
    ["code that is never closed", "<pre>a\n b", "```\na\n b\n```"],
    ["a table", "<table><tr><th>a<th>b<tr><td>1<td><p>2</p><p>3</p></table>c", "a | b\n1 | 2 3\n\nc"],
    ["empty cells", "<table><tr><td><td><td>c<tr><td>a<td><td></table>", "| | c\na"],
    ["a page of tables", "<table><tr><td><table><tr><td>a<tr><td>b</table><tr><td>c</table>", "a\nb\n\nc"],
    ["definitions", "<dl><dt>a<dd>b<dt>c<dd>d</dl>", "a\nb\nc\nd"],
    ["images by their text", '<img src="a.png" alt=" A cat "><img src=b><img alt="">', "[image: A cat]"],
    ["nothing", " \n ", ""],
  ])("htmlToText converts %s", (_, html, text) => {
    expect(textOf(html)).toBe(text)
  })

  test.each([
    ["relative", '<a href="../a?b=c&amp;d#e">text</a>', "[text](https://site.example/a?b=c&d#e)"],
    ["after text", "see <a href=//other.example>this </a>there", "see [this](https://other.example/) there"],
    ["never closed", "<a href=/1>one<a href=/2>two", "[one](https://site.example/1)[two](https://site.example/2)"],
    [
      "around blocks",
      '<a href="/x"><div><h3>Title</h3><p>More</p></div></a>',
      "### [Title](https://site.example/x)\n\nMore",
    ],
    ["around code", '<a href="/x"><code>f</code></a>', "[`f`](https://site.example/x)"],
    ["in a cell", "<table><tr><td>a<td><a href=/x>b</a></table>", "a | [b](https://site.example/x)"],
    ["without text", '<a href="/x"><svg><path/><title>icon</title></svg></a>after', "after"],
    ["within the page", '<a href="#part">part</a>', "part"],
    ["that run code", '<a href="javascript:x">a</a><a href=" DATA:text/html,x">b</a>', "ab"],
    ["that are no addresses", '<a href="http://[">a</a><a>b</a>', "ab"],
    ["from another base", '<base href="https://base.example/x/"><a href="y">a</a>', "[a](https://base.example/x/y)"],
  ])("htmlToText converts links: %s", (_, html, text) => {
    expect(textOf(html)).toBe(text)
  })

  test.each([
    ["scripts", "a<script>if (x < y) { document.write('<p>no</p>') }</script>b"],
    ["scripts in capitals", "a<SCRIPT type=x>no</ScRiPt >b"],
    ["scripts with what looks like an end", "a<script>'</scripts>' + '</ script>'</script>b"],
    ["styles", "a<style>p > a { content: '<' }</style>b"],
    ["comments", "a<!-- <p>no</p> -- > no -->b"],
    ["empty comments", "a<!-->b"],
    ["doctypes and instructions", "<!doctype html><?xml version='1.0'?>ab"],
    ["drawings and templates", "a<svg><text>no</text></svg><template><p>no</p></template>b"],
    ["frames and fields", "a<iframe>no</iframe><textarea>no</textarea>b"],
    ["stray ends", "a</a></code></b></li-x></>b"],
  ])("htmlToText omits %s", (_, html) => {
    expect(textOf(html)).toBe("ab")
  })

  test("htmlToText uses the page's title, not that of an SVG", () => {
    const html = "<head><title>\n The\n &amp; title</title></head><svg><title>no</title></svg><title>no</title>text"
    expect(htmlToText(html, decode)).toEqual({ title: "The & title", text: "text", truncated: false })
    expect(htmlToText("<title>never closed<p>text", decode).text).toBe("text")
  })

  test("htmlToText parses attributes in any form", () => {
    const attributesOf = (tag: string) =>
      [...htmlTokens(tag, decode)].map((token) => token.kind === "start" && token.attributes)
    expect(attributesOf(`<a title="1 > 0" HREF = 'x"y' href=no class=a/b alt>`)).toEqual([
      { href: 'x"y', class: "a/b", alt: "" },
    ])
    expect(attributesOf("<a href=x/>")).toEqual([{ href: "x/" }])
    expect(attributesOf(`<a it's href="q">`)).toEqual([{ href: "q" }])
    expect(attributesOf("<a =x/ / href=q")).toEqual([{ href: "q" }])
  })

  test("htmlToText treats a < that starts no tag as text", () => {
    expect(textOf("1 < 2 <3 a<=b <")).toBe("1 < 2 <3 a<=b <")
  })

  test("htmlToText stops at its limit", () => {
    const { text, truncated } = htmlToText("<p>word</p>".repeat(1000), decode, { maxCharacters: 20 })
    expect([text, truncated]).toEqual(["word\n\nword\n\nword\n\nwo", true])
    expect(htmlToText("abc", decode, { maxCharacters: 3 })).toMatchObject({ text: "abc", truncated: false })
  })
})

describe("character references", () => {
  test.each([
    ["&amp;&lt;&gt;&quot;&apos;", `&<>"'`],
    ["&#65;&#x42;&#X43;&#128512;", "ABC😀"],
    ["&nbsp;&eacute;&Eacute;&yuml;&times;", "\u00a0éÉÿ×"],
    ["&hellip;&mdash;&rsquo;&euro;&rarr;&le;", "…—’€→≤"],
    ["&CounterClockwiseContourIntegral;&nGtv;&fjlig;", "∳≫\u0338fj"],
    ["&#128;&#150;&#x99;", "€–™"],
    ["&#0;&#xD800;&#x110000;&#99999999;&#99999999999999999999;", "�����"],
    [`&#x${"f".repeat(1000)};`, "�"],
    ["&amp;lt; &amp;amp;", "&lt; &amp;"],
    ["&unknown; &; &# &#x; &hellip &", "&unknown; &; &# &#x; &hellip &"],
    ["&constructor; &toString; &__proto__;", "&constructor; &toString; &__proto__;"],
  ])("the character references %s are decoded", (html, text) => {
    expect(decode.text(html)).toBe(text)
    expect(decode.attribute(html)).toBe(text)
  })

  test("legacy names may lack their semicolon, but in an attribute only before a non-URL character", () => {
    const html = "&copy 2020 &lt3 a&ampb ?a=1&copy=2&reg=3"
    expect(decode.text(html)).toBe("© 2020 <3 a&b ?a=1©=2®=3")
    expect(decode.attribute(html)).toBe("© 2020 &lt3 a&ampb ?a=1&copy=2&reg=3")
    expect(textOf('<a href="/?a=1&copy=2&amp;b">x</a>')).toBe("[x](https://site.example/?a=1&copy=2&b)")
  })

  test("a character reference cannot create a tag", () => {
    expect(textOf("&lt;script&gt;a&lt;/script&gt;")).toBe("<script>a</script>")
  })
})

describe("a hostile page", () => {
  const many = 200_000
  test.each([
    ["nested blocks", "<div>".repeat(many)],
    ["nested lists", "<ul><li>x".repeat(many / 4)],
    ["nested quotations", "<blockquote>x".repeat(many / 4)],
    ["nested tables", "<table><tr><td>x".repeat(many / 4)],
    ["nested links and code", "<a href=/x><code>".repeat(many / 4)],
    ["end tags only", "</div></ul></table></a></pre>".repeat(many / 4)],
    ["unclosed scripts", "<script>".repeat(many)],
    ["unclosed drawings", "<svg><template><iframe><title>".repeat(many / 4)],
    ["unclosed comments", "<!-- ".repeat(many)],
    ["unclosed quotes", `<a href="${"<a href='".repeat(many)}`],
    ["an unclosed tag", `<a ${"b ".repeat(many)}`],
    ["tags in a tag", "<a <a <a ".repeat(many / 4)],
    ["many attributes", `<a ${'href="x" '.repeat(many)}>text`],
    ["spaces in a tag", `<a${" ".repeat(many * 5)}b${" ".repeat(many * 5)}=${" ".repeat(many * 5)}>`],
    ["a long name", `<${"a".repeat(many * 5)}>`],
    ["less-than signs", "<".repeat(many * 5)],
    ["ampersands", "&".repeat(many * 5)],
    ["beginnings of entities", "&#x1&a".repeat(many)],
    ["white space", " \n".repeat(many * 2)],
    ["line breaks in code", `<blockquote><ul><pre>${"\n".repeat(many * 5)}x`],
    ["many rows of empty cells", `<table>${`<tr>${"<td>".repeat(50)}x`.repeat(many / 50)}`],
    [
      "a long address for short links",
      `<base href="https://a.example/${"x".repeat(900)}/">${"<a href=b>x</a>".repeat(many / 4)}`,
    ],
  ])("a hostile page takes linear time and stays within the limit: %s", (_, html) => {
    const { text } = htmlToText(html, decode, { maxCharacters: 100_000 })
    expect(text.length).toBeLessThanOrEqual(100_000)
  })

  test("htmlToText never throws and keeps all words in order", () => {
    const tag = fc.constantFrom(
      "p",
      "div",
      "ul",
      "ol",
      "li",
      "table",
      "tr",
      "td",
      "blockquote",
      "h2",
      "b",
      "title",
      "br",
    )
    const piece = fc.oneof(
      fc.tuple(tag, fc.boolean()).map(([name, end]) => `<${end ? "/" : ""}${name}>`),
      fc.constantFrom(
        "<a href=/x>",
        "</a>",
        "<code>",
        "</code>",
        "<pre>",
        "</pre>",
        "<!-- c -->",
        "<",
        "&amp;",
        " ",
        "\n",
      ),
      fc.nat(999).map((number) => ` w${number} `),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const html = pieces.filter((each) => !each.includes("title")).join("")
        const wanted = html.replace(/<[a-z/!][^>]*>/g, " ").match(/w\d+/g) ?? []
        expect(textOf(html).replaceAll("(https://site.example/x)", "").match(/w\d+/g) ?? []).toEqual(wanted)
      }),
      { numRuns: 2000 },
    )
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (html) => {
        expect(typeof textOf(html)).toBe("string")
      }),
    )
  })
})
