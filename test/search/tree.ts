import { linkSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

/** Pseudo-random numbers, the same every time. */
export function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
    return (state >>> 8) % below
  }
}

/** The elements of ignore files: names in the tree, and the whole syntax. */
export const ignoreLines: readonly string[] = `*.log !keep.log build/ /build dist !dist/ a?.ts [a-c]*.md [!a]b.txt
  **/deep/*.js src/** !src/**/keep* /**/out *.{tmp,log} {a,b*}.txt {a,{b,c}}* {} {,a}b #x \\#name \\!name é* ?.txt [é].txt
  [ [a a[b {a a} \\ ! / // ** *** a**b x/**/y */ deep/ /a/b a/b b/* *.TS [] [!] []a].txt [a-] [a-c-x]* [z-a] [^x].js trail\\
  **/ /** a/** **/b/** x** {x/**,y}/b {**/a,b} out/\\ a\\/ !b/ !*.ts !/d0 d? **/.* .* f1* *[13].md`
  .split(/\s+/)
  .concat(["a\\ ", "b ", "keep.log\r", "\t", "a b", "# comment", "d0/\r"])

/** For the root: rules that leave most of the tree. */
const mildLines = "*.log build/ !keep.log **/deep/*.js a?.ts *.{tmp,bak} /d1/out b.md !*.ts dist/**".split(" ")

const names =
  "a.ts ab.ts b.md c.js keep.log x.log a.txt ab.txt bb.txt é.txt éa y.tmp .hidden #name !name [a a[b {a ]a.txt - 𝒳.md ﬁ.md z.TS"
    .split(" ")
    .concat(["a ", "a b", "with\nbreak.ts"])
const folders = "src deep build dist a b x y out a.b .dot node_modules .git é".split(" ")
const words = "alpha beta Gamma delta function return importantly é straße 中文 x1 _y a-b foo() [x] { } ſ K İ 😀 end."
  .split(" ")
  .concat(["\u00a0", "\u2028", "\t"])

export interface TreeSize {
  readonly files: number
  /** Approximate number of files per folder. */
  readonly perFolder: number
  /** Without the large files and the links. */
  readonly isPlain?: boolean
}

/** A project with all the difficulties of a search. The same for the same seed. */
export function plantTree(root: string, seed: number, { files, perFolder, isPlain = false }: TreeSize): void {
  const next = numbers(seed)
  const pick = <Item>(items: readonly Item[]): Item => items[next(items.length)] as Item // Never empty.
  const write = (path: string, content: string | Uint8Array) => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content)
    // Whole seconds, and few of them: many files have the same time.
    utimesSync(join(root, path), 1_700_000_000, 1_700_000_000 + next(50))
  }
  const line = () => Array.from({ length: next(9) }, () => pick(words)).join(pick([" ", " ", "", ","]))
  const text = () => {
    const lines = Array.from({ length: next(40) }, line)
    const body = lines.join(pick(["\n", "\n", "\n", "\r\n", "\r"])) + pick(["", "\n", "\n", "\r\n"])
    return next(30) === 0 ? `\ufeff${body}` : body
  }
  const content = (): string | Uint8Array => {
    const kind = next(40)
    if (kind === 0) return Buffer.from(text(), "utf16le")
    if (kind === 1) return Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from("中文", "utf16le")])
    if (kind === 2) return Buffer.from(`caf\xe9 alpha \xff\xfe\n${text()}\xe2\x82\n\xf0\x9f\x98end\n`, "latin1")
    if (kind === 3) return `${text()}\0${text()}`
    if (kind === 4) return `${"alpha ".repeat(20)}\n${"beta ".repeat(2000)}end.\n${"b".repeat(4999)}alpha\n`
    if (kind === 5) return `${text()}${"x".repeat(70_000)}\n${text()}\0`
    return text()
  }
  const tops = Math.max(1, Math.round(files / perFolder / 4))
  const written = new Set<string>()
  while (written.size < files) {
    const folder = [`d${next(tops)}`, ...Array.from({ length: next(4) }, () => pick(folders))].join("/")
    const plain = `f${written.size}.${pick(["ts", "js", "md", "log", "txt"])}`
    const path = `${folder}/${next(3) === 0 ? pick(names) : plain}`
    if (!written.has(path)) write(path, content())
    written.add(path)
  }
  for (let index = 0; index < Math.max(6, files / 50); index++) {
    const folder = index < 3 ? "" : `d${next(tops)}/${next(2) === 0 ? `${pick(folders)}/` : ""}`
    const rules = Array.from({ length: 1 + next(5) }, () => pick(folder === "" ? mildLines : ignoreLines))
    write(`${folder}${pick([".gitignore", ".gitignore", ".ignore", ".rgignore"])}`, `${rules.join("\n")}\n`)
  }
  if (!isPlain) plantTraps(root, write)
}

function plantTraps(root: string, write: (path: string, content: string | Uint8Array) => void): void {
  write("d0/large.txt", "alpha\n".repeat(1024 * 1024))
  write("d0/limit.txt", `${"b".repeat(5 * 1024 * 1024 - 6)}\nalpha`)
  write(".longhaul/notes.txt", "alpha\n")
  write("d0/longhaul.config.json", "alpha\n")
  write("d0/empty.txt", "")
  write("d0/line.txt", "\n")
  write("linked-rules/.gitignore", "hidden-by-link.txt\n")
  write("d0/linked/hidden-by-link.txt", "alpha\n")
  symlinkSync("../../linked-rules/.gitignore", join(root, "d0/linked/.gitignore"))
  symlinkSync("large.txt", join(root, "d0/link.txt"))
  symlinkSync("..", join(root, "d0/link-up"))
  symlinkSync("nowhere", join(root, "d0/link-nowhere"))
  linkSync(join(root, "d0/line.txt"), join(root, "d0/hard.txt"))
}
