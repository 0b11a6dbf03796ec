import { expect, test } from "vitest"
import { sedReachesFurther } from "./sed-script.ts"

test.each([
  [["-n", "1,80p", "a"]],
  [["-i.bak", "s/a/b/g", "e", "w"]],
  [["-E", "s/(a|b)/\\1e/2p"]],
  [["s|a|b|;s,c,d,I"]],
  [["-e", "s/e/w x/", "-e", "$d"]],
  [["--expression=0,/re/s//x/"]],
  [[":a;N;$!ba;s/\\n/ /g"]],
  [["/a/,+3{/b/!d;h};1~2p"]],
  [["\\%x%d # e"]],
  [["1i e\ns/a/b/"]],
  [["/x/a\\\nw f\\\ne\nd"]],
  [["y/abc/xyz/;$="]],
  [["-l", "5", "l 5;10q"]],
  [['"s/$a/$b/g"']],
  [["--version"]],
])("sed %j only edits text", (args) => {
  expect(sedReachesFurther(args)).toBe(false)
})

test.each([
  ...["e", "1e id", "$!e id", "/x/e id", "\\%x%e id", "1,2{e id\n}", "p;e id", "a text\ne id", ":a\ne id", "v;e id"],
  ...["s/a/b/e", "s/a/b/ge", "s,a,b,e", "s_a_b_e", "sxaxbxe", "s a b e", "s/\\//x/e", "s/a/b/;;e"],
  ...["w out", "wout", "1wout", "r in", "rin", "R in", "W out", "s/a/b/w out", "s/a/b/wout"],
])("the script %j of sed starts a program or opens a file, wherever it stands", (script) => {
  for (const args of [
    [script],
    ["-e", script],
    [`-ne${script}`],
    ["--exp", script],
    ["-e", "p", `--expression=${script}`],
  ]) {
    expect(sedReachesFurther(args), args.join(" ")).toBe(true)
  }
})

test.each([[["-f", "x"]], [["-nfx"]], [["--fil=x"]], [["-e", "s/a/b\\", "-e", "/e"]], [["--", "e"]], [["s/a/b"]]])(
  "sed %j may do anything",
  (args) => {
    expect(sedReachesFurther(args)).toBe(true)
  },
)

test("a script that is made to take long does not", () => {
  for (const part of [" ", ";", "!", "1,", "/a/", "\\%", "b ", "1~2,", "{", "# ", "i ", "\\\n"]) {
    expect(sedReachesFurther([`${part.repeat(20_000)}\ne`]), part).toBeTypeOf("boolean")
  }
})
