import { expect, test } from "vitest"
import { firstMatch, wordsOf } from "./words.ts"

test.each([
  ["Carry-over of DAYS, 2024!", ["carry", "over", "of", "days", "2024"]],
  ["Kündigungsfrist, Straße", ["kundigungsfrist", "strasse"]],
  ["café CAFE\u0301", ["cafe", "cafe"]],
  ["Москва", ["москва"]],
  ["", []],
  ["--- ***", []],
])("%j has the words %j", (text, words) => {
  expect(wordsOf(text)).toEqual(words)
})

test.each([
  ["顾客可以申请退款", "退款"],
  ["東京都庁の近く", "都庁"],
  ["東京都庁の近く", "東京"],
  ["がんばる", "がん"],
  ["ภาษาไทยง่าย", "ภาษา"],
])("%j contains the word %j", (text, word) => {
  expect(wordsOf(text)).toContain(word)
})

test("the marks of Japanese letters are kept: ga is not ka", () => {
  expect(wordsOf("かんばる")).not.toContain("がん")
})

test("the first match is where the word is in the text", () => {
  expect(firstMatch("Die lange Straße", new Set(["strasse"]))).toBe(10)
  expect(firstMatch("Hinweis: 顾客可以申请退款", new Set(["退款"]))).toBe(15)
  expect(firstMatch("nothing", new Set(["other"]))).toBe(0)
})
